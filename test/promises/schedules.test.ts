// CRON-2 and CRON-3: schedules of a session, on one worker and on several.

import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createRuntime, type Runtime, type ScheduleSlot, tool } from '../../src/index.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/clock.ts'
import { quiet } from '../adversary/kit.ts'
import { mortal, type Mortal, type StoreKind, storeOf } from '../mortal.ts'
import { mortalWorld } from '../mortal-world.ts'
import { failing } from '../writes.ts'
import { PawlError } from '../../src/kernel/errors.ts'

const minute = 60_000
const hour = 60 * minute

describe.each(['memory', 'sqlite'] as const)('schedules on %s', (kind: StoreKind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  /** Slots whose body has run. */
  let ran: number[]
  const { open, start } = mortalWorld(kind, (fresh) => {
    ;({ dir, clock, store } = fresh)
    ran = []
  })
  const report = tool({
    name: 'report',
    description: 'Reports',
    input: z.object({ of: z.string() }),
    onCrash: 'rerun',
    background: true,
    execute({ of }, ctx) {
      ran.push(Number(/\d+$/.exec(ctx.task?.id ?? '')?.[0]))
      return of
    },
  })
  const input = { of: 'sales' }
  const gates: (() => void)[] = []
  const slow = tool({
    name: 'slow',
    description: 'Slow',
    input: z.object({}),
    hints: { readOnly: true },
    background: true,
    execute: () => new Promise<void>((resolve) => gates.push(resolve)),
  })
  /** Goes on until every task has ended: real files are read and written meanwhile. */
  const ended = (runtime: Runtime, count: number, session = 's'): Promise<unknown> =>
    vi.waitUntil(
      async () => (await runtime.session(session).tasks.list({ limit: 500 })).filter(({ state }) => state === 'succeeded').length >= count,
      {
        interval: 1,
      },
    )
  const outcomes = (history: readonly ScheduleSlot[]): string[] => history.map(({ outcome }) => outcome)
  const started = async (runtime: Runtime, session = 's'): Promise<number[]> =>
    (await runtime.session(session).tasks.list({ limit: 500 })).map(({ links }) => links.slot as number).toReversed()

  test('CRON-2: each slot starts one run, in its time and not before', async () => {
    const runtime = await start([report])
    const { schedules, tasks } = runtime.session('s')
    const made = await schedules.create({ tool: report, input, cron: '*/10 * * * *', title: 'Sales', id: 'sales' })
    const first = clock.now() + 10 * minute
    expect(made).toMatchObject({ id: 'sales', state: 'active', nextAt: first, runs: 0, tool: 'report', input, cron: '*/10 * * * *' })
    await clock.advance(10 * minute - 1)
    expect(await tasks.list()).toEqual([])
    await clock.advance(1)
    const [task] = await vi.waitUntil(async () => (await tasks.list()).length === 1 && tasks.list(), { interval: 1 })
    expect(task).toMatchObject({ kind: 'scheduled', title: 'Sales', links: { schedule: 'sales', slot: first } })
    expect(await tasks.wait(task?.id ?? '')).toMatchObject({ state: 'succeeded', outcome: { value: 'sales' } })
    await clock.advance(hour)
    await ended(runtime, 7)
    expect(ran).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => first + n * 10 * minute))
    expect(await schedules.get('sales')).toMatchObject({ runs: 7, nextAt: first + 70 * minute })
  })

  test('CRON-2: an instant fires once and has ended; a message becomes a notice', async () => {
    const runtime = await start([report])
    const { schedules, notices } = runtime.session('s')
    const at = clock.now() + hour
    const once = await schedules.create({ message: 'Look at the sales', at: new Date(at), title: 'Monday' })
    await clock.advance(3 * hour)
    await vi.waitUntil(async () => (await notices.list()).length > 0, { interval: 1 })
    const told = await notices.list()
    expect(told).toMatchObject([{ about: 'schedule', at }])
    expect(told[0]?.text).toBe('[Runtime notice: this is not a message of the user. "Monday" is due:]\nLook at the sales')
    expect(await schedules.get(once.id)).toMatchObject({ state: 'ended', nextAt: null, runs: 1 })
    expect(await schedules.nextTimes(once.id)).toEqual([])
    await expect(schedules.resume(once.id)).rejects.toMatchObject({ code: 'schedule_over' })
    await expect(schedules.pause(once.id)).rejects.toMatchObject({ code: 'schedule_over' })
    expect(clock.pending).toBe(0)
  })

  test.each([
    // Two hours and thirty seconds nobody was there: slots at :00 and :30.
    ['skip', ['missed', 'missed', 'missed', 'started'], [4]],
    ['once', ['missed', 'missed', 'missed', 'started'], [4]],
    ['all', ['started', 'started', 'started', 'started'], [1, 2, 3, 4]],
  ] as const)('CRON-2: slots that nobody fired in time, with %s', async (catchUp, said, fired) => {
    const begun = clock.now()
    const a = await start([report], store)
    await a.session('s').schedules.create({ tool: report, input, cron: '*/30 * * * *', catchUp, overlap: 'parallel', id: 'x' })
    await open.pop()?.close()
    await clock.advance(2 * hour + 30_000)
    const b = await start([report])
    await ended(b, fired.length)
    await clock.advance(0)
    expect(await started(b)).toEqual(fired.map((n) => begun + n * 30 * minute))
    expect(outcomes(await b.session('s').schedules.history('x'))).toEqual(said)
    expect(await b.session('s').schedules.get('x')).toMatchObject({ nextAt: begun + 5 * 30 * minute, runs: fired.length })
  })

  test('CRON-2: without a slot in time, skip starts nothing and once makes up for the last; all is capped', async () => {
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
    expect((await b.session('s').schedules.list()).map(({ nextAt }) => nextAt)).toEqual([...Array<number>(3).fill(begun + 5 * hour), null])
  })

  test('CRON-2: overlaps: left out, one after the other, or beside each other', async () => {
    gates.length = 0
    const runtime = await start([slow])
    const { schedules, tasks } = runtime.session('s')
    for (const overlap of ['skip', 'queue', 'parallel'] as const)
      await schedules.create({ tool: slow, cron: '0 * * * *', overlap, id: overlap })
    await clock.advance(2 * hour)
    await vi.waitUntil(() => gates.length === 4, { interval: 1 })
    const states = async (id: string): Promise<string[]> =>
      (await tasks.list()).filter(({ links }) => links.schedule === id).map(({ state }) => state)
    expect(await states('skip')).toEqual(['running'])
    expect((await states('queue')).toSorted()).toEqual(['queued', 'running'])
    expect(await states('parallel')).toEqual(['running', 'running'])
    const [, second] = await schedules.history('skip')
    expect(second).toMatchObject({ outcome: 'overlap', task: `skip.${clock.now() - hour}` })
    for (let gate = 0; gate < 5; gate++) {
      await vi.waitUntil(() => gates.length > gate, { interval: 1 })
      gates[gate]?.()
    }
    await ended(runtime, 5)
    // Nothing is open any more: the next one runs.
    await clock.advance(hour)
    await vi.waitUntil(() => gates.length === 8, { interval: 1 })
    expect(outcomes(await schedules.history('skip'))).toEqual(['started', 'overlap', 'started'])
    for (const go of gates) go()
  })

  test('CRON-3: pause, resume, run now, next times, cancel', async () => {
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
    expect(await tasks.wait(task ?? '')).toMatchObject({ state: 'succeeded', kind: 'scheduled', links: { schedule: 'x' } })
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
    expect(await store.keptOf({ of: 'due', after: '', limit: 10 })).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('CRON-2: what could never run is refused when it is made, with the reason', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: z.object({}), execute: () => 1 })
    const runtime = await start([report, plain])
    const { schedules } = runtime.session('s')
    const cron = '0 * * * *'
    for (const [request, why] of [
      [{ tool: 'report', input: { of: 5 }, cron }, 'of: '],
      [{ tool: 'nothing', cron }, 'Unknown tool: nothing'],
      [{ tool: 'plain', cron }, 'does not support background'],
      [{ cron }, 'neither tool nor message'],
      [{ tool: 'report', message: 'x', cron }, 'both tool and message'],
      [{ message: 'x', cron: '* * * *' }, '4 fields'],
      [{ message: 'x', at: clock.now() }, 'not in the future'],
      [{ message: 'x', cron, timezome: 'UTC' }, '"timezome"'],
      [{ message: 'x', cron, timezone: 'Mars/Olympus' }, 'Mars/Olympus'],
      [{ message: 'x', cron, catchUp: 'never' }, 'catchUp'],
      [{ message: 'x', cron, overlap: 'x' }, 'overlap'],
      [{ message: 'x', cron, cap: 0 }, 'cap'],
      [{ message: 'x', cron, id: '../x' }, 'The id'],
      [{ message: ' ', cron }, 'not blank'],
    ] as [never, string][]) {
      const refusal = await schedules.create(request).catch((error: PawlError) => error)
      expect(refusal).toMatchObject({ code: 'schedule_invalid' })
      expect((refusal as PawlError).message).toContain(why)
    }
    expect(await schedules.list()).toEqual([])
  })

  test('CRON-2: five are active in a session, however many are made at once; the same id is the same schedule', async () => {
    const runtime = await start([report])
    const other = await start([report])
    const cron = '0 * * * *'
    const made = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => (n % 2 ? runtime : other).session('s').schedules.create({ message: 'x', cron, id: `s${n}` })),
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

  test('CRON-2: daily at 02:30 in Berlin, over both changes of the clock', async () => {
    // Near the change of the clock on the wall, in a world of its own.
    clock = manualClock(Date.parse('2026-03-27T12:00:00Z'))
    const berlin = storeOf(kind, join(dir, 'berlin.db'), clock)
    const runtime = await start([report], berlin, { clock })
    open.push(runtime)
    const { schedules } = runtime.session('s')
    await schedules.create({ message: 'x', cron: '30 2 * * *', timezone: 'Europe/Berlin', id: 'x' })
    await clock.advance('3d')
    await vi.waitUntil(async () => (await schedules.history('x')).length === 3, { interval: 1 })
    expect((await schedules.history('x')).map(({ slot }) => new Date(slot).toISOString())).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z', // 02:30 does not exist that night
      '2026-03-30T00:30:00.000Z',
    ])
  })

  test('CRON-2: a slot whose tool this worker does not have is left to one that has it', async () => {
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

  test('CRON-2: a slot whose tool does not run in the background here is left to a worker where it does', async () => {
    const a = await start([report])
    await a.session('s').schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    await open.pop()?.close()
    const b = await start([tool({ name: 'report', description: 'Not in the background', input: z.object({}), execute: () => 1 })])
    await clock.advance(2 * hour)
    const { schedules } = b.session('s')
    expect(await schedules.history('x')).toEqual([])
    expect(await schedules.get('x')).toMatchObject({ state: 'active', runs: 0 })
    await open.pop()?.close()
    const c = await start([report])
    await ended(c, 1)
    expect(outcomes(await c.session('s').schedules.history('x'))).toEqual(['missed', 'started'])
  })

  test('CRON-2: it starts on behalf of whoever made it, under their policy', async () => {
    const seen: (string | null)[] = []
    const who = tool({
      name: 'who',
      description: 'Who',
      input: z.object({}),
      background: true,
      execute: (_, ctx) => void seen.push(ctx.principal),
    })
    const runtime = await start([who])
    const session = runtime.session('s', { principal: 'user:ada', policy: { rules: [{ tool: 'who', then: 'deny' }] } })
    await session.schedules.create({ tool: who, at: clock.now() + hour, id: 'no' })
    await runtime.session('s', { principal: 'user:bob' }).schedules.create({ tool: who, at: clock.now() + hour, id: 'yes' })
    await clock.advance(hour)
    await ended(runtime, 1)
    const tasks = await vi.waitUntil(async () => {
      const all = await session.tasks.list()
      return all.every(({ outcome }) => outcome) && all
    })
    expect(seen).toEqual(['user:bob'])
    expect(tasks.find(({ links }) => links.schedule === 'no')).toMatchObject({ state: 'failed' })
  })

  test('CRON-2: a session that is erased takes its schedules along; a closed runtime fires nothing', async () => {
    const a = await start([report])
    await a.session('gone').schedules.create({ tool: report, input, cron: '0 * * * *' })
    await a.session('s').schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    await a.erase({ session: 'gone' })
    expect(await store.keptOf({ of: 'due', after: '', limit: 10 })).toHaveLength(1)
    await open.pop()?.close()
    expect(clock.pending).toBe(0)
    await clock.advance(hour)
    const b = await start([report], store, { worker: false })
    expect(await b.session('s').schedules.get('x')).toMatchObject({ runs: 0 })
    // One that only asks for calls fires nothing either.
    await clock.advance(hour)
    expect(await b.session('s').schedules.get('x')).toMatchObject({ runs: 0 })
  })

  test('CRON-2: three workers, of which one after the other dies: every slot once', async () => {
    const begun = clock.now()
    const lives = [mortal(store), mortal(store), mortal(store), mortal(store)]
    const a = await start([report], (lives[0] as Mortal).store)
    const session = a.session('s')
    await session.schedules.create({ tool: report, input, cron: '* * * * *', catchUp: 'all', cap: 100, overlap: 'parallel', id: 'x' })
    for (const each of lives.slice(1)) await start([report], each.store)
    const b = await start([report])
    // In steps, so that those who live renew their leases.
    const fiveMinutes = async (): Promise<void> => {
      for (let step = 0; step < 30; step++) await clock.advance('10s')
    }
    for (const each of lives) {
      await fiveMinutes()
      each.die()
    }
    await fiveMinutes()
    await clock.advance(hour)
    await ended(b, 85)
    expect(await started(b)).toEqual(Array.from({ length: 85 }, (_, n) => begun + (n + 1) * minute))
    expect(new Set(ran).size).toBe(85)
  })

  /** A worker that stops for long right before the write of a fire, which arrives in the end. */
  const stopping = (): { store: Store; stopped: Promise<void>; goOn: () => void } => {
    const stopped = Promise.withResolvers<void>()
    const going = Promise.withResolvers<void>()
    const late: Store = {
      ...store,
      async commit(change) {
        // The fire: it takes something from what is due.
        if (change.keep?.some(({ of, value }) => of === 'due' && value === null)) {
          stopped.resolve()
          await going.promise
        }
        return store.commit(change)
      },
    }
    return { store: { ...late, close: async () => {} }, stopped: stopped.promise, goOn: () => going.resolve() }
  }

  test.each([{ tool: report, input }, { message: 'Look' }])(
    'CRON-2: what a worker writes that was stopped before it fired is refused when others were first (%o)',
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

  test('CRON-2: a slot is one change: the task, the schedule and what is due', async () => {
    const changes: Change[] = []
    const spied: Store = { ...store, commit: (change) => (changes.push(change), store.commit(change)), close: async () => {} }
    const runtime = await start([report], spied)
    const { schedules } = runtime.session('s')
    await schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    changes.length = 0
    await clock.advance(hour)
    const fires = changes.filter(({ keep = [] }) => keep.some(({ of }) => of === 'due'))
    expect(fires).toHaveLength(1)
    expect(fires[0]?.insertCall?.position.id).toBe(`x.${clock.now()}`)
    expect(fires[0]?.keep?.filter(({ of }) => of === 'schedule' || of === 'due').map(({ of, value }) => [of, value === null])).toEqual([
      ['schedule', false],
      ['due', true],
      ['due', false],
    ])
    await runtime.close({ grace: 0 })
  })

  test('CRON-2: two workers whose clocks differ fire a slot once', async () => {
    const begun = clock.now()
    const ahead: ManualClock = Object.assign(Object.create(clock) as ManualClock, { now: () => clock.now() + 40_000 })
    await start([report], store)
    const b = await start([report], store, { clock: ahead })
    await b.session('s').schedules.create({ tool: report, input, cron: '* * * * *', overlap: 'parallel', id: 'x' })
    for (let step = 0; step < 60; step++) await clock.advance('10s')
    await ended(b, 10)
    expect((await started(b)).slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, n) => begun + (n + 1) * minute))
    const slots = await started(b)
    expect(new Set(slots).size).toBe(slots.length)
  })

  test('CRON-2: wherever the store fails in a fire, no slot is doubled and none missed', async () => {
    for (const how of ['before', 'after'] as const)
      for (let at = 0; at < 8; at++) {
        const own = manualClock()
        const inner = storeOf(kind, join(dir, `${how}${at}.db`), own)
        let writes = 0
        let armed = false
        const lost = (): PawlError => new PawlError('store_unavailable', 'planted')
        const fails = failing(inner, () => (armed && how === 'before' && writes++ === at ? lost() : undefined))
        const shaky: Store = {
          ...fails,
          async commit(change) {
            const written = await fails.commit(change)
            if (armed && how === 'after' && writes++ === at) throw lost()
            return written
          },
        }
        const runtime = await createRuntime({ store: { ...shaky, close: async () => {} }, tools: [report], clock: own, logger: quiet })
        const { schedules, tasks } = runtime.session('s')
        await schedules.create({ tool: report, input, cron: '* * * * *', overlap: 'parallel', id: 'x' })
        const begun = own.now()
        armed = true
        for (let n = 0; n < 12; n++) await own.advance(30_000)
        armed = false
        await own.advance(30_000)
        const slots = (await tasks.list()).map(({ links }) => links.slot).toReversed()
        expect([how, at, slots]).toEqual([how, at, [1, 2, 3, 4, 5, 6].map((n) => begun + n * minute)])
        expect(await schedules.get('x')).toMatchObject({ runs: 6 })
        await runtime.close({ grace: 0 })
        await inner.close()
      }
  })

  test('CRON-2: wherever a worker dies in a fire, another goes on: no slot is doubled and none missed', async () => {
    for (const how of ['before', 'after'] as const)
      for (let at = 0; at < 6; at++) {
        const own = manualClock()
        const inner = storeOf(kind, join(dir, `die${how}${at}.db`), own)
        const life = mortal(inner)
        let writes = 0
        let armed = false
        const dying: Store = {
          ...life.store,
          commit(change) {
            const here = armed && writes++ === at
            if (here && how === 'before') life.die()
            const written = life.store.commit(change)
            if (here) life.die()
            return here ? new Promise(() => {}) : written
          },
        }
        const a = await createRuntime({ store: dying, tools: [report], clock: own, logger: quiet })
        const begun = own.now()
        await a.session('s').schedules.create({ tool: report, input, cron: '* * * * *', overlap: 'parallel', id: 'x' })
        armed = true
        for (let n = 0; n < 4; n++) await own.advance(30_000)
        const b = await createRuntime({ store: { ...inner, close: async () => {} }, tools: [report], clock: own, logger: quiet })
        for (let n = 0; n < 4; n++) await own.advance(30_000)
        const slots = (await b.session('s').tasks.list()).map(({ links }) => links.slot).toReversed()
        expect([how, at, slots]).toEqual([how, at, [1, 2, 3, 4].map((n) => begun + n * minute)])
        await b.close({ grace: 0 })
        await inner.close()
      }
  })
})
