// runtime.calls.get(): the call of any session by its uid.

import type { FeedEvent } from 'pawl'
import { expect, test } from 'vitest'
import { rerunTool } from '../kit/simple-tools.ts'
import { type Bench, onEachStore } from '../kit/stores/local-stores.ts'

const steps = rerunTool('steps', (_, ctx) => ctx.step('a', () => 'done'))

onEachStore('runtime.calls', (bench: Bench) => {
  test('CALL-6: an operator reads a call by its uid alone, with its tenant and session', async () => {
    const runtime = await bench.open([steps])
    const session = runtime.session('s', { tenant: 'acme' })
    await session.run([{ id: 'a', name: 'steps', input: {} }])
    const uid = (await session.calls.list())[0]?.uid as string
    const own = await session.calls.get({ uid })
    expect(await runtime.calls.get(uid)).toEqual({ ...own, tenant: 'acme', session: 's' })
    expect(own?.steps).toHaveLength(1)
    expect(await runtime.calls.get(uid, { tenant: 'acme' })).toEqual(await runtime.calls.get(uid))
    const events: FeedEvent[] = []
    for await (const event of runtime.events({ until: 'now' })) events.push(event)
    expect(events[0]?.call).toBe(uid)
  })

  test('CALL-6: a call of another tenant, an unknown uid and a value that is no uid', async () => {
    const runtime = await bench.open([steps])
    const session = runtime.session('s', { tenant: 'acme' })
    await session.run([{ id: 'a', name: 'steps', input: {} }])
    const uid = (await session.calls.list())[0]?.uid as string
    expect(await runtime.calls.get(uid, { tenant: 'other' })).toBeUndefined()
    expect(await runtime.calls.get(uid, { tenant: '' })).toBeUndefined()
    expect(await runtime.calls.get('none')).toBeUndefined()
    await expect(runtime.calls.get(undefined as never)).rejects.toMatchObject({ code: 'call_invalid' })
  })
})
