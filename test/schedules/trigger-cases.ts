// Tests of triggers that every store runs. Worker deaths and store failures at each write:
// test/schedules/triggers.test.ts.

import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type Tool, tool } from '../../src/index.ts'
import type { Change, Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { type FreshWorld, type MortalWorld, mortalWorld, type Place } from '../kit/worker-takeover.ts'
import { until } from './schedule-cases.ts'

export interface TriggerWorld extends MortalWorld {
  readonly fresh: () => FreshWorld
  /** [how, order id] of every run. */
  readonly ran: unknown[]
  readonly handle: Tool
}

export const subscription = { event: 'order.paid', tool: 'handle', input: { how: 'fast' }, payloadTo: 'order' } as const

export function triggerWorld(place: Place): TriggerWorld {
  let fresh: FreshWorld
  const ran: unknown[] = []
  const world = mortalWorld(place, (given) => {
    fresh = given
    ran.length = 0
  })
  const handle = tool({
    name: 'handle',
    description: 'Handles an order',
    input: z.object({ how: z.string().default('well'), order: z.object({ id: z.number() }) }),
    onCrash: 'rerun',
    background: true,
    execute({ how, order }) {
      ran.push([how, order.id])
      return order.id
    },
  })
  return { ...world, fresh: () => fresh, ran, handle }
}

export function triggerCases(world: TriggerWorld): void {
  const { open, start, ran, handle } = world
  let clock: ManualClock
  let store: Store
  beforeEach(() => void ({ clock, store } = world.fresh()))
  const due = (): Promise<unknown[]> | unknown[] => store.documentsOf({ of: 'due', after: '', limit: 100 })
  const delivered = (): Promise<unknown> => until(async () => (await due()).length === 0)

  test('CRON-4: an event starts a task for every subscription in the tenant, with its payload', async () => {
    const runtime = await start([handle])
    const one = runtime.session('one')
    const made = await one.triggers.subscribe({ ...subscription, title: 'Orders', id: 'orders' })
    expect(made).toMatchObject({
      id: 'orders',
      event: 'order.paid',
      tool: 'handle',
      input: { how: 'fast' },
      payloadTo: 'order',
      enabled: true,
    })
    await runtime.session('two').triggers.subscribe(subscription)
    await runtime.session('other', { tenant: 'x' }).triggers.subscribe(subscription)
    await one.triggers.subscribe({ event: 'order.paid.late', tool: handle, input: { order: { id: 0 } } })
    const said = await runtime.session('shop').triggers.emit('order.paid', { id: 7 }, { key: 'pay-7' })
    expect(said.deliveries.map(({ session }) => session).toSorted()).toEqual(['one', 'two'])
    const task = said.deliveries.find(({ session }) => session === 'one')?.task ?? ''
    await delivered()
    expect(await one.tasks.wait(task)).toMatchObject({
      state: 'succeeded',
      kind: 'triggered',
      title: 'Orders',
      links: { trigger: 'orders' },
      outcome: { value: 7 },
    })
    const other = said.deliveries.find(({ session }) => session === 'two')?.task ?? ''
    await runtime.session('two').tasks.wait(other)
    expect(ran).toEqual([
      ['fast', 7],
      ['fast', 7],
    ])
    expect(clock.pending).toBe(0)
  })

  test('CRON-4: the same key is the same event; another payload under it is a conflict', async () => {
    const runtime = await start([handle])
    const { triggers, tasks } = runtime.session('s')
    await triggers.subscribe(subscription)
    const first = await triggers.emit('order.paid', { id: 1, more: [1] }, { key: 'k' })
    await delivered()
    const again = await runtime.emit('order.paid', { more: [1], id: 1 }, { key: 'k' })
    expect(again).toEqual({ ...first, again: true })
    await expect(triggers.emit('order.paid', { id: 2 }, { key: 'k' })).rejects.toMatchObject({
      code: 'trigger_conflict',
    })
    await expect(triggers.emit('order.paid', { id: 1, more: [1] }, { key: 'k', session: 's' })).rejects.toMatchObject({
      code: 'trigger_conflict',
    })
    // Concurrent emits with one key record one event. Keys are scoped by event and tenant.
    const all = await Promise.all(
      Array.from({ length: 20 }, () => runtime.emit('order.paid', { id: 3 }, { key: 'many' })),
    )
    expect(all.filter((each) => !each.again)).toHaveLength(1)
    expect(new Set(all.map(({ deliveries }) => deliveries[0]?.task)).size).toBe(1)
    expect((await triggers.emit('order.sent', null, { key: 'k' })).deliveries).toEqual([])
    expect((await runtime.emit('order.paid', { id: 9 }, { key: 'k', tenant: 'x' })).deliveries).toEqual([])
    await delivered()
    expect(await tasks.list()).toHaveLength(2)
  })

  test('CRON-4: a message becomes one notice; a paused or removed subscription gets none', async () => {
    const runtime = await start([])
    const { triggers, notices } = runtime.session('s')
    await triggers.subscribe({ event: 'deploy', message: 'Something was deployed', title: 'Deploys', id: 'd' })
    await triggers.emit('deploy', { version: 3 }, { key: '3' })
    await triggers.emit('deploy', { version: 3 }, { key: '3' })
    await delivered()
    const told = await notices.list()
    expect(told.map(({ about, text }) => [about, text])).toEqual([
      [
        'trigger',
        '[Runtime notice: this is not a message of the user. "Deploys" was triggered:]\nSomething was deployed\n- payload: {"version":3}',
      ],
    ])
    expect(await triggers.pause('d')).toMatchObject({ enabled: false })
    expect((await triggers.emit('deploy', null, { key: '4' })).deliveries).toEqual([])
    expect(await triggers.resume('d')).toMatchObject({ enabled: true })
    expect((await triggers.emit('deploy', null, { key: '5', session: 'elsewhere' })).deliveries).toEqual([])
    expect((await triggers.emit('deploy', null, { key: '6', session: 's' })).deliveries).toHaveLength(1)
    expect(await triggers.unsubscribe('d')).toBe(true)
    expect(await triggers.unsubscribe('d')).toBe(false)
    expect(await triggers.list()).toEqual([])
    expect((await triggers.emit('deploy', null, { key: '7' })).deliveries).toEqual([])
    await delivered()
  })

  test('CRON-4: a failed delivery is retried, does not block others, and is not lost', async () => {
    const a = await start([handle])
    await a.session('broken').triggers.subscribe(subscription)
    await a.session('fine').triggers.subscribe({ event: 'order.paid', message: 'Paid' })
    await open.pop()?.close()
    const plain = tool({ name: 'handle', description: 'Not in the background', input: z.object({}), execute: () => 1 })
    const b = await start([plain])
    const { deliveries } = await b.emit('order.paid', { id: 1 }, { key: 'k' })
    expect(deliveries).toHaveLength(2)
    await until(async () => (await b.session('fine').notices.list()).length === 1)
    for (let n = 0; n < 5; n++) await clock.advance('10m')
    expect(await due()).toHaveLength(1)
    expect(await b.session('broken').tasks.list()).toEqual([])
    await open.pop()?.close()
    const c = await start([handle])
    await clock.advance('10m')
    await delivered()
    expect(await c.session('broken').tasks.list()).toHaveLength(1)
    expect(await c.session('fine').notices.list()).toHaveLength(1)
  })

  test('CRON-4: a delivery whose tool this worker lacks is left to a worker that has it', async () => {
    const a = await start([handle])
    await a.session('s').triggers.subscribe(subscription)
    await open.pop()?.close()
    const b = await start([], store, { worker: false })
    await b.emit('order.paid', { id: 1 }, { key: 'k' })
    await start([])
    await clock.advance('1m')
    expect(await due()).toHaveLength(1)
    await start([handle])
    await delivered()
    expect(await b.session('s').tasks.list()).toHaveLength(1)
  })

  test('CRON-4: an event is committed with its deliveries, and each delivery in one commit', async () => {
    const changes: Change[] = []
    const spied: Store = {
      ...store,
      commit: (change) => (changes.push(change), store.commit(change)),
      close: async () => {},
    }
    const runtime = await start([handle], spied)
    await runtime.session('one').triggers.subscribe(subscription)
    await runtime.session('two').triggers.subscribe({ event: 'order.paid', message: 'Paid' })
    changes.length = 0
    await runtime.emit('order.paid', { id: 1 }, { key: 'k' })
    await delivered()
    const about = changes.filter(({ documents = [] }) => documents.some(({ of }) => of === 'due'))
    const rows = ({ documents = [], insertCall }: Change): string[] => [
      ...documents
        .filter(({ of }) => ['occurrence', 'due', 'notice'].includes(of))
        .map(({ of, value }) => (value === null ? `no ${of}` : of)),
      ...(insertCall ? ['call'] : []),
    ]
    expect(about.map((each) => rows(each).join()).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'no due,call',
      'no due,notice',
      'occurrence,due,due',
    ])
    await runtime.close({ grace: 0 })
  })

  test('CRON-4: erasing a session removes its subscriptions and deliveries', async () => {
    const runtime = await start([])
    const { triggers } = (await start([handle])).session('s')
    await triggers.subscribe(subscription)
    await open.pop()?.close()
    await runtime.emit('order.paid', { id: 1 }, { key: 'k' })
    expect(await due()).toHaveLength(1)
    await runtime.erase({ session: 's' })
    expect(await due()).toEqual([])
    expect((await runtime.emit('order.paid', { id: 1 }, { key: 'l' })).deliveries).toEqual([])
  })
}
