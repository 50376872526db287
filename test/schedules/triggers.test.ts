// Tasks and messages that an event triggers.

import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, PawlError, tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { dieAtCommit, keepOpen, type StoreKind, storeOf } from '../kit/stores/killable-store.ts'
import { subscription, triggerCases, triggerWorld } from './trigger-cases.ts'
import { failing } from '../kit/stores/failing-writes.ts'

describe.each(['memory', 'sqlite'] as const)('triggers on %s', (kind: StoreKind) => {
  const world = triggerWorld(kind)
  const { start, handle } = world
  let dir: string
  let store: Store
  beforeEach(() => void ({ dir, store } = world.fresh()))
  triggerCases(world)

  test('CRON-4: invalid subscriptions and events are rejected and nothing is recorded', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: z.object({}), execute: () => 1 })
    const runtime = await start([handle, plain], store, { sizes: { arguments: 2_000 } })
    const { triggers } = runtime.session('s')
    for (const [request, why] of [
      [{ event: 'Order', message: 'x' }, 'its name must be'],
      [{ event: 'pawl.x', message: 'x' }, 'reserved for the runtime'],
      [{ event: 'a' }, 'neither tool nor message'],
      [{ event: 'a', tool: 'nothing' }, 'Unknown tool'],
      [{ event: 'a', tool: 'plain' }, 'does not support background'],
      [{ event: 'a', tool: 'handle', input: { order: 5 } }, 'order: '],
      [{ event: 'a', tool: 'handle', input: [1], payloadTo: 'order' }, 'must be an object'],
      [{ event: 'a', message: 'x', payloadTo: 'order' }, '`payloadTo` is for a tool'],
      [{ event: 'a', message: 'x', tile: 'y' }, '`tile`; did you mean `title`'],
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
    await expect(triggers.subscribe({ event: 'a', message: 'y', id: 'x' })).rejects.toMatchObject({
      code: 'trigger_conflict',
    })
    await expect(triggers.subscribe({ event: 'a', message: 'x', id: 'x' })).resolves.toMatchObject({ id: 'x' })
    await expect(triggers.pause('nobody')).rejects.toMatchObject({ code: 'trigger_unknown' })
  })

  test('CRON-4: a worker death at any write of an emit still makes each delivery once', async () => {
    for (const how of ['before', 'after'] as const)
      for (let at = 0; at < 8; at++) {
        const own = manualClock()
        const inner = storeOf(kind, join(dir, `die${how}${at}.db`), own)
        const dying = dieAtCommit(inner, at, how)
        const a = await createRuntime({ store: dying.store, tools: [handle], clock: own, logger: quiet })
        for (const id of ['one', 'two', 'three']) await a.session(id).triggers.subscribe({ ...subscription, id })
        dying.arm()
        void a.emit('order.paid', { id: 1 }, { key: 'k' })
        await own.advance('1s')
        const b = await createRuntime({ store: keepOpen(inner), tools: [handle], clock: own, logger: quiet })
        // The emitter does not know whether its event was recorded, so it emits again under the same key.
        await b.emit('order.paid', { id: 1 }, { key: 'k' })
        for (let n = 0; n < 4; n++) await own.advance('20s')
        for (const id of ['one', 'two', 'three']) {
          const tasks = await b.session(id).tasks.list()
          expect([how, at, id, tasks.map(({ links }) => links.trigger)]).toEqual([how, at, id, [id]])
        }
        expect(await inner.documentsOf({ of: 'due', after: '', limit: 10 })).toEqual([])
        await b.close({ grace: 0 })
        await inner.close()
      }
  })

  test('CRON-4: a store failure at any write still makes each delivery once', async () => {
    for (let at = 0; at < 6; at++) {
      const own = manualClock()
      const inner = storeOf(kind, join(dir, `fail${at}.db`), own)
      let writes = 0
      let armed = false
      const fault = (): unknown =>
        armed && writes++ === at ? new PawlError('store_unavailable', 'planted') : undefined
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
})
