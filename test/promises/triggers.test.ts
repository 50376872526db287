// CRON-4: tasks and messages that begin with an event.

import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createRuntime, PawlError, tool } from '../../src/index.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/clock.ts'
import { quiet } from '../adversary/kit.ts'
import { mortal, type StoreKind, storeOf } from '../mortal.ts'
import { mortalWorld } from '../mortal-world.ts'
import { failing } from '../writes.ts'

describe.each(['memory', 'sqlite'] as const)('triggers on %s', (kind: StoreKind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  let ran: unknown[]
  const { open, start } = mortalWorld(kind, (fresh) => {
    ;({ dir, clock, store } = fresh)
    ran = []
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
  const subscription = { event: 'order.paid', tool: 'handle', input: { how: 'fast' }, payloadTo: 'order' } as const
  const due = (): Promise<unknown[]> | unknown[] => store.keptOf({ of: 'due', after: '', limit: 100 })
  const delivered = (): Promise<unknown> => vi.waitUntil(async () => (await due()).length === 0, { interval: 1 })

  test('CRON-4: an event starts the task of each who subscribed in the tenant, with its payload', async () => {
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

  test('CRON-4: the same key is the same occurrence; another payload under it is a conflict', async () => {
    const runtime = await start([handle])
    const { triggers, tasks } = runtime.session('s')
    await triggers.subscribe(subscription)
    const first = await triggers.emit('order.paid', { id: 1, more: [1] }, { key: 'k' })
    await delivered()
    const again = await runtime.emit('order.paid', { more: [1], id: 1 }, { key: 'k' })
    expect(again).toEqual({ ...first, again: true })
    await expect(triggers.emit('order.paid', { id: 2 }, { key: 'k' })).rejects.toMatchObject({ code: 'trigger_conflict' })
    await expect(triggers.emit('order.paid', { id: 1, more: [1] }, { key: 'k', session: 's' })).rejects.toMatchObject({
      code: 'trigger_conflict',
    })
    // Of many at once one is recorded; and another event, or tenant, has keys of its own.
    const all = await Promise.all(Array.from({ length: 20 }, () => runtime.emit('order.paid', { id: 3 }, { key: 'many' })))
    expect(all.filter((each) => !each.again)).toHaveLength(1)
    expect(new Set(all.map(({ deliveries }) => deliveries[0]?.task)).size).toBe(1)
    expect((await triggers.emit('order.sent', null, { key: 'k' })).deliveries).toEqual([])
    expect((await runtime.emit('order.paid', { id: 9 }, { key: 'k', tenant: 'x' })).deliveries).toEqual([])
    await delivered()
    expect(await tasks.list()).toHaveLength(2)
  })

  test('CRON-4: a message becomes a notice, once; what is paused or unsubscribed hears nothing', async () => {
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

  test('CRON-4: what is not valid is refused, and nothing is recorded', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: z.object({}), execute: () => 1 })
    const runtime = await start([handle, plain], store, { sizes: { arguments: 2_000 } })
    const { triggers } = runtime.session('s')
    for (const [request, why] of [
      [{ event: 'Order', message: 'x' }, 'its name must be'],
      [{ event: 'pawl.x', message: 'x' }, "the runtime's"],
      [{ event: 'a' }, 'neither tool nor message'],
      [{ event: 'a', tool: 'nothing' }, 'Unknown tool'],
      [{ event: 'a', tool: 'plain' }, 'does not support background'],
      [{ event: 'a', tool: 'handle', input: { order: 5 } }, 'order: '],
      [{ event: 'a', tool: 'handle', input: [1], payloadTo: 'order' }, 'must be an object'],
      [{ event: 'a', message: 'x', payloadTo: 'order' }, 'payloadTo is for a tool'],
      [{ event: 'a', message: 'x', tile: 'y' }, '"tile"'],
    ] as [never, string][]) {
      const refusal = await triggers.subscribe(request).catch((error: PawlError) => error)
      expect(refusal).toMatchObject({ code: 'trigger_invalid' })
      expect((refusal as PawlError).message).toContain(why)
    }
    for (const [event, payload, how] of [
      ['pawl.x', 1, { key: 'k' }],
      ['A', 1, { key: 'k' }],
      ['a', 1, {}],
      ['a', 1, undefined],
      ['a', 1, { key: '' }],
      ['a', 'x'.repeat(3_000), { key: 'k' }],
    ] as [string, unknown, never][])
      await expect(triggers.emit(event, payload, how)).rejects.toMatchObject({ code: 'trigger_invalid' })
    expect(await triggers.list()).toEqual([])
    await triggers.subscribe({ event: 'a', message: 'x', id: 'x' })
    await expect(triggers.subscribe({ event: 'a', message: 'y', id: 'x' })).rejects.toMatchObject({ code: 'trigger_conflict' })
    await expect(triggers.subscribe({ event: 'a', message: 'x', id: 'x' })).resolves.toMatchObject({ id: 'x' })
    await expect(triggers.pause('nobody')).rejects.toMatchObject({ code: 'trigger_unknown' })
  })

  test('CRON-4: a start that fails is tried again, holds nobody back, and is never lost', async () => {
    const a = await start([handle])
    await a.session('broken').triggers.subscribe(subscription)
    await a.session('fine').triggers.subscribe({ event: 'order.paid', message: 'Paid' })
    await open.pop()?.close()
    const plain = tool({ name: 'handle', description: 'Not in the background', input: z.object({}), execute: () => 1 })
    const b = await start([plain])
    const { deliveries } = await b.emit('order.paid', { id: 1 }, { key: 'k' })
    expect(deliveries).toHaveLength(2)
    await vi.waitUntil(async () => (await b.session('fine').notices.list()).length === 1, { interval: 1 })
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

  test('CRON-4: a delivery whose tool this worker does not have is left to one that has it', async () => {
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

  test('CRON-4: record and reservation are one: wherever a worker dies, each delivery is made once', async () => {
    for (const how of ['before', 'after'] as const)
      for (let at = 0; at < 8; at++) {
        ran = []
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
        const a = await createRuntime({ store: dying, tools: [handle], clock: own, logger: quiet })
        for (const id of ['one', 'two', 'three']) await a.session(id).triggers.subscribe({ ...subscription, id })
        armed = true
        void a.emit('order.paid', { id: 1 }, { key: 'k' })
        await own.advance('1s')
        const b = await createRuntime({ store: { ...inner, close: async () => {} }, tools: [handle], clock: own, logger: quiet })
        // Whoever does not know whether it was emitted emits it again.
        await b.emit('order.paid', { id: 1 }, { key: 'k' })
        for (let n = 0; n < 4; n++) await own.advance('20s')
        for (const id of ['one', 'two', 'three']) {
          const tasks = await b.session(id).tasks.list()
          expect([how, at, id, tasks.map(({ links }) => links.trigger)]).toEqual([how, at, id, [id]])
        }
        expect(await inner.keptOf({ of: 'due', after: '', limit: 10 })).toEqual([])
        await b.close({ grace: 0 })
        await inner.close()
      }
  })

  test('CRON-4: the event and its deliveries are one change, and so is each delivery', async () => {
    const changes: Change[] = []
    const spied: Store = { ...store, commit: (change) => (changes.push(change), store.commit(change)), close: async () => {} }
    const runtime = await start([handle], spied)
    await runtime.session('one').triggers.subscribe(subscription)
    await runtime.session('two').triggers.subscribe({ event: 'order.paid', message: 'Paid' })
    changes.length = 0
    await runtime.emit('order.paid', { id: 1 }, { key: 'k' })
    await delivered()
    const about = changes.filter(({ keep = [] }) => keep.some(({ of }) => of === 'due'))
    const rows = ({ keep = [], insertCall }: Change): string[] => [
      ...keep.filter(({ of }) => ['occurrence', 'due', 'notice'].includes(of)).map(({ of, value }) => (value === null ? `no ${of}` : of)),
      ...(insertCall ? ['call'] : []),
    ]
    expect(about.map((each) => rows(each).join()).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'no due,call',
      'no due,notice',
      'occurrence,due,due',
    ])
    await runtime.close({ grace: 0 })
  })

  test('CRON-4: wherever the store fails, each delivery is made once', async () => {
    for (let at = 0; at < 6; at++) {
      const own = manualClock()
      const inner = storeOf(kind, join(dir, `fail${at}.db`), own)
      let writes = 0
      let armed = false
      const fault = (): unknown => (armed && writes++ === at ? new PawlError('store_unavailable', 'planted') : undefined)
      const shaky = { ...failing(inner, fault), close: async () => {} }
      const runtime = await createRuntime({ store: shaky, tools: [handle], clock: own, logger: quiet })
      for (const id of ['one', 'two', 'three']) await runtime.session(id).triggers.subscribe({ ...subscription, id })
      armed = true
      const said = await runtime.emit('order.paid', { id: 1 }, { key: 'k' }).catch(() => null)
      if (!said) await runtime.emit('order.paid', { id: 1 }, { key: 'k' })
      for (let n = 0; n < 4; n++) await own.advance('20s')
      for (const id of ['one', 'two', 'three'])
        expect([at, (await runtime.session(id).tasks.list()).map(({ links }) => links.trigger)]).toEqual([at, [id]])
      await runtime.close({ grace: 0 })
      await inner.close()
    }
  })

  test('CRON-4: a session that is erased takes its subscriptions and deliveries along', async () => {
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
})
