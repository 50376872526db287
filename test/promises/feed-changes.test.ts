// FEED-1: every change is an event, committed with it: also what is about no call.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, type FeedEvent, type Runtime, tool } from 'pawl'
import { manualClock, memoryStore, scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Bench, onEachStore } from '../each-store.ts'

const minute = 60_000
const echo = tool({ name: 'echo', description: 'Says it', input: z.object({}), onCrash: 'rerun', background: true, execute: () => 'said' })
const input = z.object({})

let marks = 0

/** What the feed has told up to now, but for calls; its numbers have no gap. */
async function told(runtime: Runtime): Promise<FeedEvent[]> {
  const mark = `mark ${++marks}`
  await runtime.session(mark).run([{ id: 'a', name: 'echo' }])
  const all: FeedEvent[] = []
  for await (const event of runtime.events()) {
    all.push(event)
    if (event.session === mark && event.type === 'call.settled') break
  }
  expect(all.map(({ position }) => position)).toEqual(all.map((_, at) => at + 1))
  for (const [, own] of Map.groupBy(all, ({ tenant, session }) => `${tenant} ${session}`))
    expect(own.map(({ seq }) => seq)).toEqual(own.map((_, at) => at + 1))
  return all.filter(({ type }) => !/^(?:call|step|wait|turn)\./.test(type))
}
const facts = (events: readonly FeedEvent[], session = 's'): unknown[] =>
  events.filter((event) => event.session === session).map(({ type, body }) => ({ type, ...body }))

const typesOf = async (runtime: Runtime, session = 's'): Promise<string[]> =>
  (await told(runtime)).filter((event) => event.session === session).map(({ type }) => type)

const until = (holds: () => Promise<boolean> | boolean): Promise<unknown> => vi.waitUntil(holds, { interval: 2, timeout: 4_000 })

onEachStore('the feed tells', (bench: Bench) => {
  test('FEED-1: a schedule that is made, paused, resumed, run by hand and cancelled; its message as a notice under the id that is listed', async () => {
    const runtime = await bench.open([echo])
    const { schedules, notices } = runtime.session('s')
    await schedules.create({ id: 'x', message: 'Look', cron: '0 0 1 1 *' })
    await schedules.create({ id: 'x', message: 'Look', cron: '0 0 1 1 *' }) // the same
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

  test('FEED-1: slots that fire, are missed or overlap; and the end of what has no slot left', async () => {
    const clock = manualClock()
    const gates: (() => void)[] = []
    const slow = tool({ name: 'slow', description: 'd', input, background: true, execute: () => new Promise<void>((go) => gates.push(go)) })
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

  test('FEED-1: a slot that was due before a pause is told as missed', async () => {
    const clock = manualClock()
    const first = await bench.open([echo], { clock })
    // A worker without the tool leaves it alone.
    const { schedules } = first.session('s')
    await schedules.create({ id: 'x', tool: 'echo', input: {}, cron: '* * * * *' })
    if (!bench.survives) return
    await first.close()
    const second = await bench.open([tool({ name: 'other', description: 'd', input, execute: () => 1 })], { clock })
    await clock.advance(2 * minute)
    await second.session('s').schedules.pause('x')
    await second.close()
    const third = await bench.open([echo], { clock })
    expect(await typesOf(third)).toEqual(['schedule.created', 'schedule.missed', 'schedule.missed', 'schedule.paused'])
  })

  test('FEED-1: a monitor is a task that is created, tells what fires and ends with its schedule', async () => {
    const runtime = await bench.open([echo])
    const session = runtime.session('s')
    const spawned = { tool: 'echo', args: {}, schedule: { cron_expression: '0 0 1 1 *' } }
    const [outcome] = await session.run([{ id: 'a', name: 'spawn_background', input: spawned }])
    const { task_id: task, schedule_id: schedule } = (outcome as unknown as { value: { task_id: string; schedule_id: string } }).value
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

  test('FEED-1: triggers that are subscribed to, paused, resumed, emitted, delivered and left', async () => {
    const emits = tool({
      name: 'emits',
      description: 'd',
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => ctx.triggers.emit('order.paid', { amount: 4711 }, { key: 'k2' }),
    })
    const runtime = await bench.open([echo, emits])
    const { triggers, tasks, notices } = runtime.session('s')
    await triggers.subscribe({ id: 'm', event: 'order.paid', message: 'Paid' })
    await triggers.subscribe({ id: 't', event: 'order.paid', tool: 'echo', input: {} })
    await triggers.pause('m')
    await triggers.pause('m')
    await triggers.resume('m')
    await runtime.session('shop').triggers.emit('order.paid', { amount: 4711 }, { key: 'k1' })
    await runtime.session('shop').triggers.emit('order.paid', { amount: 4711 }, { key: 'k1' }) // has happened
    await until(async () => (await tasks.list()).length === 1 && (await notices.list()).some(({ about }) => about === 'trigger'))
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

  test('FEED-1 TASK-9: what a task says as a notice, and that a turn has told it', async () => {
    const says = tool({
      name: 'says',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: { events: { found: { schema: z.object({}), wake: true } } },
      async execute(_, ctx) {
        await ctx.task?.message('Half of it')
        await ctx.emit('found', {})
      },
    })
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
    expect(added.map(({ body }) => body)).toEqual(listed.slice(0, 2).map(({ id, about }) => ({ notice: id, about, task: task.id })))
    expect(added.every(({ call }) => call === task.call)).toBe(true)
    expect(facts(all.filter(({ type }) => type === 'notice.acknowledged'))).toEqual(
      listed.map(({ id }) => ({ type: 'notice.acknowledged', notice: id })),
    )
  })

  test('FEED-1: what a user sends, capabilities that are switched, and the end of the session', async () => {
    const capabilities = [
      { name: 'files', tools: [] },
      { name: 'web', tools: [], requires: ['files'] },
    ]
    const runtime = await bench.open([echo], { capabilities })
    const session = runtime.session('s')
    await session.messages.send('The word is hush-hush', { id: 'm1' })
    await session.messages.send('The word is hush-hush', { id: 'm1' }) // once
    await session.messages.send('Later', { id: 'm2', when: 'after' })
    await session.capabilities.switchOn('web')
    await session.capabilities.switchOn('web')
    await session.capabilities.switchOff('web')
    await session.capabilities.switchOff('web')
    await session.end({ by: 'user:bea', reason: 'Enough of hush-hush' })
    await session.end()
    const all = await told(runtime)
    expect(facts(all)).toEqual([
      { type: 'message.sent', message: 'm1', when: 'next' },
      { type: 'message.sent', message: 'm2', when: 'after' },
      { type: 'capability.switched', name: 'web', on: true },
      { type: 'capability.switched', name: 'files', on: true },
      { type: 'capability.switched', name: 'web', on: false },
      { type: 'session.ended', by: 'user:bea' },
    ])
    expect(JSON.stringify(all)).not.toContain('hush')
  })

  test('FEED-1 SESS-6: that a body lets an agent work, and what its session has from the one above', async () => {
    const model = scriptedModel(['Done'], { name: 'small' })
    const helper = agent({ name: 'helper', description: 'Helps', model: 'small' })
    const runtime = await bench.open([echo, helper], { models: [model], capabilities: [{ name: 'web', tools: [] }] })
    const session = runtime.session('s')
    await session.capabilities.switchOn('web')
    await session.run([{ id: 'a', name: 'helper', input: { task: 'Help' } }])
    const all = await told(runtime)
    const started = all.find(({ type }) => type === 'agent.started')
    expect(started).toMatchObject({ session: 's', call: expect.stringMatching(/./) })
    const { session: below } = (started as FeedEvent).body as { session: string }
    expect(facts(all, below)[0]).toEqual({ type: 'capability.switched', name: 'web', on: true })
    expect(all.filter(({ type }) => type === 'agent.started')).toHaveLength(1)
  })

  test.each(['in the store', 'in a folder'])(
    'FEED-1: files %s that are written, moved and removed, by the program and by a body',
    async (where) => {
      const folder = mkdtempSync(join(tmpdir(), 'pawl-feed-'))
      const writes = tool({
        name: 'writes',
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: async (_, ctx) => void (await ctx.files.write('/b.txt', 'hush-hush')),
      })
      try {
        const options = where === 'in a folder' ? { files: { folder: () => folder } } : {}
        const runtime = await bench.open([echo, writes], options)
        const { files, ...session } = runtime.session('s')
        await files.write('/a/x.txt', 'hush-hush')
        await files.makeDirectory('/d')
        await files.makeDirectory('/d')
        await files.move('/a/x.txt', '/d/y.txt')
        await files.remove('/d', { recursive: true })
        await files.remove('/d')
        await expect(files.write('/a', 'a directory')).rejects.toMatchObject({ code: 'file_is_directory' })
        await session.run([{ id: 'a', name: 'writes' }])
        const all = (await told(runtime)).filter(({ session: own }) => own === 's')
        expect(facts(all)).toEqual([
          { type: 'file.changed', path: '/a/x.txt', change: 'written' },
          { type: 'file.changed', path: '/d', change: 'made' },
          { type: 'file.changed', path: '/a/x.txt', change: 'moved', to: '/d/y.txt' },
          { type: 'file.changed', path: '/d', change: 'removed' },
          { type: 'file.changed', path: '/b.txt', change: 'written' },
        ])
        expect(all.map(({ call }) => call !== '')).toEqual([false, false, false, false, true])
        expect(JSON.stringify(all)).not.toContain('hush')
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )

  test('FEED-1 DUR-12: values, secrets and connections by their names, never what they are', async () => {
    const sets = tool({
      name: 'sets',
      description: 'd',
      input,
      onCrash: 'rerun',
      async execute(_, ctx) {
        await ctx.values.set('b', 'hush-hush')
        await ctx.values.delete('none')
        await ctx.secrets.set('own', 'hush-hush-token')
      },
    })
    const runtime = await bench.open([echo, sets])
    const { values, secrets, ...session } = runtime.session('s')
    await values.set('a', 'hush-hush')
    await expect(values.set('a', 'x', { ifRevision: 99 })).rejects.toMatchObject({ code: 'value_changed' })
    await values.delete('a')
    await values.delete('a')
    await secrets.set('key', 'hush-hush-key')
    await secrets.delete('key')
    await session.run([{ id: 'a', name: 'sets' }])
    // A name that holds what is secret is told without it.
    await values.set('of hush-hush-key', 1)
    await runtime.connections.set({ provider: 'github', principal: 'user:bea' }, { token: 'hush-hush-pat', by: 'user:bea' })
    await runtime.connections.remove({ provider: 'github', principal: 'user:bea' })
    await runtime.connections.remove({ provider: 'github', principal: 'user:bea' })
    const all = await told(runtime)
    expect(facts(all)).toEqual([
      { type: 'value.changed', key: 'a', change: 'set' },
      { type: 'value.changed', key: 'a', change: 'deleted' },
      { type: 'secret.changed', name: 'key', change: 'set' },
      { type: 'secret.changed', name: 'key', change: 'deleted' },
      { type: 'value.changed', key: 'b', change: 'set' },
      { type: 'secret.changed', name: 'own', change: 'set' },
      { type: 'value.changed', key: 'of [redacted]', change: 'set' },
    ])
    expect(facts(all, '')).toEqual([
      { type: 'connection.changed', provider: 'github', change: 'set' },
      { type: 'connection.changed', provider: 'github', change: 'removed' },
    ])
    expect(JSON.stringify(all)).not.toContain('hush')
  })

  test('FEED-1: a watcher that came before hears of it at once, on another runtime of the store', async () => {
    const shared = bench.survives ? {} : { store: memoryStore() }
    const runtime = await bench.open([echo], shared)
    const other = await bench.open([echo], shared)
    const heard = (async () => {
      const taken: unknown[] = []
      for await (const { type, body } of other.session('s').events()) {
        taken.push({ type, ...body })
        if (taken.length === 2) break
      }
      return taken
    })()
    await other.session('mark').run([{ id: 'first', name: 'echo' }])
    await runtime.session('s').values.set('a', 1)
    await runtime.session('s').files.write('/a.txt', 'a')
    expect(await heard).toEqual([
      { type: 'value.changed', key: 'a', change: 'set' },
      { type: 'file.changed', path: '/a.txt', change: 'written' },
    ])
  })

  test('FEED-1 DUR-10: what is told of no call goes with its session, and by its age', async () => {
    const clock = manualClock()
    const runtime = await bench.open([echo], { clock })
    await runtime.session('s').values.set('a', 1)
    await runtime.session('t').values.set('a', 1)
    await runtime.connections.set({ provider: 'github' }, { token: 'abcdefgh', by: 'user:bea' })
    expect(await runtime.erase({ session: 's' })).toMatchObject({ events: 1 })
    await clock.advance('2d')
    await runtime.session('t').values.set('b', 1)
    expect(await runtime.prune({ olderThan: '1d' })).toMatchObject({ events: 2 })
    const rest: unknown[] = []
    for await (const { session, body, seq } of runtime.events()) {
      rest.push({ session, seq, ...body })
      break
    }
    expect(rest).toEqual([{ session: 't', seq: 2, key: 'b', change: 'set' }])
  })
})
