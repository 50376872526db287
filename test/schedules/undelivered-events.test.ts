// Prune and an event that no worker could deliver yet.

import { describe, expect, test } from 'vitest'
import { until } from './schedule-cases.ts'
import { subscription, triggerWorld } from './trigger-cases.ts'

describe.each(['memory', 'sqlite'] as const)('undelivered events on %s', (kind) => {
  const world = triggerWorld(kind)
  const { handle, open, ran, start } = world

  test('CRON-4, DUR-10: prune keeps an event until a worker with its tool has started the run', async () => {
    const { clock, store } = world.fresh()
    const subscriber = await start([handle])
    await subscriber.session('s').triggers.subscribe(subscription)
    await open.pop()?.close()

    const door = await start([], store, { worker: false })
    await door.emit('order.paid', { id: 7 }, { key: 'k' })
    await start([])
    await clock.advance('2d')
    await door.prune({ olderThan: '1d' })
    expect(ran).toEqual([])

    const worker = await start([handle])
    await until(async () => (await store.documentsOf({ of: 'due', after: '', limit: 10 })).length === 0)
    const [task] = await worker.session('s').tasks.list()
    expect(await worker.session('s').tasks.wait(task?.id ?? '')).toMatchObject({ state: 'succeeded' })
    expect(ran).toEqual([['fast', 7]])

    // Once delivered, the event is removed by the next prune.
    const events = async (): Promise<number> =>
      (await store.documentsOf({ of: 'occurrence', after: '', limit: 10 })).length
    expect(await events()).toBe(1)
    await door.prune({ olderThan: '1d' })
    expect(await events()).toBe(0)
  })
})
