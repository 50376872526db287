// Kills a worker before and after each write and claim of a task, in turn. Another worker takes over, and the
// invariants of tasks must hold. The session is used through a third process that runs nothing.

import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { createRuntime, type Runtime } from 'pawl'
import { expect } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from './stores/fresh-store.ts'
import { newWorld, type Scenario } from './fault-scenario.ts'

export interface Ground {
  readonly clock: ManualClock
  readonly store: Store
  /** Ends the worker's lease on stores with their own clock, where the test cannot wait for it. */
  bury?(worker: string): Promise<void>
  /** Gives a remote store time to answer; waits longer the more often it is called. */
  breathe?(times: number): Promise<void>
  gone(): Promise<void>
}

export function sqliteGround(): Ground {
  const { clock, store, file } = freshSqlite()
  const gone = async (): Promise<void> => {
    await store.close()
    rmSync(dirname(file), { recursive: true, force: true })
  }
  return { clock, store, gone }
}
/** For describe.each. */
export const localGrounds: readonly (readonly [string, () => Ground])[] = [
  ['memory', () => ({ ...freshMemory(), gone: async () => {} })],
  ['sqlite', sqliteGround],
]

interface Death {
  /** The number of the write or claim at which the worker dies, from 1; 0 means never. */
  readonly at: number
  readonly when: 'before' | 'after'
}

/** Wraps the store of one worker so that it stops answering when the worker dies. */
function dying(store: Store, { at, when }: Death) {
  const never = new Promise<never>(() => {})
  const state = { dead: false, count: 0, worker: '', armed: false }
  const hit = (): boolean => state.armed && ++state.count === at
  const die = (): Promise<never> => {
    state.dead = true
    return never
  }
  const guarded = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      typeof method === 'function'
        ? (...args: never[]) => (state.dead ? never : (method as (...args: never[]) => unknown)(...args))
        : method,
    ]),
  ) as unknown as Store
  const mine: Store = {
    ...guarded,
    onHint: (listener) => store.onHint((hint) => void (state.dead || listener(hint))),
    renew(worker, ms) {
      state.worker = worker
      return guarded.renew(worker, ms)
    },
    async commit(change) {
      if (state.dead) return never
      const last = hit()
      if (last && when === 'before') return die()
      const committed = await store.commit(change)
      return last ? die() : state.dead ? never : committed
    },
    write(change, heard, how) {
      if (state.dead) return
      const last = hit()
      if (last && when === 'before') return void die()
      store.write(change, (answer) => (last ? void die() : state.dead ? undefined : heard(answer)), how)
      // A riding write has no waiter and is written with the next commit, so an empty commit flushes it.
      if (last && how?.ride) store.commit({ guards: [], events: [] }).then(die, die)
    },
    async claim(...asked) {
      if (state.dead) return never
      const claimed = await store.claim(...asked)
      const last = claimed.length > 0 && hit()
      return last || state.dead ? die() : claimed
    },
  }
  return { store: mine, state }
}

export interface Lived {
  readonly writes: number
  readonly died: boolean
  readonly wrong: readonly string[]
}

export async function livedThrough(scenario: Scenario, ground: Ground, death: Death): Promise<Lived> {
  const { clock, store } = ground
  const shared: Store = { ...store, close: async () => {} }
  const w = newWorld(clock)
  const tools = scenario.tools(w)
  // For stores that do not generate a secret themselves.
  const common = {
    clock,
    tools,
    logger: quiet,
    ...scenario.options?.(w),
    ...(ground.bury ? { keys: { secret: 'a secret that all workers of the matrix share' } } : {}),
  }
  const door = await createRuntime({ ...common, store: shared, worker: false })
  w.runtime = door
  const first = dying(store, death)
  await createRuntime({ ...common, store: { ...first.store, close: async () => {} } })
  first.state.armed = true
  let second = null as Runtime | null
  const wrong: string[] = []
  let ends: unknown[] | null = null
  scenario.ask?.(w).then(
    (got) => void (ends = got),
    (error: unknown) => void wrong.push(`rejected: ${String(error)}`),
  )
  let breaths = 0
  const step = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    await ground.breathe?.(++breaths)
  }
  const takeOver = async (): Promise<void> => {
    if (!first.state.dead) return
    // Repeated, because the last heartbeat may still have been in flight.
    if (!second || breaths % 20 === 0) await ground.bury?.(first.state.worker)
    second ??= await createRuntime({ ...common, store: shared })
  }
  for (let at = 0; at < 200 && !ends && wrong.length === 0; at++) {
    await step(at < 3 ? 100 : at < 12 ? 1_000 : 5_000)
    await takeOver()
    await scenario.poke?.(w, at)
  }
  if (!ends && wrong.length === 0) wrong.push('hangs')
  // Work after the outcome (children, session end), in which the worker may also die.
  const left = async (): Promise<boolean> => (await store.unsettled({ after: '', limit: 1 })).length > 0
  for (let more = 0; more < (first.state.dead ? 12 : 3) || (more < 100 && (await left())); more++) {
    await step(3_000)
    await takeOver()
  }
  if (ends && typeof scenario.ends !== 'function') {
    try {
      expect(ends).toMatchObject(scenario.ends as never)
    } catch {
      wrong.push(`ends as ${JSON.stringify(ends)}`)
    }
  }
  for (const [name, most] of Object.entries(scenario.most))
    if ((w.effects[name] ?? 0) > most) wrong.push(`${name} happened ${w.effects[name]} times`)
  for (const [name, least] of Object.entries(scenario.least ?? {}))
    if ((w.effects[name] ?? 0) < least) wrong.push(`${name} happened ${w.effects[name] ?? 0} times`)
  // Checked through a worker, because a process without one does not see calls that no worker can run.
  if (second) w.runtime = second
  wrong.push(...((await scenario.laws?.(w, store)) ?? []))
  for (const call of await store.unsettled({ after: '', limit: 9 })) wrong.push(`${call.tool} is left ${call.state}`)
  for (const hold of await store.holds()) wrong.push(`a place is held: ${JSON.stringify(hold)}`)
  const closing = Promise.all([door.close({ grace: 0 }), second?.close({ grace: 0 })])
  for (let more = 0; more < 5; more++) await step(100)
  await closing
  await ground.gone()
  return { writes: first.state.count, died: first.state.dead, wrong }
}

/** Runs all crash points; problems name their point. `every` and `from` select only each n-th point. */
export async function matrix(
  scenario: Scenario,
  fresh: () => Ground | Promise<Ground>,
  { every = 1, from = 0 }: { every?: number; from?: number } = {},
): Promise<{ found: string[]; deaths: number }> {
  const clean = await livedThrough(scenario, await fresh(), { at: 0, when: 'before' })
  const found = clean.wrong.map((each) => `nobody dies: ${each}`)
  let deaths = 0
  for (const when of ['before', 'after'] as const) {
    for (let at = 1 + from; at <= clean.writes; at += every) {
      const { wrong, died } = await livedThrough(scenario, await fresh(), { at, when })
      if (died) deaths++
      for (const each of wrong) found.push(`died ${when} ${at} of ${clean.writes}: ${each}`)
    }
  }
  return { found, deaths }
}
