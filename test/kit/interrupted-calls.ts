// Calls that their worker does not finish: it is closed or killed while they run.

import { join } from 'node:path'
import { type CallAsk, createRuntime, type Duration, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { freshDir, quiet } from './stores/fresh-store.ts'
import { mortal, type StoreKind, storeOf } from './stores/killable-store.ts'

/** For a run that is not awaited because its worker dies or closes. */
export const ignoreResult = (run: Promise<unknown>): void => void run.catch(() => {})

/** Starts a call in session `s` and closes the worker while the call runs. */
export async function closeDuringCall(worker: Runtime, clock: ManualClock, ask: CallAsk): Promise<void> {
  ignoreResult(worker.session('s').run([ask]))
  await clock.advance(100)
  const closing = worker.close({ grace: 0 })
  await clock.advance(100)
  await closing
}

/** Starts a call in session `s` and kills the worker while the call runs; then its lease expires. */
export async function dieDuringCall(
  worker: { runtime: Runtime; die(): void },
  clock: ManualClock,
  ask: CallAsk,
  runs: Duration = 0,
): Promise<void> {
  ignoreResult(worker.runtime.session('s').run([ask]))
  await clock.advance(runs)
  worker.die()
  await clock.advance('10s')
}

export interface TwoWorkers {
  readonly clock: ManualClock
  /** A worker that can be killed. */
  first(tools: Tool[], options?: Partial<RuntimeOptions>): Promise<{ runtime: Runtime; die(): void }>
  /** Another worker on the same store. */
  second(tools: Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
}

export function twoWorkers(kind: StoreKind): TwoWorkers {
  const clock = manualClock()
  const store = storeOf(kind, join(freshDir(), 'a.db'), clock)
  const common = { clock, keys: { secret: 'x'.repeat(32) }, logger: quiet, lease: '1s' as const }
  return {
    clock,
    async first(tools, options = {}) {
      const { store: killable, die } = mortal(store)
      return { runtime: await createRuntime({ store: killable, tools, ...common, ...options }), die }
    },
    second: (tools, options = {}) => createRuntime({ store, tools, ...common, ...options }),
  }
}
