// `worker: false`: a runtime that submits calls and never runs them. Workers on the same store run them in batch order.

import { fail, type Tool, tool } from 'pawl'
import { type ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type StoreKind } from '../kit/stores/killable-store.ts'
import { fleetOn } from '../kit/worker-fleet.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const input = z.object({ k: z.string().default('k') })

describe.each(['memory', 'sqlite'] as const)('a submitting runtime on %s', (kind: StoreKind) => {
  let clock: ManualClock
  const { start } = fleetOn(kind, (has) => ({ clock } = has))
  const asking = (tools: readonly Tool[]) => start(tools, { worker: false })

  /** The definition in the submitting runtime: its body must never run. */
  const shape = { name: 'write', description: 'd', input } as const
  const never = tool({ ...shape, execute: () => expect.unreachable('it ran where it was asked for') })
  const working = (seen: string[], body: (k: string) => unknown = (k) => k): Tool =>
    tool({
      ...shape,
      async execute({ k }) {
        seen.push(`${k} begins`)
        await new Promise<void>((resolve) => void clock.timer(50, resolve))
        seen.push(`${k} ends`)
        return body(k)
      },
    })
  const calls = ['a', 'b', 'c'].map((k) => ({ id: k, name: 'write', input: { k } }))

  test('DUR-3: a submitted batch is recorded, and workers that start later run it in order', async () => {
    const seen: string[] = []
    const asker = await asking([never])
    const outcomes = asker.session('s').run(calls)
    await clock.advance('1s')
    expect(seen).toEqual([])
    expect(await asker.session('s').calls.list()).toMatchObject([
      { state: 'received' },
      { state: 'received' },
      { state: 'received' },
    ])
    await start([working(seen)])
    await start([working(seen)])
    await clock.advance('1s')
    expect(await outcomes).toMatchObject([{ value: 'a' }, { value: 'b' }, { value: 'c' }])
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  test('CALL-5: an unknown tool name fails immediately with similar names', async () => {
    const asker = await asking([never])
    const [outcome] = await asker.session('s').run([{ id: '1', name: 'wirte' }])
    expect(outcome).toMatchObject({
      status: 'failure',
      failure: { code: 'tool_unavailable', message: expect.stringContaining("'write'") },
    })
  })

  test('CALL-6: resubmitting the call here or on a worker joins the same call', async () => {
    const seen: string[] = []
    const asker = await asking([never])
    const first = asker.session('s').run(calls.slice(0, 1))
    const again = asker.session('s').run(calls.slice(0, 1))
    const worker = await start([working(seen)])
    const there = worker.session('s').run(calls.slice(0, 1))
    await clock.advance('1s')
    for (const ask of [first, again, there]) expect(await ask).toMatchObject([{ value: 'a' }])
    expect(seen).toEqual(['a begins', 'a ends'])
  })

  test('VAL-2: outcomes of all kinds return to the submitting runtime', async () => {
    const asker = await asking([never])
    const outcomes = asker.session('s').run([...calls.slice(0, 2), { id: 'bad', name: 'write', input: { k: 7 } }])
    await start([working([], (k) => (k === 'a' ? fail('no') : k))])
    await clock.advance('1s')
    expect(await outcomes).toMatchObject([
      { status: 'failure', failure: { message: 'no' } },
      { value: 'b' },
      { failure: { code: 'invalid_arguments' } },
    ])
  })

  test('TIME-3: the submitting runtime cancels running and unclaimed calls', async () => {
    const asker = await asking([never])
    const unclaimed = asker.session('s').run(calls.slice(0, 1))
    await clock.advance('1s')
    await asker.session('s').cancel('enough', 'ann')
    let signalled = false
    const hanging = tool({
      ...shape,
      execute: (_, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            signalled = true
            reject(new Error('stopped'))
          })
        }),
    })
    const worker = await start([hanging])
    await clock.advance('1s')
    expect(await unclaimed).toMatchObject([
      { status: 'cancelled', parts: [{ text: expect.stringContaining('enough') }] },
    ])
    expect(signalled).toBe(false)
    const running = asker.session('s').run(calls.slice(1, 2))
    await clock.advance('1s')
    expect((await worker.session('s').calls.list()).at(-1)).toMatchObject({ state: 'running' })
    await asker.session('s').cancel('enough', 'ann')
    await clock.advance('1s')
    expect(await running).toMatchObject([{ status: 'cancelled', parts: [{ text: expect.stringContaining('enough') }] }])
    expect(signalled).toBe(true)
  })

  test('TIME-3: any process can cancel a session, even one that did not submit its calls', async () => {
    const asker = await asking([never])
    const stranger = await asking([never])
    const asked = asker.session('s').run(calls)
    const other = asker.session('other').run(calls.slice(0, 1))
    await start([tool({ ...shape, execute: () => new Promise(() => {}), timeout: { attempt: '1d' } })])
    await clock.advance('1s')
    expect(await stranger.session('s').cancel('enough')).toBe(3)
    await clock.advance('1s')
    expect((await asked).map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect(await asker.session('other').calls.list()).toMatchObject([{ state: 'running' }])
    other.catch(() => {})
  })

  test('a submitting runtime claims no calls and rejects session tools', async () => {
    const seen: string[] = []
    const asker = await asking([working(seen)])
    const other = await asking([never])
    ignoreResult(other.session('s').run(calls.slice(0, 1)))
    await clock.advance('2m')
    expect(seen).toEqual([])
    expect(() => asker.session('t', { tools: [never] })).toThrow('worker')
  })
})
