// Runs one scenario of the golden journals: a recorded store, workers that can die, and a manual clock.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { manualClock, memoryStore } from 'pawl/testing'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { milliseconds } from '../../src/core/duration.ts'
import { dueTimers } from '../kit/due-timers.ts'
import { type Recorder, type Recording, startRecording } from './recorder.ts'
import { start } from './render.ts'

type Duration = Parameters<ReturnType<typeof manualClock>['advance']>[0]
type Clock = NonNullable<RuntimeOptions['clock']>

/** The point at which a worker dies: before or after the n-th change that appends an event of this type. */
export interface Death {
  readonly event?: string
  readonly nth?: number
  readonly when?: 'before' | 'after'
  /**
   * While it returns true, lease renewals are dropped: the worker runs on without knowing that its lease has expired.
   */
  readonly deaf?: () => boolean
}

export interface Worker {
  readonly runtime: Runtime
  /** From now on the store does not answer this worker and drops its writes. */
  die(): void
}

export interface World {
  readonly clock: Clock
  /** Opens another worker on the store. */
  open(options?: Partial<RuntimeOptions>, death?: Death): Promise<Worker>
  /** Opens a runtime with these tools on the store. */
  run(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
  /** Moves the clock; before each timer fires, all pending work completes. */
  advance(by: Duration): Promise<void>
  /** Completes all work that does not need the clock. */
  settle(): Promise<void>
  /** Awaits the promise while moving the clock, by at most two days. */
  outcome<T>(promise: Promise<T>): Promise<T>
}

/** The return value becomes part of the journal. */
export type Scenario = (world: World) => Promise<unknown>

export async function play(
  scenario: Scenario,
  kind: 'memory' | 'sqlite',
): Promise<{ recording: Recording; returned: unknown }> {
  const { advance, clock, settle, recorder } = steadyClock()
  const dir = mkdtempSync(join(tmpdir(), 'pawl-journals-'))
  const inner =
    kind === 'memory' ? memoryStore({ clock }) : sqliteStore({ file: join(dir, 'agent.db'), clock, commit: 'process' })
  const store = recorder.wrap(inner)
  const workers: { worker: Worker; dead: () => boolean }[] = []
  let ids = 0
  const open = async (options: Partial<RuntimeOptions> = {}, death?: Death): Promise<Worker> => {
    const mortal = mortalStore(store, death)
    const runtime = await createRuntime({
      store: mortal.store,
      clock,
      ids: { next: () => `${String(++ids).padStart(8, '0')}xid` },
      keys: { secret: 'the same secret in all golden journals' },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      ...options,
    })
    const worker = { runtime, die: mortal.die }
    workers.push({ worker, dead: mortal.dead })
    return worker
  }
  const world: World = {
    clock,
    open,
    run: async (tools, options) => (await open({ tools, ...options })).runtime,
    advance,
    settle,
    async outcome(promise) {
      let over = false
      void promise.catch(() => {}).finally(() => (over = true))
      for (const ms of [0, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000]) {
        await advance(ms)
        if (over) return promise
      }
      throw new Error('The promise is still open after a day.')
    },
  }
  try {
    const returned = await scenario(world)
    await settle()
    // close() releases open calls; those writes belong to the scenario.
    for (const { worker, dead } of workers) {
      if (dead()) continue
      const closing = worker.runtime.close({ grace: 0 })
      await settle()
      await closing
    }
    return { recording: recorder, returned }
  } finally {
    await inner.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * A manual clock that waits until the store and all bodies are idle before it moves, so that the order of writes does
 * not depend on the machine's load.
 */
function steadyClock(): { clock: Clock; advance: World['advance']; settle: World['settle']; recorder: Recorder } {
  const recorder = startRecording()
  const manual = manualClock(start)
  const { due, timer } = dueTimers(manual)
  const clock: Clock = { ...manual, timer }
  const settle = async (): Promise<void> => {
    for (let before = -1; before !== recorder.uses || !recorder.idle;) {
      before = recorder.uses
      for (let round = 0; round < 8; round++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const advance = async (by: Duration): Promise<void> => {
    const until = manual.now() + milliseconds(by, 'advance')
    await settle()
    for (;;) {
      const next = Math.min(until, ...due())
      if (next >= until) break
      await manual.advance(Math.max(0, next - manual.now()))
      await settle()
    }
    await manual.advance(until - manual.now())
    await settle()
  }
  return { clock, advance, settle, recorder }
}

function mortalStore(store: Store, death: Death = {}): { store: Store; die(): void; dead(): boolean } {
  const { event, nth = 1, when = 'before', deaf = () => false } = death
  let dead = false
  let seen = 0
  const never = new Promise<never>(() => {})
  const methods = Object.entries(store).map(([name, method]) => [
    name,
    typeof method === 'function'
      ? (...args: never[]) => (dead ? never : (method as (...args: never[]) => unknown)(...args))
      : method,
  ])
  const guarded = Object.fromEntries(methods) as Store
  /** True for the change at which the worker dies. */
  const dies = ({ events }: Change): boolean => !dead && events.some(({ type }) => type === event) && ++seen === nth
  return {
    dead: () => dead,
    die: () => void (dead = true),
    store: {
      ...guarded,
      onHint: (listener) => store.onHint((hint) => void (dead || listener(hint))),
      renew: (worker, leaseMs) => (deaf() ? never : guarded.renew(worker, leaseMs)),
      commit(change) {
        if (!dies(change)) return guarded.commit(change)
        if (when === 'after') void store.commit(change)
        dead = true
        return never
      },
      write(change, heard, how) {
        if (!dies(change)) return guarded.write(change, (answer) => void (dead || heard(answer)), how)
        if (when === 'after') store.write(change, () => {})
        dead = true
      },
    },
  }
}
