// A clock that is moved by hand, for a store that takes its time: it does not go on before the store has answered what was asked.

import type { Store } from '../../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../../src/testing/manual-clock.ts'
import { milliseconds } from '../../../src/core/duration.ts'

/** `open` gets the clock; the store that comes back is the one to use. */
export async function patient(open: (clock: ManualClock) => Promise<Store>): Promise<{ store: Store; clock: ManualClock }> {
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
      typeof method === 'function' ? (...args: never[]) => counted(method as (...args: never[]) => unknown, args) : method,
    ]),
  ) as unknown as Store
  /** Nothing is under way, and nothing more was asked while the event loop went round a few times. */
  const idle = async (): Promise<void> => {
    for (let before = -1; before !== asked || asked !== answered;) {
      before = asked
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
      if (asked !== answered) await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const due = new Map<symbol, number>()
  const clock: ManualClock = Object.assign(Object.create(inner) as ManualClock, {
    timer(ms: number, fire: () => void): () => void {
      const id = Symbol('timer')
      due.set(id, inner.now() + Math.max(0, Math.ceil(ms)))
      const callOff = inner.timer(ms, () => {
        due.delete(id)
        fire()
      })
      return () => {
        due.delete(id)
        callOff()
      }
    },
    async advance(by: Parameters<ManualClock['advance']>[0]): Promise<void> {
      const end = inner.now() + milliseconds(by, 'advance')
      await idle()
      for (let next = Math.min(...due.values()); next <= end; next = Math.min(...due.values())) {
        await inner.advance(Math.max(0, next - inner.now()))
        await idle()
      }
      await inner.advance(end - inner.now())
      await idle()
    },
  })
  const write: Store['write'] = (change, hears, how) => {
    // One that rides waits for another write, or for the clock: to wait for it here would be for ever.
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
