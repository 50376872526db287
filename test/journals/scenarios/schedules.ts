// Schedules and triggers: their records, what fires, and what a dead worker leaves.

import type { Session, Tool } from 'pawl'
import type { Scenario, World } from '../scenario.ts'
import { batch, never, work } from './kit.ts'

const report = work((input) => input, { name: 'report', onCrash: 'rerun', background: true })
const cron = { tool: 'report', input: { of: 'sales' }, cron: '*/30 * * * *', id: 'half', title: 'Sales' } as const

const on =
  (
    happens: (session: Session, world: World) => Promise<unknown>,
    tools: readonly Tool[] = [report],
    options: object = {},
  ): Scenario =>
  async (world) =>
    happens((await world.run(tools, options)).session('s', { principal: 'user:ada' }), world)

/** No worker runs for two hours and half a minute. */
const missed =
  (more: object): Scenario =>
  async (world) => {
    const first = await world.open({ tools: [report] })
    await first.runtime.session('s').schedules.create({ ...cron, overlap: 'parallel', ...more })
    await first.runtime.close()
    await world.advance(2 * 3_600_000 + 90_000)
    const { schedules } = (await world.run([report])).session('s')
    await world.advance('1s')
    return schedules.history('half')
  }

export const schedules: Readonly<Record<string, Scenario>> = {
  'a schedule is made and fires twice': on(async ({ schedules }, world) => {
    const made = await schedules.create(cron)
    const same = await schedules.create(cron)
    await world.advance('1h')
    return { made, same, history: await schedules.history('half'), next: await schedules.nextTimes('half', 2) }
  }),
  'a message at an instant': on(async ({ schedules, notices }, world) => {
    await schedules.create({ message: 'Ask how it went', at: '2026-01-01T01:00:00Z', id: 'once', title: 'Trial' })
    await world.advance('2h')
    return { notices: await notices.list(), schedule: await schedules.get('once') }
  }),
  'a schedule is paused, run by hand, resumed and cancelled': on(async ({ schedules }, world) => {
    await schedules.create(cron)
    await schedules.pause('half')
    await world.advance('1h')
    const byHand = await schedules.runNow('half')
    await world.advance('1s')
    await schedules.resume('half')
    await world.advance('30m')
    return {
      byHand,
      history: await schedules.history('half'),
      cancelled: [await schedules.cancel('half'), await schedules.cancel('half')],
    }
  }),
  'a due slot is missed by a pause': on(async ({ schedules }, world) => {
    await schedules.create({ ...cron, tool: 'report' })
    await world.advance('29m')
    await schedules.pause('half')
    await world.advance('2m')
    await schedules.resume('half')
    return schedules.history('half')
  }),
  'missed slots are skipped': missed({ catchUp: 'skip' }),
  'missed slots are made up for once': missed({ catchUp: 'once' }),
  'missed slots are all made up for': missed({ catchUp: 'all', cap: 2 }),
  'a slot overlaps with the run before': on(
    async ({ schedules }, world) => {
      await schedules.create(cron)
      await world.advance('1h')
      return schedules.history('half')
    },
    [work(never, { name: 'report', background: true })],
  ),
  'a slot waits for the run before': on(
    async ({ schedules, tasks }, world) => {
      await schedules.create({ ...cron, overlap: 'queue' })
      await world.advance('1h')
      const [, first] = await tasks.list()
      await tasks.signal(first?.id ?? '', 'go', 1)
      await world.advance('1m')
      return (await tasks.list()).map(({ id, state }) => [id, state])
    },
    [work((_, ctx) => ctx.task?.signal('go'), { name: 'report', onCrash: 'rerun', background: true })],
  ),
  'a schedule whose arguments no longer fit fails': async (world) => {
    const first = await world.open({ tools: [report] })
    await first.runtime.session('s').schedules.create(cron)
    await first.runtime.close()
    const strict = work((input) => input, {
      name: 'report',
      onCrash: 'rerun',
      background: true,
      input: { type: 'object', properties: { of: { type: 'number' } } },
    })
    const { schedules, tasks } = (await world.run([strict])).session('s')
    await world.advance('31m')
    return {
      history: await schedules.history('half'),
      tasks: (await tasks.list()).map(({ state, summary }) => [state, summary]),
    }
  },
  'a worker dies before a slot is on record': async (world) => {
    const first = await world.open({ tools: [report] }, { event: 'schedule.fired', when: 'before' })
    await first.runtime.session('s').schedules.create(cron)
    await world.advance('31m')
    const { schedules } = (await world.run([report])).session('s')
    await world.advance('1m')
    return schedules.history('half')
  },
  'a worker dies when a slot is on record': async (world) => {
    const first = await world.open({ tools: [report] }, { event: 'schedule.fired', when: 'after' })
    await first.runtime.session('s').schedules.create(cron)
    await world.advance('31m')
    const { schedules, tasks } = (await world.run([report])).session('s')
    await world.advance('1m')
    return { history: await schedules.history('half'), tasks: (await tasks.list()).map(({ id, state }) => [id, state]) }
  },
  'a model makes a schedule, which is a monitor, and cancels it': on(async (session, world) => {
    const schedule = { cron_expression: '*/10 * * * *', timezone: 'Europe/Berlin' }
    const input = { tool: 'report', args: { of: 'x' }, title: 'Every ten', schedule }
    const [made] = await world.outcome(session.run([{ id: 'a', name: 'spawn_background', input }], batch))
    await world.advance('20m')
    const { task_id } = (made?.status === 'success' ? made.value : {}) as { task_id: string }
    const messages = await session.tasks.messages(task_id)
    await session.tasks.cancel(task_id, 'Enough', 'user:ada')
    await world.advance('20m')
    return { made: made?.parts, messages, task: await session.tasks.get(task_id) }
  }),
  'an event starts a task and tells a message': async (world) => {
    const runtime = await world.run([report])
    const [one, two] = [runtime.session('one'), runtime.session('two')]
    await one.triggers.subscribe({
      event: 'order.paid',
      tool: 'report',
      input: { of: 'north' },
      payloadTo: 'order',
      id: 'starts',
    })
    await two.triggers.subscribe({ event: 'order.paid', message: 'An order was paid', id: 'tells', title: 'Orders' })
    const emitted = [
      await runtime.emit('order.paid', { id: 7 }, { key: 'paid-7' }),
      await runtime.emit('order.paid', { id: 7 }, { key: 'paid-7' }),
      await runtime.emit('order.paid', { id: 8 }, { key: 'paid-7' }).catch((error: { code: string }) => error.code),
      await one.triggers.emit('order.paid', { id: 9 }, { key: 'paid-9', session: 'one' }),
      await runtime.emit('nobody.hears', null, { key: 'k' }),
    ]
    await world.advance('10s')
    return { emitted, notices: await two.notices.list(), tasks: (await one.tasks.list()).map(({ outcome }) => outcome) }
  },
  'a subscription is paused, resumed and removed': on(async ({ triggers, notices }, world) => {
    await triggers.subscribe({ event: 'e', message: 'It happened', id: 'x' })
    await triggers.pause('x')
    await triggers.emit('e', 1, { key: '1' })
    await triggers.resume('x')
    await triggers.emit('e', 2, { key: '2' })
    await world.advance('1s')
    const removed = [await triggers.unsubscribe('x'), await triggers.unsubscribe('x')]
    await triggers.emit('e', 3, { key: '3' })
    await world.advance('1s')
    return { removed, notices: await notices.list() }
  }),
  'a body emits an event, dies and emits it once': async (world) => {
    const emits = work(
      async (_, ctx) => {
        await ctx.triggers.emit('e', { attempt: ctx.attempt })
        await ctx.triggers.emit('e', { attempt: ctx.attempt }, { key: 'named' })
        return ctx.attempt
      },
      { onCrash: 'rerun' },
    )
    const first = await world.open({ tools: [emits] }, { event: 'trigger.emitted', when: 'after' })
    await first.runtime.session('s').triggers.subscribe({ event: 'e', message: 'It happened', id: 'x' })
    void first.runtime.session('s').run([{ id: 'a', name: 'work' }], batch)
    await world.advance('1s')
    const second = await world.run([emits])
    await world.advance('1m')
    return {
      outcomes: await world.outcome(second.session('s').run([{ id: 'a', name: 'work' }], batch)),
      notices: await second.session('s').notices.list(),
    }
  },
  'a worker dies before a delivery is on record': async (world) => {
    const first = await world.open({ tools: [report] }, { event: 'trigger.delivered', when: 'before' })
    const session = first.runtime.session('s')
    await session.triggers.subscribe({ event: 'e', tool: 'report', payloadTo: 'n', id: 'x' })
    void session.triggers.emit('e', 1, { key: '1' })
    await world.advance('10s')
    const second = await world.run([report])
    await world.advance('1m')
    return (await second.session('s').tasks.list()).map(({ id, state }) => [id, state])
  },
}
