// An answer after the deadline of its wait, while no worker was running to expire the wait.

import { describe, expect, test, vi } from 'vitest'
import { type FreshWorld, mortalWorld } from '../kit/worker-takeover.ts'
import { simpleTool } from '../kit/simple-tools.ts'

describe.each(['memory', 'sqlite'] as const)('late answers on %s', (kind) => {
  let fresh: FreshWorld
  const { open, start } = mortalWorld(kind, (given) => void (fresh = given))

  test('WAIT-2: resolve() after the deadline returns already_resolved with the timeout', async () => {
    const { clock, store } = fresh
    let key = ''
    const asks = simpleTool('asks', { description: 'Waits for the outside' }, async (_, ctx) => {
      const later = await ctx.later({ deadline: '1h' })
      key = later.key
      return later
    })
    const keys = { secret: Buffer.alloc(32, 7) }
    const first = (await start([asks], store, { keys })).session('s')
    void first.run([{ id: 'a', name: 'asks' }]).catch(() => {})
    await vi.waitUntil(async () => (await first.calls.get('a'))?.state === 'parked', { interval: 1, timeout: 10_000 })
    await open.pop()?.close()
    await clock.advance('2h')

    const door = await start([asks], store, { keys, worker: false })
    const late = { answer: 'already_resolved', terminal: { timeout: true } }
    expect(await door.resolve(key, { value: 'too late' })).toEqual(late)
    expect(await door.resolve(key, { value: 'too late' })).toEqual(late)

    const worker = await start([asks], store, { keys })
    const [outcome] = await worker.session('s').run([{ id: 'a', name: 'asks' }])
    expect(outcome).toMatchObject({ status: 'failure', failure: { class: 'timeout', code: 'wait_timeout' } })
  })
})
