// `worker: false`: a process that asks and never runs. What it asked is on record; workers of the same store run it, in the model's order.

import { fail, type Tool, tool } from 'pawl'
import { type ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type StoreKind } from '../kit/stores/killable-store.ts'
import { fleetOn } from '../kit/worker-fleet.ts'

const input = z.object({ k: z.string().default('k') })

describe.each(['memory', 'sqlite'] as const)('a runtime that only asks, on %s', (kind: StoreKind) => {
  let clock: ManualClock
  const { start } = fleetOn(kind, (has) => ({ clock } = has))
  const asking = (tools: readonly Tool[]) => start(tools, { worker: false })

  /** The definition for who asks: its body must never run there. */
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

  test('DUR-3: it is on record at once, waits for a worker, and is run by the one that comes, in order', async () => {
    const seen: string[] = []
    const asker = await asking([never])
    const outcomes = asker.session('s').run(calls)
    await clock.advance('1s')
    expect(seen).toEqual([])
    expect(await asker.session('s').calls.list()).toMatchObject([{ state: 'received' }, { state: 'received' }, { state: 'received' }])
    await start([working(seen)])
    await start([working(seen)])
    await clock.advance('1s')
    expect(await outcomes).toMatchObject([{ value: 'a' }, { value: 'b' }, { value: 'c' }])
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  test('CALL-5: what no tool is named is said at once, with close names', async () => {
    const asker = await asking([never])
    const [outcome] = await asker.session('s').run([{ id: '1', name: 'wirte' }])
    expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'tool_unavailable', message: expect.stringContaining("'write'") } })
  })

  test('CALL-6: asked again, here or on a worker, it is the same call', async () => {
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

  test('VAL-2: outcomes of all kinds come back', async () => {
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

  test('TIME-3: what runs on a worker, and what nobody runs yet, is cancelled from where it was asked for', async () => {
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
    expect(await unclaimed).toMatchObject([{ status: 'cancelled', parts: [{ text: expect.stringContaining('enough') }] }])
    expect(signalled).toBe(false)
    const running = asker.session('s').run(calls.slice(1, 2))
    await clock.advance('1s')
    expect((await worker.session('s').calls.list()).at(-1)).toMatchObject({ state: 'running' })
    await asker.session('s').cancel('enough', 'ann')
    await clock.advance('1s')
    expect(await running).toMatchObject([{ status: 'cancelled', parts: [{ text: expect.stringContaining('enough') }] }])
    expect(signalled).toBe(true)
  })

  test('TIME-3: a session is cancelled from any process, also one that never asked for its calls', async () => {
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

  test('it takes no call of others, and tools of one session need a worker', async () => {
    const seen: string[] = []
    const asker = await asking([working(seen)])
    const other = await asking([never])
    void other
      .session('s')
      .run(calls.slice(0, 1))
      .catch(() => {})
    await clock.advance('2m')
    expect(seen).toEqual([])
    expect(() => asker.session('t', { tools: [never] })).toThrow('worker')
  })
})
