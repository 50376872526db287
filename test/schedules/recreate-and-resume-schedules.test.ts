// Schedules and triggers that are asked for again, made anew, paused, or looked at by others: more of what was found, each at its place.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createRuntime, type Runtime, type Tool, tool } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const minute = 60_000
const hour = 60 * minute

let clock: ManualClock
let store: Store
let open: Runtime[]
beforeEach(() => {
  clock = manualClock()
  store = memoryStore({ clock })
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
  await store.close()
})
const start = async (tools: readonly Tool[], options: object = {}): Promise<Runtime> => {
  const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...options })
  open.push(runtime)
  return runtime
}
const ran: string[] = []
beforeEach(() => void (ran.length = 0))
const report = tool({
  name: 'report',
  description: 'Reports',
  input: z.object({ of: z.string().optional() }),
  onCrash: 'rerun',
  background: true,
  execute: ({ of = '' }) => void ran.push(of),
})
/** Waits for a signal. */
const patient = tool({
  name: 'patient',
  description: 'Waits',
  input: z.object({}),
  onCrash: 'rerun',
  background: true,
  async execute(_, ctx) {
    if (!ran.includes(ctx.task?.id ?? '')) ran.push(ctx.task?.id ?? '')
    await ctx.task?.signal('go')
  },
})

test('CRON-3: a slot that a worker with a fast clock has fired is not fired again after a pause', async () => {
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

test('CRON-2: the slot of a schedule that was made anew under its id starts its own run', async () => {
  const { schedules, tasks } = (await start([report])).session('s')
  const slot = clock.now() + hour
  await schedules.create({ tool: report, input: { of: 'north' }, at: slot, id: 'x' })
  await clock.advance(hour)
  await schedules.cancel('x')
  // By a clock that is behind, or for the same instant of another day's plan: the name of the slot's task is taken.
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

test('CRON-2: with queue a run waits for the first also when the one between them is cancelled', async () => {
  const { schedules, tasks } = (await start([patient])).session('s')
  await schedules.create({ tool: patient, input: {}, cron: '0 * * * *', overlap: 'queue', id: 'x' })
  for (let n = 0; n < 3; n++) await clock.advance(hour)
  const [first, second, third] = (await schedules.history('x')).map(({ task = '' }) => task) as [string, string, string]
  expect(await tasks.cancel(second)).toBe(true)
  await clock.advance(minute)
  expect(await tasks.get(second)).toMatchObject({ state: 'cancelled' })
  expect(ran).toEqual([first])
  expect(await tasks.get(third)).toMatchObject({ state: 'queued' })
  await tasks.signal(first, 'go')
  await vi.waitUntil(() => ran.length === 2, { interval: 1 })
  expect(ran).toEqual([first, third])
})

test('CRON-2: with queue a run that another worker takes up waits as well', async () => {
  const a = await start([patient])
  await a.session('s').schedules.create({ tool: patient, input: {}, cron: '0 * * * *', overlap: 'queue', id: 'x' })
  for (let n = 0; n < 2; n++) await clock.advance(hour)
  const [first, second] = (await a.session('s').schedules.history('x')).map(({ task = '' }) => task) as [string, string]
  await open.pop()?.close({ grace: 0 })
  const { tasks } = (await start([patient])).session('s')
  await clock.advance(minute)
  expect(ran).toEqual([first])
  expect(await tasks.get(second)).toMatchObject({ state: 'queued' })
  await tasks.signal(first, 'go')
  await vi.waitUntil(() => ran.length === 2, { interval: 1 })
  expect(ran).toEqual([first, second])
})

test('CRON-4: prune leaves the key of an event whose body is open', async () => {
  const tells = tool({
    name: 'tells',
    description: 'Tells',
    input: z.object({}),
    onCrash: 'rerun',
    background: true,
    async execute(_, ctx) {
      await ctx.triggers.emit('e', null)
      await ctx.task?.signal('go')
    },
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

test('TASK-1: a task and a monitor do not share an id, and say so', async () => {
  const { tasks, schedules } = (await start([report])).session('s')
  await tasks.start({ tool: 'report', input: {}, id: 'x' })
  await expect(tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { cron: '@daily' })).rejects.toMatchObject({ code: 'task_conflict' })
  expect(await schedules.list()).toEqual([])
  const made = await tasks.schedule({ tool: 'report', input: {}, id: 'y' }, { cron: '@daily' })
  await expect(tasks.start({ tool: 'report', input: {}, id: 'y' })).rejects.toMatchObject({ code: 'task_conflict' })
  expect(await tasks.schedule({ tool: 'report', input: {}, id: 'y' }, { cron: '@daily' })).toEqual(made)
})

test('TASK-1: a monitor is forgotten by prune when it ended long ago', async () => {
  const runtime = await start([report])
  const { tasks } = runtime.session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '@daily' })
  await tasks.cancel('m')
  await clock.advance(2 * hour)
  await runtime.prune({ olderThan: '1h' })
  expect(await tasks.get('m')).toBeUndefined()
  expect(await tasks.list()).toEqual([])
})

test('CRON-3: a monitor keeps what it said of the slots in its history, and no more', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 * * * *' })
  for (let n = 0; n < 60; n++) await clock.advance(hour)
  expect(await tasks.messages('m', { limit: 500 })).toHaveLength(50)
})

test('CRON-4: what there is no option for is refused', async () => {
  const runtime = await start([report])
  const invalid = { code: 'trigger_invalid' }
  const odd = { key: 'k', sesion: 's' }
  await expect(runtime.emit('e', null, odd)).rejects.toMatchObject(invalid)
  await expect(runtime.session('s').triggers.emit('e', null, odd)).rejects.toMatchObject(invalid)
  expect(await store.documentsOf({ of: 'occurrence', after: '', limit: 10 })).toEqual([])
  const options = { schedules: { actives: 3 } } as object
  await expect(start([], options)).rejects.toMatchObject({ code: 'config_invalid' })
})

test('CRON-1: what has no text is refused with words all the same', async () => {
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
        (answer: unknown) => (answer as { code?: string }).code === 'schedule_invalid' || (field === 'title' && answer === 'made'),
      )
    await expect(schedules.create({ tool: report, input: {}, at: odd })).rejects.toMatchObject({ code: 'schedule_invalid' })
    await expect(schedules.pause(odd)).rejects.toMatchObject({ code: 'schedule_unknown' })
    await expect(triggers.resume(odd)).rejects.toMatchObject({ code: 'trigger_unknown' })
    await expect(triggers.subscribe({ event: odd, message: 'Hello' })).rejects.toMatchObject({ code: 'trigger_invalid' })
    await expect(triggers.emit('e', null, { key: odd })).rejects.toMatchObject({ code: 'trigger_invalid' })
    await expect(tasks.schedule({ tool: 'report', input: {}, id: odd }, { cron: '@daily' })).rejects.toMatchObject({ code: 'task_invalid' })
    await expect(start([], { schedules: { apart: odd } })).rejects.toMatchObject({ code: 'config_invalid' })
  }
})
