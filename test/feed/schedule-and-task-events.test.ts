// Events of schedules, triggers, tasks and notices, each committed with its change.

import { tool } from 'pawl'
import { manualClock, scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Bench, onEachStore } from '../kit/stores/local-stores.ts'
import { echo, facts, told, typesOf } from '../kit/feed-reader.ts'
import { rerunTool } from '../kit/simple-tools.ts'

const minute = 60_000
const input = z.object({})

const until = (holds: () => Promise<boolean> | boolean): Promise<unknown> =>
  vi.waitUntil(holds, { interval: 2, timeout: 4_000 })

onEachStore('schedule and task events', (bench: Bench) => {
  test('FEED-1: schedule changes are events, and a schedule message is a notice with the listed id', async () => {
    const runtime = await bench.open([echo])
    const { schedules, notices } = runtime.session('s')
    await schedules.create({ id: 'x', message: 'Look', cron: '0 0 1 1 *' })
    await schedules.create({ id: 'x', message: 'Look', cron: '0 0 1 1 *' }) // same definition
    await schedules.pause('x')
    await schedules.pause('x')
    await schedules.resume('x')
    await schedules.runNow('x')
    const [notice] = await notices.list()
    await notices.acknowledge([notice?.id ?? '', 'row:none'])
    await schedules.cancel('x')
    await schedules.cancel('x')
    expect(facts(await told(runtime))).toEqual([
      { type: 'schedule.created', schedule: 'x' },
      { type: 'schedule.paused', schedule: 'x' },
      { type: 'schedule.resumed', schedule: 'x' },
      { type: 'schedule.fired', schedule: 'x', slot: notice?.at, task: null, byHand: true },
      { type: 'notice.added', notice: notice?.id, about: 'schedule', task: null },
      { type: 'notice.acknowledged', notice: notice?.id },
      { type: 'schedule.cancelled', schedule: 'x' },
    ])
  })

  test('FEED-1: fired, missed and overlapping slots and the end of a schedule are events', async () => {
    const clock = manualClock()
    const gates: (() => void)[] = []
    const slow = tool({
      name: 'slow',
      description: 'd',
      input,
      background: true,
      execute: () => new Promise<void>((go) => gates.push(go)),
    })
    const runtime = await bench.open([echo, slow], { clock })
    const { schedules, tasks } = runtime.session('s')
    const at = clock.now() + minute
    await schedules.create({ id: 'once', tool: 'echo', input: {}, at })
    await clock.advance(minute)
    await until(async () => (await tasks.list()).length === 1)
    expect(facts(await told(runtime)).slice(0, 4)).toEqual([
      { type: 'schedule.created', schedule: 'once' },
      { type: 'task.created', task: `once.${at}`, kind: 'scheduled', tool: 'echo' },
      { type: 'schedule.fired', schedule: 'once', slot: at, task: `once.${at}` },
      { type: 'schedule.ended', schedule: 'once' },
    ])
    const { schedules: others, tasks: theirs } = runtime.session('o')
    await others.create({ id: 'slow', tool: 'slow', input: {}, cron: '* * * * *' })
    await clock.advance(minute)
    await until(() => gates.length === 1)
    await clock.advance(minute)
    await until(async () => (await others.history('slow')).length === 2)
    await others.runNow('slow')
    await until(async () => (await theirs.list()).length === 2)
    const slots = (await others.history('slow')).map(({ slot, outcome }) => `${slot} ${outcome}`)
    const heard = (await told(runtime)).flatMap(({ session, type, body }) =>
      session === 'o' && (type === 'schedule.fired' || type === 'schedule.missed')
        ? [`${(body as { slot: number }).slot} ${'outcome' in body ? body.outcome : 'started'}`]
        : [],
    )
    expect(heard).toEqual(slots)
    expect(slots.map((slot) => slot.split(' ')[1])).toEqual(['started', 'overlap', 'started'])
    for (const go of gates) go()
  })

  test.runIf(bench.survives)('FEED-1: a slot due before a pause is reported as missed', async () => {
    const clock = manualClock()
    const first = await bench.open([echo], { clock })
    // A worker without the tool must not run the schedule.
    const { schedules } = first.session('s')
    await schedules.create({ id: 'x', tool: 'echo', input: {}, cron: '* * * * *' })
    await first.close()
    const second = await bench.open([tool({ name: 'other', description: 'd', input, execute: () => 1 })], { clock })
    await clock.advance(2 * minute)
    await second.session('s').schedules.pause('x')
    await second.close()
    const third = await bench.open([echo], { clock })
    expect(await typesOf(third)).toEqual(['schedule.created', 'schedule.missed', 'schedule.missed', 'schedule.paused'])
  })

  test('FEED-1: a monitor task reports its runs and ends with its schedule', async () => {
    const runtime = await bench.open([echo])
    const session = runtime.session('s')
    const spawned = { tool: 'echo', args: {}, schedule: { cron_expression: '0 0 1 1 *' } }
    const [outcome] = await session.run([{ id: 'a', name: 'spawn_background', input: spawned }])
    const { task_id: task, schedule_id: schedule } = (
      outcome as unknown as { value: { task_id: string; schedule_id: string } }
    ).value
    const { task: run } = await session.schedules.runNow(schedule)
    await session.tasks.wait(run ?? '')
    await session.schedules.cancel(schedule)
    const heard = facts(await told(runtime)).filter((fact) => (fact as { type: string }).type !== 'task.updated')
    expect(heard).toEqual([
      { type: 'schedule.created', schedule },
      { type: 'task.created', task, kind: 'monitor', tool: 'echo' },
      { type: 'task.created', task: run, kind: 'scheduled', tool: 'echo' },
      expect.objectContaining({ type: 'schedule.fired', schedule, task: run, byHand: true }),
      expect.objectContaining({ type: 'task.message', task, direction: 'out' }),
      { type: 'schedule.cancelled', schedule },
      { type: 'task.ended', task, state: 'cancelled' },
    ])
  })

  test('FEED-1: trigger subscriptions, pauses, emits and deliveries are events', async () => {
    const emits = rerunTool('emits', async (_, ctx) => ctx.triggers.emit('order.paid', { amount: 4711 }, { key: 'k2' }))
    const runtime = await bench.open([echo, emits])
    const { triggers, tasks, notices } = runtime.session('s')
    await triggers.subscribe({ id: 'm', event: 'order.paid', message: 'Paid' })
    await triggers.subscribe({ id: 't', event: 'order.paid', tool: 'echo', input: {} })
    await triggers.pause('m')
    await triggers.pause('m')
    await triggers.resume('m')
    await runtime.session('shop').triggers.emit('order.paid', { amount: 4711 }, { key: 'k1' })
    await runtime.session('shop').triggers.emit('order.paid', { amount: 4711 }, { key: 'k1' }) // duplicate key
    await until(
      async () => (await tasks.list()).length === 1 && (await notices.list()).some(({ about }) => about === 'trigger'),
    )
    await triggers.unsubscribe('m')
    await triggers.unsubscribe('t')
    await triggers.unsubscribe('t')
    await runtime.session('shop').run([{ id: 'a', name: 'emits' }])
    await runtime.emit('order.sent', null, { key: 'k3' })
    await runtime.emit('order.sent', null, { key: 'k4', session: 's' })
    const all = await told(runtime)
    expect(JSON.stringify(all)).not.toContain('4711')
    const heard = facts(all).filter((fact) => !(fact as { type: string }).type.startsWith('task'))
    const [task] = await tasks.list()
    const notice = (await notices.list()).find(({ about }) => about === 'trigger')
    expect(heard.filter((fact) => /deliver|notice/.test((fact as { type: string }).type))).toHaveLength(3)
    expect(heard).toEqual(
      expect.arrayContaining([
        { type: 'trigger.subscribed', trigger: 'm', event: 'order.paid' },
        { type: 'trigger.subscribed', trigger: 't', event: 'order.paid' },
        { type: 'trigger.paused', trigger: 'm' },
        { type: 'trigger.resumed', trigger: 'm' },
        { type: 'trigger.delivered', trigger: 'm', event: 'order.paid', key: 'k1', task: null },
        { type: 'notice.added', notice: notice?.id, about: 'trigger', task: null },
        { type: 'trigger.delivered', trigger: 't', event: 'order.paid', key: 'k1', task: task?.id },
        { type: 'trigger.unsubscribed', trigger: 'm' },
        { type: 'trigger.unsubscribed', trigger: 't' },
        { type: 'trigger.emitted', event: 'order.sent', key: 'k4', deliveries: 0 },
      ]),
    )
    expect(heard).toHaveLength(10)
    expect(facts(all, 'shop')).toEqual([
      { type: 'trigger.emitted', event: 'order.paid', key: 'k1', deliveries: 2 },
      { type: 'trigger.emitted', event: 'order.paid', key: 'k2', deliveries: 0 },
    ])
    expect(all.filter(({ session }) => session === 'shop').map(({ call }) => call !== '')).toEqual([false, true])
    expect(facts(all, '')).toEqual([{ type: 'trigger.emitted', event: 'order.sent', key: 'k3', deliveries: 0 }])
  })

  test('FEED-1 TASK-9: task notices are events, and so is their acknowledgement by a turn', async () => {
    const says = rerunTool(
      'says',
      { background: { events: { found: { schema: z.object({}), wake: true } } } },
      async (_, ctx) => {
        await ctx.task?.message('Half of it')
        await ctx.emit('found', {})
      },
    )
    const model = scriptedModel(['Heard'])
    const runtime = await bench.open([echo, says], { models: [model] })
    const session = runtime.session('s')
    const task = await session.tasks.start({ tool: says, input: {}, wake: 'on_activity' })
    await session.tasks.wait(task.id)
    const listed = await session.notices.list()
    expect(listed.map(({ about }) => about)).toEqual(['message', 'event', 'end'])
    await session.turn({ model, message: 'Go on' }).outcome
    const all = await told(runtime)
    const added = all.filter(({ type }) => type === 'notice.added')
    expect(added.map(({ body }) => body)).toEqual(
      listed.slice(0, 2).map(({ id, about }) => ({ notice: id, about, task: task.id })),
    )
    expect(added.every(({ call }) => call === task.call)).toBe(true)
    expect(facts(all.filter(({ type }) => type === 'notice.acknowledged'))).toEqual(
      listed.map(({ id }) => ({ type: 'notice.acknowledged', notice: id })),
    )
  })
})
