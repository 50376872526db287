// A worker dies before and after everything that it writes and claims of a task, each in turn; another worker takes over, and the laws of tasks
// hold (TASK-2 to TASK-10). What the session asks and hears goes through a third process that runs nothing.

import { createRuntime, type Runtime } from 'pawl'
import { expect } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from './stores/fresh-store.ts'
import type { Scenario, World } from './fault-scenario.ts'

export interface Ground {
  readonly clock: ManualClock
  readonly store: Store
  /** Its lease is over: on stores that keep their own time, where nobody can wait for it. */
  bury?(worker: string): Promise<void>
  /** Lets a store that is far away answer; the longer, the more often it was asked to. */
  breathe?(times: number): Promise<void>
  gone(): Promise<void>
}

interface Death {
  /** Which of what it writes and claims it dies at, from 1; 0: none. */
  readonly at: number
  readonly when: 'before' | 'after'
}

/** A store that one worker uses until it dies. */
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
      // Nobody waits for one that rides, and it would be written with what comes next.
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
  const w: World = {
    runtime: null as never,
    effects: {},
    key: '',
    answered: false,
    cancels: 0,
    later: (ms, fire) => void clock.timer(ms, fire),
    did: (name) => (w.effects[name] = (w.effects[name] ?? 0) + 1),
  }
  const tools = scenario.tools(w)
  // On stores that keep no secret of their own it is given.
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
    // Again and again: the last beat of its heart may still have been on its way.
    if (!second || breaths % 20 === 0) await ground.bury?.(first.state.worker)
    second ??= await createRuntime({ ...common, store: shared })
  }
  for (let at = 0; at < 200 && !ends && wrong.length === 0; at++) {
    await step(at < 3 ? 100 : at < 12 ? 1_000 : 5_000)
    await takeOver()
    await scenario.poke?.(w, at)
  }
  if (!ends && wrong.length === 0) wrong.push('hangs')
  // What follows the end: of children, of the session; and it may die over that.
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
  // Asked by a worker: what nobody could run is not to be seen from a door.
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

/** All of it; what is wrong says where. `every`: only each n-th place, from `from` on. */
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
