// Schedules and triggers that are created again, paused, taken over by another worker, or given invalid options.

import { beforeEach, expect, test, vi } from 'vitest'
import type { Runtime, Tool, Session } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { rerunTask } from '../kit/simple-tools.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

const minute = 60_000
const hour = 60 * minute

let clock: ManualClock
let store: Store
const world = mortalWorld('memory', (fresh) => void ({ clock, store } = fresh))
const { open } = world
const start = (tools: readonly Tool[], options: object = {}): Promise<Runtime> => world.start(tools, store, options)
const ran: string[] = []
beforeEach(() => void (ran.length = 0))
const report = rerunTask('report', ({ of = '' }) => void ran.push(of as string))
/** A tool that waits for a signal. */
const patient = rerunTask('patient', async (_, ctx) => {
  if (!ran.includes(ctx.task?.id ?? '')) ran.push(ctx.task?.id ?? '')
  await ctx.task?.signal('go')
})

test('CRON-3: a slot fired by a worker with a fast clock does not fire again after a pause', async () => {
  const ahead = { ...clock, now: () => clock.now() + 10 * minute }
  const fast = await start([report], { clock: ahead })
  const here = await start([report], { worker: false })
  const { schedules, tasks } = here.session('s')
  const slot = clock.now() + hour
  await fast.session('s').schedules.create({ tool: report, input: {}, cron: '0 * * * *', overlap: 'parallel', id: 'x' })
  await clock.advance(hour - 5 * minute)
  expect(await schedules.history('x')).toMatchObject([{ slot, outcome: 'started' }])
  await schedules.pause('x')
  expect(await schedules.nextTimes('x', 1)).toEqual([slot + hour])
  expect(await schedules.resume('x')).toMatchObject({ nextAt: slot + hour })
  await clock.advance(6 * minute)
  expect(await tasks.list()).toHaveLength(1)
})

test('CRON-2: a slot of a schedule recreated under its id starts its own run', async () => {
  const { schedules, tasks } = (await start([report])).session('s')
  const slot = clock.now() + hour
  await schedules.create({ tool: report, input: { of: 'north' }, at: slot, id: 'x' })
  await clock.advance(hour)
  await schedules.cancel('x')
  // The task id of this slot is already used by the earlier schedule.
  const behind = await start([report], { worker: false, clock: { ...clock, now: () => clock.now() - 2 * hour } })
  for (const of of ['north', 'south']) {
    await behind.session('s').schedules.create({ tool: report, input: { of }, at: slot, id: 'x' })
    await clock.advance(minute / 2)
    await vi.waitUntil(async () => (await schedules.get('x'))?.state === 'ended', { interval: 1 })
    expect(await schedules.history('x')).toMatchObject([{ slot, outcome: 'started' }])
    await schedules.cancel('x')
  }
  await vi.waitUntil(() => ran.length === 3, { interval: 1 })
  expect(ran).toEqual(['north', 'north', 'south'])
  expect(await tasks.list()).toHaveLength(3)
})

/** Only the first run has begun; the waiting run begins when the first has ended. */
async function expectQueued(tasks: Session['tasks'], first: string, waiting: string): Promise<void> {
  await clock.advance(minute)
  expect(ran).toEqual([first])
  expect(await tasks.get(waiting)).toMatchObject({ state: 'queued' })
  await tasks.signal(first, 'go')
  await vi.waitUntil(() => ran.length === 2, { interval: 1 })
  expect(ran).toEqual([first, waiting])
}

test('CRON-2: with queue, the third run waits for the first when the second is cancelled', async () => {
  const { schedules, tasks } = (await start([patient])).session('s')
  await schedules.create({ tool: patient, input: {}, cron: '0 * * * *', overlap: 'queue', id: 'x' })
  for (let n = 0; n < 3; n++) await clock.advance(hour)
  const [first, second, third] = (await schedules.history('x')).map(({ task = '' }) => task) as [string, string, string]
  expect(await tasks.cancel(second)).toBe(true)
  await clock.advance(minute)
  expect(await tasks.get(second)).toMatchObject({ state: 'cancelled' })
  await expectQueued(tasks, first, third)
})

test('CRON-2: with queue, a run waits for the previous one even after a takeover', async () => {
  const a = await start([patient])
  await a.session('s').schedules.create({ tool: patient, input: {}, cron: '0 * * * *', overlap: 'queue', id: 'x' })
  for (let n = 0; n < 2; n++) await clock.advance(hour)
  const [first, second] = (await a.session('s').schedules.history('x')).map(({ task = '' }) => task) as [string, string]
  await open.pop()?.close({ grace: 0 })
  const { tasks } = (await start([patient])).session('s')
  await expectQueued(tasks, first, second)
})

test('CRON-4: prune keeps the key of an event while the body that emitted it is open', async () => {
  const tells = rerunTask('tells', async (_, ctx) => {
    await ctx.triggers.emit('e', null)
    await ctx.task?.signal('go')
  })
  const a = await start([report, tells])
  await a.session('s').triggers.subscribe({ event: 'e', tool: report, input: {}, id: 'x' })
  await a.session('other').tasks.start({ tool: 'tells', id: 't' })
  await vi.waitUntil(() => ran.length === 1, { interval: 1 })
  await clock.advance(hour)
  await a.prune({ olderThan: '1m' })
  await open.pop()?.close({ grace: 0 })
  const b = await start([report, tells])
  await clock.advance(minute)
  await b.session('other').tasks.signal('t', 'go')
  await b.session('other').tasks.wait('t')
  await clock.advance(minute)
  expect(ran).toHaveLength(1)
  await b.prune({ settledBefore: clock.now() + 1 })
  expect(await store.documentsOf({ of: 'occurrence', after: '', limit: 10 })).toEqual([])
})

test('TASK-1: a task and a monitor with the same id conflict', async () => {
  const { tasks, schedules } = (await start([report])).session('s')
  await tasks.start({ tool: 'report', input: {}, id: 'x' })
  await expect(tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { cron: '@daily' })).rejects.toMatchObject({
    code: 'task_conflict',
  })
  expect(await schedules.list()).toEqual([])
  const made = await tasks.schedule({ tool: 'report', input: {}, id: 'y' }, { cron: '@daily' })
  await expect(tasks.start({ tool: 'report', input: {}, id: 'y' })).rejects.toMatchObject({ code: 'task_conflict' })
  expect(await tasks.schedule({ tool: 'report', input: {}, id: 'y' }, { cron: '@daily' })).toEqual(made)
})

test('TASK-1: prune removes a monitor that ended long ago', async () => {
  const runtime = await start([report])
  const { tasks } = runtime.session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '@daily' })
  await tasks.cancel('m')
  await clock.advance(2 * hour)
  await runtime.prune({ olderThan: '1h' })
  expect(await tasks.get('m')).toBeUndefined()
  expect(await tasks.list()).toEqual([])
})

test('CRON-3: a monitor keeps messages only for the slots in its history', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 * * * *' })
  for (let n = 0; n < 60; n++) await clock.advance(hour)
  expect(await tasks.messages('m', { limit: 500 })).toHaveLength(50)
})

test('CRON-4: unknown options are rejected', async () => {
  const runtime = await start([report])
  const invalid = { code: 'trigger_invalid' }
  const odd = { key: 'k', sesion: 's' }
  await expect(runtime.emit('e', null, odd)).rejects.toMatchObject(invalid)
  await expect(runtime.session('s').triggers.emit('e', null, odd)).rejects.toMatchObject(invalid)
  expect(await store.documentsOf({ of: 'occurrence', after: '', limit: 10 })).toEqual([])
  const options = { schedules: { actives: 3 } } as object
  await expect(start([], options)).rejects.toMatchObject({ code: 'config_invalid' })
})

test('CRON-1: values that cannot be stringified are rejected with an error code', async () => {
  const { schedules, triggers, tasks } = (await start([report])).session('s')
  const circle: { self?: unknown } = {}
  circle.self = circle
  for (const odd of [5n, circle, Symbol('x'), () => 1] as never[]) {
    for (const field of ['cron', 'timezone', 'catchUp', 'overlap', 'cap', 'wake', 'id', 'tool', 'title'] as const)
      await expect(
        schedules.create({ tool: report, input: {}, cron: '@daily', [field]: odd }).then(
          () => 'made',
          (error: unknown) => error,
        ),
        `${field} as ${typeof odd}`,
      ).resolves.toSatisfy(
        (answer: unknown) =>
          (answer as { code?: string }).code === 'schedule_invalid' || (field === 'title' && answer === 'made'),
      )
    await expect(schedules.create({ tool: report, input: {}, at: odd })).rejects.toMatchObject({
      code: 'schedule_invalid',
    })
    await expect(schedules.pause(odd)).rejects.toMatchObject({ code: 'schedule_unknown' })
    await expect(triggers.resume(odd)).rejects.toMatchObject({ code: 'trigger_unknown' })
    await expect(triggers.subscribe({ event: odd, message: 'Hello' })).rejects.toMatchObject({
      code: 'trigger_invalid',
    })
    await expect(triggers.emit('e', null, { key: odd })).rejects.toMatchObject({ code: 'trigger_invalid' })
    await expect(tasks.schedule({ tool: 'report', input: {}, id: odd }, { cron: '@daily' })).rejects.toMatchObject({
      code: 'task_invalid',
    })
    await expect(start([], { schedules: { apart: odd } })).rejects.toMatchObject({ code: 'config_invalid' })
  }
})
