// Schedules of a session, on one worker and on several.

import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createRuntime, tool } from '../../src/index.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { dieAtCommit, keepOpen, mortal, type Mortal, type StoreKind, storeOf } from '../kit/stores/killable-store.ts'
import { outcomes, scheduleCases, scheduleWorld } from './schedule-cases.ts'
import { failing } from '../kit/stores/failing-writes.ts'
import { PawlError } from '../../src/core/errors.ts'
import { backgroundTool } from '../kit/simple-tools.ts'

const minute = 60_000
const hour = 60 * minute

describe.each(['memory', 'sqlite'] as const)('schedules on %s', (kind: StoreKind) => {
  const world = scheduleWorld(kind)
  const { open, start, ended, started, ran, report, input } = world
  let dir: string
  let clock: ManualClock
  let store: Store
  beforeEach(() => void ({ dir, clock, store } = world.fresh()))
  scheduleCases(world)

  test('CRON-2: a schedule that could never run is rejected with the reason', async () => {
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
      [{ message: 'x', cron, timezome: 'UTC' }, '`timezome`; did you mean `timezone`'],
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

  test('CRON-2: a daily schedule at 02:30 in Berlin survives the spring clock change', async () => {
    // A store of its own whose clock is near the clock change.
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

  test('CRON-2: a slot is not fired by a worker whose tool cannot run in the background', async () => {
    const a = await start([report])
    await a.session('s').schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    await open.pop()?.close()
    const b = await start([
      tool({ name: 'report', description: 'Not in the background', input: z.object({}), execute: () => 1 }),
    ])
    await clock.advance(2 * hour)
    const { schedules } = b.session('s')
    expect(await schedules.history('x')).toEqual([])
    expect(await schedules.get('x')).toMatchObject({ state: 'active', runs: 0 })
    await open.pop()?.close()
    const c = await start([report])
    await ended(c, 1)
    expect(outcomes(await c.session('s').schedules.history('x'))).toEqual(['missed', 'started'])
  })

  test("CRON-2: a run has the principal and policy of the schedule's creator", async () => {
    const seen: (string | null)[] = []
    const who = backgroundTool('who', (_, ctx) => void seen.push(ctx.principal))
    const runtime = await start([who])
    const session = runtime.session('s', { principal: 'user:ada', policy: { rules: [{ tool: 'who', then: 'deny' }] } })
    await session.schedules.create({ tool: who, at: clock.now() + hour, id: 'no' })
    await runtime
      .session('s', { principal: 'user:bob' })
      .schedules.create({ tool: who, at: clock.now() + hour, id: 'yes' })
    await clock.advance(hour)
    await ended(runtime, 1)
    const tasks = await vi.waitUntil(async () => {
      const all = await session.tasks.list()
      return all.every(({ outcome }) => outcome) && all
    })
    expect(seen).toEqual(['user:bob'])
    expect(tasks.find(({ links }) => links.schedule === 'no')).toMatchObject({ state: 'failed' })
  })

  test('CRON-2: erasing a session removes its schedules; a closed runtime fires nothing', async () => {
    const a = await start([report])
    await a.session('gone').schedules.create({ tool: report, input, cron: '0 * * * *' })
    await a.session('s').schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    await a.erase({ session: 'gone' })
    expect(await store.documentsOf({ of: 'due', after: '', limit: 10 })).toHaveLength(1)
    await open.pop()?.close()
    expect(clock.pending).toBe(0)
    await clock.advance(hour)
    const b = await start([report], store, { worker: false })
    expect(await b.session('s').schedules.get('x')).toMatchObject({ runs: 0 })
    // A runtime with worker: false fires nothing either.
    await clock.advance(hour)
    expect(await b.session('s').schedules.get('x')).toMatchObject({ runs: 0 })
  })

  test('CRON-2: every slot runs once while workers die one after another', async () => {
    const begun = clock.now()
    const lives = [mortal(store), mortal(store), mortal(store), mortal(store)]
    const a = await start([report], (lives[0] as Mortal).store)
    const session = a.session('s')
    await session.schedules.create({
      tool: report,
      input,
      cron: '* * * * *',
      catchUp: 'all',
      cap: 100,
      overlap: 'parallel',
      id: 'x',
    })
    for (const each of lives.slice(1)) await start([report], each.store)
    const b = await start([report])
    // In small steps, so that live workers renew their leases.
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

  test('CRON-2: firing a slot is one commit of the call, the schedule and the due rows', async () => {
    const changes: Change[] = []
    const spied: Store = {
      ...store,
      commit: (change) => (changes.push(change), store.commit(change)),
      close: async () => {},
    }
    const runtime = await start([report], spied)
    const { schedules } = runtime.session('s')
    await schedules.create({ tool: report, input, cron: '0 * * * *', id: 'x' })
    changes.length = 0
    await clock.advance(hour)
    const fires = changes.filter(({ documents = [] }) => documents.some(({ of }) => of === 'due'))
    expect(fires).toHaveLength(1)
    expect(fires[0]?.insertCall?.position.id).toBe(`x.${clock.now()}`)
    expect(
      fires[0]?.documents
        ?.filter(({ of }) => of === 'schedule' || of === 'due')
        .map(({ of, value }) => [of, value === null]),
    ).toEqual([
      ['schedule', false],
      ['due', true],
      ['due', false],
    ])
    await runtime.close({ grace: 0 })
  })

  test('CRON-2: two workers with different clocks fire each slot once', async () => {
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

  test('CRON-2: a store failure at any write while a slot fires neither repeats nor loses it', async () => {
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
        const runtime = await createRuntime({
          store: { ...shaky, close: async () => {} },
          tools: [report],
          clock: own,
          logger: quiet,
        })
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

  test('CRON-2: a worker death at any write while a slot fires neither repeats nor loses it', async () => {
    for (const how of ['before', 'after'] as const)
      for (let at = 0; at < 6; at++) {
        const own = manualClock()
        const inner = storeOf(kind, join(dir, `die${how}${at}.db`), own)
        const dying = dieAtCommit(inner, at, how)
        const a = await createRuntime({ store: dying.store, tools: [report], clock: own, logger: quiet })
        const begun = own.now()
        await a.session('s').schedules.create({ tool: report, input, cron: '* * * * *', overlap: 'parallel', id: 'x' })
        dying.arm()
        for (let n = 0; n < 4; n++) await own.advance(30_000)
        const b = await createRuntime({ store: keepOpen(inner), tools: [report], clock: own, logger: quiet })
        for (let n = 0; n < 4; n++) await own.advance(30_000)
        const slots = (await b.session('s').tasks.list()).map(({ links }) => links.slot).toReversed()
        expect([how, at, slots]).toEqual([how, at, [1, 2, 3, 4].map((n) => begun + n * minute)])
        await b.close({ grace: 0 })
        await inner.close()
      }
  })
})
