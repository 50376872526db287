// One scenario of the golden journals: a store that is recorded, workers on it that can die, and a clock that is moved by hand.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { manualClock, memoryStore } from 'pawl/testing'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { milliseconds } from '../../src/core/duration.ts'
import { type Recorder, type Recording, startRecording } from './recorder.ts'
import { start } from './render.ts'

type Duration = Parameters<ReturnType<typeof manualClock>['advance']>[0]
type Clock = NonNullable<RuntimeOptions['clock']>

/** Where a worker dies: at the n-th change that appends an event of this type, before it is written or when it is on record. */
export interface Death {
  readonly event?: string
  readonly nth?: number
  readonly when?: 'before' | 'after'
  /** As long as it says so, the lease is not renewed: the worker lives and does not know that it counts as dead. */
  readonly deaf?: () => boolean
}

export interface Worker {
  readonly runtime: Runtime
  /** From now on the store answers nothing, and nothing that it writes arrives. */
  die(): void
}

export interface World {
  readonly clock: Clock
  /** Another worker on the store. */
  open(options?: Partial<RuntimeOptions>, death?: Death): Promise<Worker>
  /** A runtime on the store, with these tools. */
  run(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
  /** Moves time; at every instant at which a timer fires, everything that can happen happens first. */
  advance(by: Duration): Promise<void>
  /** Lets everything happen that can without the clock. */
  settle(): Promise<void>
  /** What this promise comes to, moving time as far as that takes, at most two days. */
  outcome<T>(promise: Promise<T>): Promise<T>
}

/** `returned` is part of the journal. */
export type Scenario = (world: World) => Promise<unknown>

export async function play(scenario: Scenario, kind: 'memory' | 'sqlite'): Promise<{ recording: Recording; returned: unknown }> {
  const { advance, clock, settle, recorder } = steadyClock()
  const dir = mkdtempSync(join(tmpdir(), 'pawl-journals-'))
  const inner = kind === 'memory' ? memoryStore({ clock }) : sqliteStore({ file: join(dir, 'agent.db'), clock, commit: 'process' })
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
    // A close hands open calls back: what it writes belongs to the scenario.
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

/** A manual clock that lets the store and all bodies come to rest before it moves on: what is written when does not depend on the load. */
function steadyClock(): { clock: Clock; advance: World['advance']; settle: World['settle']; recorder: Recorder } {
  const recorder = startRecording()
  const manual = manualClock(start)
  const due = new Map<number, number>()
  let timers = 0
  const clock: Clock = {
    ...manual,
    timer(ms, fire) {
      const id = ++timers
      due.set(id, manual.now() + Math.max(0, Math.ceil(ms)))
      const callOff = manual.timer(ms, () => {
        due.delete(id)
        fire()
      })
      return () => {
        due.delete(id)
        callOff()
      }
    },
  }
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
      const next = Math.min(until, ...due.values())
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
    typeof method === 'function' ? (...args: never[]) => (dead ? never : (method as (...args: never[]) => unknown)(...args)) : method,
  ])
  const guarded = Object.fromEntries(methods) as Store
  /** Whether this is the change at which it dies. */
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
