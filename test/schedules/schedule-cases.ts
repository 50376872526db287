// Tests of schedules that every store runs. Tests of the scheduler itself, for which one store is enough, are in
// test/schedules/schedules.test.ts.

import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Runtime, type ScheduleSlot, type Tool, tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { type FreshWorld, type MortalWorld, mortalWorld, type Place } from '../kit/worker-takeover.ts'
import { backgroundTool } from '../kit/simple-tools.ts'

const minute = 60_000
const hour = 60 * minute

/** Polls with a generous timeout: stores on files and servers answer in real time. */
export const until = <T>(what: () => T | Promise<T>): Promise<Exclude<Awaited<T>, false | undefined>> =>
  vi.waitUntil(what, { interval: 1, timeout: 10_000 }) as never

export interface ScheduleWorld extends MortalWorld {
  readonly fresh: () => FreshWorld
  /** Slots whose body ran. */
  readonly ran: number[]
  readonly report: Tool<{ of: string }, string>
  readonly input: { readonly of: string }
  /** Waits until this many tasks have succeeded. */
  ended(runtime: Runtime, count: number, session?: string): Promise<unknown>
  /** The slots of all tasks, oldest first. */
  started(runtime: Runtime, session?: string): Promise<number[]>
}

export const outcomes = (history: readonly ScheduleSlot[]): string[] => history.map(({ outcome }) => outcome)

export function scheduleWorld(place: Place): ScheduleWorld {
  let fresh: FreshWorld
  const ran: number[] = []
  const world = mortalWorld(place, (given) => {
    fresh = given
    ran.length = 0
  })
  const all = (runtime: Runtime, session: string) => runtime.session(session).tasks.list({ limit: 500 })
  return {
    ...world,
    fresh: () => fresh,
    ran,
    report: tool({
      name: 'report',
      description: 'Reports',
      input: z.object({ of: z.string() }),
      onCrash: 'rerun',
      background: true,
      execute({ of }, ctx) {
        ran.push(Number(/\d+$/.exec(ctx.task?.id ?? '')?.[0]))
        return of
      },
    }),
    input: { of: 'sales' },
    ended: (runtime, count, session = 's') =>
      until(async () => (await all(runtime, session)).filter(({ state }) => state === 'succeeded').length >= count),
    started: async (runtime, session = 's') =>
      (await all(runtime, session)).map(({ links }) => links.slot as number).toReversed(),
  }
}

export function scheduleCases(world: ScheduleWorld): void {
  const { open, start, ended, started, ran, report, input } = world
  let clock: ManualClock
  let store: Store
  beforeEach(() => void ({ clock, store } = world.fresh()))
  const gates: (() => void)[] = []
  const slow = backgroundTool(
    'slow',
    { hints: { readOnly: true } },
    () => new Promise<void>((resolve) => gates.push(resolve)),
  )

  test('CRON-2: each slot starts one run, at its time', async () => {
    const runtime = await start([report])
    const { schedules, tasks } = runtime.session('s')
    const made = await schedules.create({ tool: report, input, cron: '*/10 * * * *', title: 'Sales', id: 'sales' })
    const first = clock.now() + 10 * minute
    expect(made).toMatchObject({
      id: 'sales',
      state: 'active',
      nextAt: first,
      runs: 0,
      tool: 'report',
      input,
      cron: '*/10 * * * *',
    })
    await clock.advance(10 * minute - 1)
    expect(await tasks.list()).toEqual([])
    await clock.advance(1)
    const [task] = await until(async () => (await tasks.list()).length === 1 && tasks.list())
    expect(task).toMatchObject({ kind: 'scheduled', title: 'Sales', links: { schedule: 'sales', slot: first } })
    expect(await tasks.wait(task?.id ?? '')).toMatchObject({ state: 'succeeded', outcome: { value: 'sales' } })
    await clock.advance(hour)
    await ended(runtime, 7)
    expect(ran).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => first + n * 10 * minute))
    expect(await schedules.get('sales')).toMatchObject({ runs: 7, nextAt: first + 70 * minute })
  })

  test('CRON-2: an instant fires once and ends the schedule; its message becomes a notice', async () => {
    const runtime = await start([report])
    const { schedules, notices } = runtime.session('s')
    const at = clock.now() + hour
    const once = await schedules.create({ message: 'Look at the sales', at: new Date(at), title: 'Monday' })
    await clock.advance(3 * hour)
    await until(async () => (await notices.list()).length > 0)
    const told = await notices.list()
    expect(told).toMatchObject([{ about: 'schedule', at }])
    expect(told[0]?.text).toBe(
      '[Runtime notice: this is not a message of the user. "Monday" is due:]\nLook at the sales',
    )
    expect(await schedules.get(once.id)).toMatchObject({ state: 'ended', nextAt: null, runs: 1 })
    expect(await schedules.nextTimes(once.id)).toEqual([])
    await expect(schedules.resume(once.id)).rejects.toMatchObject({ code: 'schedule_over' })
    await expect(schedules.pause(once.id)).rejects.toMatchObject({ code: 'schedule_over' })
    expect(clock.pending).toBe(0)
  })

  test.each([
    // No worker runs for two hours and thirty seconds; slots are at :00 and :30.
    ['skip', ['missed', 'missed', 'missed', 'started'], [4]],
    ['once', ['missed', 'missed', 'missed', 'started'], [4]],
    ['all', ['started', 'started', 'started', 'started'], [1, 2, 3, 4]],
  ] as const)('CRON-2: late slots follow catchUp %s', async (catchUp, said, fired) => {
    const begun = clock.now()
    const a = await start([report], store)
    await a
      .session('s')
      .schedules.create({ tool: report, input, cron: '*/30 * * * *', catchUp, overlap: 'parallel', id: 'x' })
    await open.pop()?.close()
    await clock.advance(2 * hour + 30_000)
    const b = await start([report])
    await ended(b, fired.length)
    await clock.advance(0)
    expect(await started(b)).toEqual(fired.map((n) => begun + n * 30 * minute))
    expect(outcomes(await b.session('s').schedules.history('x'))).toEqual(said)
    expect(await b.session('s').schedules.get('x')).toMatchObject({
      nextAt: begun + 5 * 30 * minute,
      runs: fired.length,
    })
  })

  test('CRON-2: if all slots are late, skip runs none, once runs the last, and all is capped', async () => {
    const begun = clock.now()
    const a = await start([report])
    const { schedules } = a.session('s')
    const same = { tool: report, input, cron: '0 * * * *', overlap: 'parallel' } as const
    await schedules.create({ ...same, catchUp: 'skip', id: 'skip' })
    await schedules.create({ ...same, catchUp: 'once', id: 'once' })
    await schedules.create({ ...same, catchUp: 'all', cap: 2, id: 'all' })
    await schedules.create({ tool: report, input, at: begun + hour, catchUp: 'skip', id: 'at' })
    await open.pop()?.close()
    await clock.advance(4 * hour + 10 * minute)
    const b = await start([report])
    await ended(b, 3)
    await clock.advance(0)
    const of = async (id: string): Promise<unknown> =>
      (await b.session('s').schedules.history(id)).map(({ slot, outcome }) => [(slot - begun) / hour, outcome])
    expect(await of('skip')).toEqual([1, 2, 3, 4].map((n) => [n, 'missed']))
    expect(await of('once')).toEqual([
      [1, 'missed'],
      [2, 'missed'],
      [3, 'missed'],
      [4, 'started'],
    ])
    expect(await of('all')).toEqual([
      [1, 'missed'],
      [2, 'missed'],
      [3, 'started'],
      [4, 'started'],
    ])
    expect(await of('at')).toEqual([[1, 'missed']])
    expect(await b.session('s').schedules.get('at')).toMatchObject({ state: 'ended', runs: 0 })
    expect((await b.session('s').schedules.list()).map(({ nextAt }) => nextAt)).toEqual([
      ...Array<number>(3).fill(begun + 5 * hour),
      null,
    ])
  })

  test('CRON-2: overlapping runs are skipped, queued or run in parallel', async () => {
    gates.length = 0
    const runtime = await start([slow])
    const { schedules, tasks } = runtime.session('s')
    for (const overlap of ['skip', 'queue', 'parallel'] as const)
      await schedules.create({ tool: slow, cron: '0 * * * *', overlap, id: overlap })
    await clock.advance(2 * hour)
    await until(() => gates.length === 4)
    const states = async (id: string): Promise<string[]> =>
      (await tasks.list()).filter(({ links }) => links.schedule === id).map(({ state }) => state)
    expect(await states('skip')).toEqual(['running'])
    expect((await states('queue')).toSorted()).toEqual(['queued', 'running'])
    expect(await states('parallel')).toEqual(['running', 'running'])
    const [, second] = await schedules.history('skip')
    expect(second).toMatchObject({ outcome: 'overlap', task: `skip.${clock.now() - hour}` })
    for (let gate = 0; gate < 5; gate++) {
      await until(() => gates.length > gate)
      gates[gate]?.()
    }
    await ended(runtime, 5)
    // No run is open, so the next slot starts one.
    await clock.advance(hour)
    await until(() => gates.length === 8)
    expect(outcomes(await schedules.history('skip'))).toEqual(['started', 'overlap', 'started'])
    for (const go of gates) go()
  })

  test('CRON-3: pause, resume, runNow, nextTimes and cancel', async () => {
    const runtime = await start([report])
    const { schedules, tasks } = runtime.session('s')
    const begun = clock.now()
    await schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    expect(await schedules.nextTimes('x', 3)).toEqual([1, 2, 3].map((n) => begun + n * hour))
    expect(await schedules.pause('x')).toMatchObject({ state: 'paused', nextAt: null })
    expect(await schedules.pause('x')).toMatchObject({ state: 'paused' })
    await clock.advance(3 * hour)
    expect(await tasks.list()).toEqual([])
    const { task } = await schedules.runNow('x')
    expect(await tasks.wait(task ?? '')).toMatchObject({
      state: 'succeeded',
      kind: 'scheduled',
      links: { schedule: 'x' },
    })
    expect(await schedules.resume('x')).toMatchObject({ state: 'active', nextAt: begun + 4 * hour })
    await clock.advance(hour)
    await ended(runtime, 2)
    expect(await schedules.history('x')).toMatchObject([
      { outcome: 'started', byHand: true, task },
      { outcome: 'started', slot: begun + 4 * hour },
    ])
    expect(await schedules.cancel('x')).toBe(true)
    expect(await schedules.cancel('x')).toBe(false)
    await clock.advance(3 * hour)
    expect(await tasks.list()).toHaveLength(2)
    expect(await schedules.list()).toEqual([])
    await expect(schedules.runNow('x')).rejects.toMatchObject({ code: 'schedule_unknown' })
    expect(await store.documentsOf({ of: 'due', after: '', limit: 10 })).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('CRON-2: a session has five active schedules at most; the same id is the same schedule', async () => {
    const runtime = await start([report])
    const other = await start([report])
    const cron = '0 * * * *'
    const made = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) =>
        (n % 2 ? runtime : other).session('s').schedules.create({ message: 'x', cron, id: `s${n}` }),
      ),
    )
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(made.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'schedules_full' } })
    const { schedules } = runtime.session('s')
    const [first, second] = await schedules.list()
    const id = first?.id ?? ''
    expect(await schedules.create({ message: 'x', cron, id })).toEqual(first)
    await expect(schedules.create({ message: 'y', cron, id })).rejects.toMatchObject({ code: 'schedule_conflict' })
    await schedules.pause(id)
    await schedules.create({ message: 'x', cron })
    await expect(schedules.resume(id)).rejects.toMatchObject({ code: 'schedules_full' })
    await schedules.cancel(second?.id ?? '')
    expect(await schedules.resume(id)).toMatchObject({ state: 'active' })
    await expect(runtime.session('other').schedules.create({ message: 'x', cron })).resolves.toBeDefined()
  })

  test('CRON-2: a slot whose tool this worker lacks is left to a worker that has it', async () => {
    const a = await start([report])
    await a.session('s').schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    await open.pop()?.close()
    const b = await start([])
    await clock.advance(hour)
    expect(await b.session('s').schedules.get('x')).toMatchObject({ runs: 0, nextAt: clock.now() })
    expect(clock.pending).toBe(0)
    b.tools.add([report])
    await ended(b, 1)
    expect(await b.session('s').schedules.get('x')).toMatchObject({ runs: 1 })
  })

  /** A store whose worker freezes before the commit that fires a slot; the commit arrives after goOn(). */
  const stopping = (): { store: Store; stopped: Promise<void>; goOn: () => void } => {
    const stopped = Promise.withResolvers<void>()
    const going = Promise.withResolvers<void>()
    const late: Store = {
      ...store,
      async commit(change) {
        // Firing a slot deletes a 'due' document.
        if (change.documents?.some(({ of, value }) => of === 'due' && value === null)) {
          stopped.resolve()
          await going.promise
        }
        return store.commit(change)
      },
    }
    return { store: { ...late, close: async () => {} }, stopped: stopped.promise, goOn: () => going.resolve() }
  }

  test.each([{ tool: report, input }, { message: 'Look' }])(
    'CRON-2: a frozen worker that fires a slot late is rejected after another change (%o)',
    async (what) => {
      for (const meanwhile of ['fire', 'pause', 'cancel', 'anew'] as const) {
        const id = `${meanwhile}-${'tool' in what}`
        const frozen = stopping()
        const a = await start([report], frozen.store)
        const { schedules } = a.session(id)
        await schedules.create({ ...what, cron: '0 * * * *', catchUp: 'all', overlap: 'parallel', id })
        await clock.advance(hour)
        await frozen.stopped
        const b = await start([report], store, { worker: meanwhile === 'fire' })
        const other = b.session(id)
        if (meanwhile === 'pause') await other.schedules.pause(id)
        if (meanwhile === 'cancel' || meanwhile === 'anew') await other.schedules.cancel(id)
        if (meanwhile === 'anew') await other.schedules.create({ ...what, cron: '30 * * * *', id })
        await clock.advance(meanwhile === 'fire' ? 2 * hour : 0)
        const before = [
          await other.schedules.list(),
          await other.tasks.list(),
          (await other.notices.list()).filter(({ about }) => about === 'schedule'),
        ]
        frozen.goOn()
        await clock.advance(0)
        const after = [
          await other.schedules.list(),
          await other.tasks.list(),
          (await other.notices.list()).filter(({ about }) => about === 'schedule'),
        ]
        expect(after).toEqual(before)
        if (meanwhile === 'fire') expect(before[0]).toMatchObject([{ runs: 3 }])
        else expect(before.slice(1)).toEqual([[], []])
        await other.schedules.cancel(id)
        await Promise.all([a.close({ grace: 0 }), open.pop()?.close({ grace: 0 })])
      }
    },
  )
}
