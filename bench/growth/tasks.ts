// The measurements of growth.ts, each in a fresh process: `node tasks.ts <task> <store> …`. Sends the result to the
// parent in one message.

import { createRequire } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { createRuntime, type Runtime, type RuntimeOptions, tool } from 'pawl'
import { z } from 'zod'
import { median } from '../kit/statistics.ts'

const empty = z.object({})
const plain = tool({
  name: 'plain',
  description: 'Does nothing',
  input: empty,
  hints: { readOnly: true },
  execute: () => 'done',
})

const open = (store: string, more: Partial<RuntimeOptions> = {}): Promise<Runtime> =>
  createRuntime({
    store,
    tools: [plain],
    keys: { secret: 'a secret of the bench, 32 bytes or more' },
    lease: '1h',
    ...more,
  })

/** Settles `calls` calls in batches of a thousand. */
export async function fill(store: string, calls: number): Promise<{ seconds: number }> {
  const runtime = await open(store, { commit: 'process', limits: { perSession: 1_000, perWorker: 1_000 } })
  const from = performance.now()
  for (let batch = 0; batch < calls / 1_000; batch++) {
    const asks = Array.from({ length: 1_000 }, (_, index) => ({ id: `c${index}`, name: 'plain' }))
    const outcomes = await runtime.session(`s${batch % 100}`).run(asks, { batch: `b${batch}` })
    if (outcomes.some(({ status }) => status !== 'success')) throw new Error('A call did not succeed.')
  }
  await runtime.close()
  return { seconds: (performance.now() - from) / 1000 }
}

export interface Opened {
  /** Milliseconds. */
  readonly open: number
  /** Milliseconds until the outcome of a first call, including the opening. */
  readonly called: number
}

/**
 * Opens both stores alternately and repeatedly: code is compiled and files are cached, so the difference is the
 * contents.
 */
export async function opening(
  emptyStore: string,
  fullStore: string,
  times: number,
): Promise<{ empty: Opened; full: Opened }> {
  const runs = { [emptyStore]: [] as Opened[], [fullStore]: [] as Opened[] }
  for (let round = 0; round <= times; round++) {
    for (const store of Math.random() < 0.5 ? [emptyStore, fullStore] : [fullStore, emptyStore]) {
      const from = performance.now()
      const runtime = await open(store)
      const opened = performance.now()
      const [outcome] = await runtime.session('s1').run([{ id: `open-${process.pid}-${round}`, name: 'plain' }])
      const called = performance.now()
      if (outcome?.status !== 'success') throw new Error(JSON.stringify(outcome))
      await runtime.close()
      if (round > 0) runs[store]?.push({ open: opened - from, called: called - from }) // first round: warm-up
    }
  }
  const over = (all: readonly Opened[] = []): Opened => ({
    open: median(all.map((run) => run.open)),
    called: median(all.map((run) => run.called)),
  })
  return { empty: over(runs[emptyStore]), full: over(runs[fullStore]) }
}

const ask = { id: 'long', name: 'long' }

/**
 * Records `steps` steps and then hangs until it is killed; with 'close' it hands the call back instead of waiting for
 * the lease to expire.
 */
export async function record(store: string, steps: number, end: 'stand' | 'close'): Promise<{ recorded: true }> {
  const recorded = Promise.withResolvers<void>()
  const long = tool({
    name: 'long',
    description: 'Many steps',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      for (let from = 0; from < steps; from += 500) {
        const part = Array.from({ length: Math.min(500, steps - from) }, (_, index) => from + index)
        await Promise.all(part.map((index) => ctx.step(`s${index}`, () => ({ ok: true, text: 'x'.repeat(78) }))))
      }
      recorded.resolve()
      await new Promise(() => {})
    },
  })
  const runtime = await open(store, { tools: [long] })
  runtime
    .session('s')
    .run([ask])
    .catch(() => {})
  await recorded.promise
  if (end === 'close') await runtime.close({ grace: 0 })
  return { recorded: true }
}

export interface Replayed {
  /** Milliseconds from the start of the body until all recorded steps are replayed in sequence. */
  readonly inCode: number
  /** Milliseconds from opening the store to the outcome. */
  readonly total: number
}

/** Opens and uses an empty store of the same kind first, so that the code is loaded as in a running process. */
export async function replay(store: string, emptyStore: string, steps: number): Promise<Replayed> {
  const other = await open(emptyStore)
  await other.session('s').run([{ id: 'c', name: 'plain' }])
  await other.close()
  let inCode = 0
  let ran = 0
  const long = tool({
    name: 'long',
    description: 'Many steps',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      const from = performance.now()
      for (let index = 0; index < steps; index++) await ctx.step(`s${index}`, () => void ran++)
      inCode = performance.now() - from
      return 'done'
    },
  })
  const from = performance.now()
  const runtime = await open(store, { tools: [long] })
  const [outcome] = await runtime.session('s').run([ask])
  const total = performance.now() - from
  if (outcome?.status !== 'success' || ran > 0) throw new Error(`${ran} steps ran again; ${JSON.stringify(outcome)}`)
  await runtime.close()
  return { inCode, total }
}

export interface Parked {
  /** Megabytes above the idle runtime. */
  readonly rss: number
  readonly heap: number
  /** Queries in three idle seconds: without calls, and with all calls parked. */
  readonly idle: number
  readonly waiting: number
  /** Seconds. */
  readonly toPark: number
  readonly toSettle: number
  /** CPU seconds of this process, for a machine that is shared with others. */
  readonly cpuToSettle: number
}

/**
 * Parks the calls session by session, then resolves all of them at once. `used`: the runtime has settled as many
 * ordinary calls before. V8 keeps memory pages that its collector once needed, so a fresh process includes the cost of
 * any work, and a used one shows the cost of the parked calls. Needs --expose-gc.
 */
export async function parked(store: string, calls: number, used: boolean): Promise<Parked> {
  const queries = countQueries()
  const keys: string[] = []
  const later = tool({
    name: 'later',
    description: 'An external caller answers',
    input: empty,
    concurrency: 'parallel',
    onCrash: 'rerun',
    async execute(_, ctx) {
      const answer = await ctx.later<string>({ deadline: '7d' })
      keys.push(answer.key)
      return answer
    },
  })
  const runtime = await open(store, { tools: [plain, later], limits: { perSession: 100 } })
  const perSession = 100
  const sessions = Array.from({ length: calls / perSession }, (_, index) => runtime.session(`s${index}`))
  const asksFor = (name: string): { id: string; name: string }[] =>
    Array.from({ length: perSession }, (_, index) => ({ id: `c${index}`, name }))
  if (used) for (const session of sessions) await session.run(asksFor('plain'), { batch: 'before' })
  const inQuiet = async (): Promise<number> => {
    await pause(500) // attached writes are flushed
    queries.take()
    await pause(3_000)
    return queries.take()
  }
  const idle = await inQuiet()
  const before = memory()
  let from = performance.now()
  for (const session of sessions) await session.run(asksFor('later'), { batch: 'b', until: 'waiting' })
  const toPark = (performance.now() - from) / 1000
  const waiting = await inQuiet()
  const after = memory()
  if (keys.length !== calls) throw new Error(`${keys.length} calls are parked, not ${calls}`)

  from = performance.now()
  const cpu = process.cpuUsage()
  const settled = Promise.all(sessions.map((session) => session.run(asksFor('later'), { batch: 'b' })))
  await Promise.all(keys.map((key) => runtime.resolve(key, { value: 'an answer' })))
  const wrong = (await settled).flat().find(({ status }) => status !== 'success')
  const toSettle = (performance.now() - from) / 1000
  const { user, system } = process.cpuUsage(cpu)
  if (wrong) throw new Error(JSON.stringify(wrong))
  await runtime.close()
  return {
    rss: after.rss - before.rss,
    heap: after.heap - before.heap,
    idle,
    waiting,
    toPark,
    toSettle,
    cpuToSettle: (user + system) / 1e6,
  }
}

export interface Pending {
  readonly heap: number
  readonly toAsk: number
  /** Queries in three idle seconds, before the requests and with all of them pending. */
  readonly idle: number
  readonly waiting: number
  /** Milliseconds: a page of the whole inbox, a page of one tenant, one decision until it is recorded. */
  readonly page: number
  readonly ofTenant: number
  readonly decision: number
  readonly toSettle: number
}

/** Creates `calls` calls that wait for approval, in a hundred tenants. */
export async function pending(store: string, calls: number): Promise<Pending> {
  const queries = countQueries()
  const gated = tool({
    name: 'gated',
    description: 'Asks first',
    input: empty,
    approval: 'always',
    concurrency: 'parallel',
    execute: () => 'done',
  })
  const runtime = await open(store, { tools: [gated], limits: { perSession: 100 } })
  const perSession = 100
  const sessions = Array.from({ length: calls / perSession }, (_, index) =>
    runtime.session('s', { tenant: `t${index}` }),
  )
  const asks = Array.from({ length: perSession }, (_, index) => ({ id: `c${index}`, name: 'gated' }))
  const inQuiet = async (): Promise<number> => {
    await pause(500) // attached writes are flushed
    queries.take()
    await pause(3_000)
    return queries.take()
  }
  const idle = await inQuiet()
  const before = memory()
  let from = performance.now()
  for (const session of sessions) await session.run(asks, { batch: 'b', until: 'waiting' })
  const toAsk = (performance.now() - from) / 1000
  const waiting = await inQuiet()
  const { heap } = memory()
  const timed = async (times: number, run: (round: number) => Promise<unknown>): Promise<number> => {
    const took: number[] = []
    for (let round = 0; round < times; round++) {
      const began = performance.now()
      await run(round)
      took.push(performance.now() - began)
    }
    return median(took)
  }
  const page = await timed(50, () => runtime.inbox())
  const ofTenant = await timed(50, (round) => runtime.inbox({ tenant: `t${round}` }))
  const ids: string[] = []
  for (;;) {
    const next = await runtime.inbox({ limit: 1_000, ...(ids.length > 0 ? { after: ids.at(-1) as string } : {}) })
    ids.push(...next.map(({ id }) => id))
    if (next.length < 1_000) break
  }
  if (ids.length !== calls) throw new Error(`${ids.length} calls wait, not ${calls}`)
  const settled = Promise.all(sessions.map((session) => session.run(asks, { batch: 'b' })))
  const decision = await timed(50, (round) => runtime.decide(ids[round] as string, { approve: true, by: 'bea' }))
  from = performance.now()
  await Promise.all(ids.slice(50).map((id) => runtime.decide(id, { approve: true, by: 'bea' })))
  const wrong = (await settled).flat().find(({ status }) => status !== 'success')
  const toSettle = (performance.now() - from) / 1000
  if (wrong) throw new Error(JSON.stringify(wrong))
  await runtime.close()
  return { heap: heap - before.heap, toAsk, idle, waiting, page, ofTenant, decision, toSettle }
}

function memory(): { rss: number; heap: number } {
  for (let time = 0; time < 3; time++) globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  return { rss: rss / 2 ** 20, heap: heapUsed / 2 ** 20 }
}

/** Counts all queries to SQLite and PostgreSQL in this process. */
function countQueries(): { take(): number } {
  let queries = 0
  const counted = (on: object, name: string): void => {
    const of = on as Record<string, (...args: unknown[]) => unknown>
    const real = of[name] as (...args: unknown[]) => unknown
    of[name] = function (this: unknown, ...args: unknown[]): unknown {
      queries++
      return real.apply(this, args)
    }
  }
  for (const name of ['run', 'get', 'all', 'iterate']) counted(StatementSync.prototype, name)
  counted(DatabaseSync.prototype, 'exec')
  counted((createRequire(import.meta.url)('pg') as typeof pg).Client.prototype, 'query')
  return {
    take() {
      const taken = queries
      queries = 0
      return taken
    },
  }
}

const tasks = { fill, opening, record, replay, parked, pending }
export type Task = keyof typeof tasks

if (process.send) {
  process.on('disconnect', () => process.exit(1))
  const [task, ...args] = process.argv.slice(2) as [Task, ...string[]]
  const given = args.map((arg) => JSON.parse(arg) as never) as [never, never, never]
  tasks[task](...given).then(
    (done) => process.send?.({ done }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  )
}
