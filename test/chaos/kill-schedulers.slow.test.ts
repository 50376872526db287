// Three schedulers on one store are killed, or stopped until their lease has expired and then woken: every slot fires
// once. `npm run test:long` runs 1,000 slots, 50 kills and 200 stops; PAWL_SEED=n selects other moments.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { slotsBetween } from '../../src/schedules/next-cron-times.ts'
import { openRuntime } from '../../src/runtime.ts'
import { startServer } from '../kit/stores/postgres-server.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { long } from '../kit/long-run.ts'
import { readLedger, startsByEffect } from './effect-ledger.ts'
import { seeded } from '../kit/seeded-random.ts'
import {
  keys,
  leaseMs,
  openScheduleStore,
  type ScheduleOrders,
  setClock,
  sharedClock,
  tickTool,
} from './child-schedule-worker.ts'

const base = Number(process.env.PAWL_SEED ?? 1)
const workerFile = join(import.meta.dirname, 'child-schedule-worker.ts')
/** Each session fires twice per second, in the long run once. */
const sessions = Array.from({ length: 10 }, (_, n) => `s${n}`)
const factor = long ? 60 : 120
/**
 * In minutes. A schedule gives up slots beyond one hundred missed ones, which must not happen here. While the
 * schedulers are this far behind, or their lag is unknown, the clock runs at machine speed: a busy machine takes longer
 * and misses nothing.
 */
const mostBehind = 30
const knownForMs = 2_000
const tickMs = 20
const cron = '* * * * *'
const timing = { kind: 'cron', cron, timezone: 'UTC' } as const
const minute = 60_000

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Round extends Pick<ScheduleOrders, 'postgres' | 'plant'> {
  readonly kills: number
  readonly stops: number
  readonly slots: number
}

interface Scheduler {
  readonly child: ChildProcess
  /** Set when the scheduler has opened its runtime. */
  ready: boolean
  stopped: boolean
}

interface Told {
  readonly wrong: readonly string[]
  readonly slots: number
  readonly kills: number
  readonly stops: number
}

/** Runs one round and returns the violations and the counts. */
async function chaos(
  { kills: mostKills, stops: mostStops, slots: leastSlots, ...how }: Round,
  seed = base,
): Promise<Told> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-chaos-schedules-'))
  const random = seeded(seed)
  const orders: ScheduleOrders = {
    db: join(dir, 'agent.db'),
    ledger: join(dir, 'ledger'),
    clock: join(dir, 'clock'),
    ...how,
  }
  let now = Date.now()
  setClock(orders.clock, now)
  const clock = sharedClock(orders.clock)
  /** The time until which the clock may run fast. */
  let fastUntil = 0
  let last = performance.now()
  const ticking = setInterval(() => {
    const at = performance.now()
    now += Math.min(at - last, tickMs * 2) * (at < fastUntil ? factor : 1)
    last = at
    setClock(orders.clock, now)
  }, tickMs)
  const store = await openScheduleStore(orders, clock)
  const runtime = await openRuntime({ store, tools: [tickTool(() => {})], clock, keys, logger: quiet, worker: false })
  const alive = new Set<Scheduler>()
  /** Stopped schedulers that have not been woken yet. */
  const asleep = new Set<Promise<void>>()
  let [kills, stops] = [0, 0]
  let stopping = false
  /** Wakes the scheduler some time after its lease has expired. */
  const wakeLater = async (scheduler: Scheduler, at: number): Promise<void> => {
    scheduler.stopped = true
    await sleep(leaseMs * at)
    scheduler.stopped = false
    if (scheduler.child.kill('SIGCONT')) stops++
  }
  const sleeps = (scheduler: Scheduler): void => {
    const woken = wakeLater(scheduler, 1.1 + random() * 0.5)
    asleep.add(woken)
    void woken.then(() => asleep.delete(woken))
  }
  const launch = (): void => {
    // Half of the processes kill themselves at a write that fires a slot; the others stop there once.
    const harm =
      random() < 0.5
        ? {
            killAt: {
              write: 1 + Math.floor(random() * 15),
              when: random() < 0.5 ? ('before' as const) : ('after' as const),
            },
          }
        : { stopAt: 1 + Math.floor(random() * 15) }
    const harms = !stopping && ('killAt' in harm ? mostKills > 0 : mostStops > 0)
    const child = fork(workerFile, {
      execArgv: ['--conditions=@pawl/source'],
      env: { ...process.env, PAWL_SCHEDULE_ORDERS: JSON.stringify({ ...orders, ...(harms ? harm : {}) }) },
    })
    const scheduler: Scheduler = { child, ready: false, stopped: false }
    alive.add(scheduler)
    child.on('message', (message) => {
      if (message === 'ready') scheduler.ready = true
      else sleeps(scheduler)
    })
    child.on('exit', (_, signal) => {
      alive.delete(scheduler)
      if (signal === 'SIGKILL') kills++
      if (!stopping) launch()
    })
  }
  try {
    const begun = new Map<string, number>()
    for (const session of sessions) {
      const made = await runtime.session(session).schedules.create({
        tool: 'tick',
        cron,
        catchUp: 'all',
        cap: 100,
        overlap: 'parallel',
        wake: 'silent',
        id: 'x',
      })
      begun.set(session, made.createdAt)
    }
    for (let n = 0; n < 3; n++) launch()
    const standing = async (): Promise<{ fired: number; behind: number }> => {
      const all = await Promise.all(sessions.map((session) => runtime.session(session).schedules.get('x')))
      return {
        fired: all.reduce((sum, schedule) => sum + (schedule?.runs ?? 0), 0),
        behind: Math.max(...all.map((schedule) => (clock.now() - (schedule?.nextAt ?? 0)) / minute)),
      }
    }
    for (;;) {
      const { fired, behind } = await standing()
      fastUntil = behind > mostBehind ? 0 : performance.now() + knownForMs
      if (kills >= mostKills && stops >= mostStops && fired >= leastSlots) break
      await sleep(100 + random() * 500)
      if (behind > mostBehind) continue
      const [victim] = [...alive].filter(({ ready, stopped }) => ready && !stopped).toSorted(() => random() - 0.5)
      if (!victim) continue
      // Draws kills and stops in random order until both totals are reached.
      const left = [Math.max(0, mostKills - kills), Math.max(0, mostStops - stops - asleep.size)] as const
      const draw = random() * (left[0] + left[1])
      if (draw < left[0]) victim.child.kill('SIGKILL')
      // At least one worker stays awake and takes over the work of the others.
      else if (left[1] > 0 && asleep.size < 2 && victim.child.kill('SIGSTOP')) sleeps(victim)
    }
    stopping = true
    fastUntil = 0
    await Promise.all(asleep)
    // Start one scheduler without faults: it catches up; then the schedules are paused and every run ends.
    launch()
    const wrong: string[] = []
    for (const session of sessions) {
      const { schedules } = runtime.session(session)
      const behind = async (): Promise<boolean> => ((await schedules.get('x'))?.nextAt ?? 0) < clock.now()
      for (let tries = 0; await behind(); tries++) {
        if (tries > 5_000) wrong.push(`${session}: stands still`)
        if (tries > 5_000) break
        await sleep(50)
      }
      await schedules.pause('x')
    }
    let total = 0
    for (const session of sessions) {
      const { tasks, schedules } = runtime.session(session)
      while ((await tasks.list({ state: 'open' })).length > 0) await sleep(50)
      const found: number[] = []
      for (let page = await tasks.list({ limit: 500 }); page.length > 0;) {
        found.push(...page.map(({ links }) => links.slot as number))
        page = page.length < 500 ? [] : await tasks.list({ limit: 500, after: page.at(-1)?.id ?? '' })
      }
      const slots = found.toSorted((a, b) => a - b)
      const expected = slotsBetween(timing, begun.get(session) ?? 0, slots.at(-1) ?? 0, 100_000)
      // Slots that were due at the pause are recorded as missed.
      const past = (await schedules.history('x')).filter(
        ({ outcome, slot }) => outcome !== 'started' && slot < (slots.at(-1) ?? 0),
      )
      if (past.length > 0) wrong.push(`${session}: ${past.length} slots are said to be missed`)
      if (JSON.stringify(slots) !== JSON.stringify(expected))
        wrong.push(`${session}: ${slots.length} slots instead of ${expected.length}`)
      if ((await schedules.get('x'))?.runs !== slots.length)
        wrong.push(`${session}: fired ${(await schedules.get('x'))?.runs} times`)
      total += slots.length
    }
    if (total < leastSlots) wrong.push(`${total} slots in all`)
    const ran = startsByEffect(readLedger(orders.ledger)).size
    if (ran !== total) wrong.push(`${ran} have run of ${total}`)
    return { wrong, slots: total, kills, stops }
  } finally {
    stopping = true
    clearInterval(ticking)
    const gone = [...alive].map(({ child }) => new Promise((resolve) => child.once('exit', resolve)))
    for (const { child } of alive) child.kill('SIGKILL')
    await Promise.all(gone)
    await runtime.close({ grace: 0 })
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

const much = { kills: 50, stops: 200, slots: 1_000 }
/** A safety net: a round takes half a minute on a quiet machine, the long run several minutes. */
const timeout = 30 * minute

async function holds(round: Round): Promise<void> {
  const { wrong, ...counts } = await chaos(round)
  expect(wrong).toEqual([])
  console.log(`schedules on ${round.postgres ? 'PostgreSQL' : 'SQLite'}: ${JSON.stringify(counts)}`)
}

test('CRON-2: three killed and stopped schedulers on SQLite fire every slot exactly once', { timeout }, () =>
  holds(long ? much : { kills: 8, stops: 4, slots: 200 }),
)

test(
  'CRON-2: three killed and stopped schedulers on PostgreSQL fire every slot exactly once',
  { timeout },
  async () => {
    const server = await startServer()
    try {
      await holds({
        ...(long ? much : { kills: 5, stops: 3, slots: 150 }),
        postgres: { connection: server.connection, schema: 'pawl_schedules' },
      })
    } finally {
      await server.stop()
    }
  },
)

test.for([
  { plant: 'two changes', says: 'a slot is fired in two commits', kills: 8, stops: 0 },
  { plant: 'no guard', says: 'a stopped scheduler fires a slot again', kills: 0, stops: 4 },
] as const)('the driver detects a planted defect: $says', { timeout }, async ({ plant, kills, stops }) => {
  let seen: readonly string[] = []
  for (let seed = base; seed < base + 6 && seen.length === 0; seed++)
    ({ wrong: seen } = await chaos({ kills, stops, slots: 100, plant }, seed))
  expect(seen).not.toEqual([])
})
