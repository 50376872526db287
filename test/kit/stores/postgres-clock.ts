// A manual clock for a slow store: it moves only when the store has answered all pending calls.

import type { Store } from '../../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../../src/testing/manual-clock.ts'
import { milliseconds } from '../../../src/core/duration.ts'
import { dueTimers } from '../due-timers.ts'

/** `open` receives the clock; use the returned store. */
export async function patient(
  open: (clock: ManualClock) => Promise<Store>,
): Promise<{ store: Store; clock: ManualClock }> {
  const inner = manualClock()
  const store = await open(inner)
  let [asked, answered] = [0, 0]
  const heard = (): void => void answered++
  const counted = (run: (...args: never[]) => unknown, args: never[]): unknown => {
    asked++
    const given = run(...args)
    if (given instanceof Promise) given.then(heard, heard)
    else heard()
    return given
  }
  const watched = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      typeof method === 'function'
        ? (...args: never[]) => counted(method as (...args: never[]) => unknown, args)
        : method,
    ]),
  ) as unknown as Store
  /** Waits until no store call is pending and none follows within a few turns of the event loop. */
  const idle = async (): Promise<void> => {
    for (let before = -1; before !== asked || asked !== answered;) {
      before = asked
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
      if (asked !== answered) await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const { due, timer } = dueTimers(inner)
  const clock: ManualClock = Object.assign(Object.create(inner) as ManualClock, {
    timer,
    async advance(by: Parameters<ManualClock['advance']>[0]): Promise<void> {
      const end = inner.now() + milliseconds(by, 'advance')
      await idle()
      for (let next = Math.min(...due()); next <= end; next = Math.min(...due())) {
        await inner.advance(Math.max(0, next - inner.now()))
        await idle()
      }
      await inner.advance(end - inner.now())
      await idle()
    },
  })
  const write: Store['write'] = (change, hears, how) => {
    // A riding write waits for another write or for the clock, so waiting for it here would never end.
    if (how?.ride) return store.write(change, hears, how)
    asked++
    store.write(
      change,
      (answer) => {
        heard()
        hears(answer)
      },
      how,
    )
  }
  return { store: { ...watched, write, onHint: store.onHint.bind(store) }, clock }
}
