// A tool cannot make a batch reject: only the loss of the store or the runtime does.
import type { PawlError } from 'pawl'
import { createRuntime, fail, tool, type ToolContext } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { closeDuringCall } from '../../kit/interrupted-calls.ts'

const input = { type: 'object' } as const
const open = async (tools: Parameters<typeof createRuntime>[0]['tools']) => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, tools: tools as never, logger: quiet })
  return { clock, store, runtime, session: runtime.session('s') }
}

describe('outcomes that cannot be recorded', () => {
  test('CALL-2: fail() with a lone surrogate in its message settles as a failure', async () => {
    const cut = tool({
      name: 'cut',
      description: 'd',
      input,
      execute: () => Promise.reject(fail('No order 😀'.slice(0, 10))),
    })
    const { session, clock } = await open([cut])
    const end = await after(session.run([{ id: '1', name: 'cut' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure' }] })
  })
  test('CALL-2: fail() with a raw value that is not JSON settles as a failure', async () => {
    const raw = simpleTool('raw', () => Promise.reject(fail('no', { raw: { ratio: 0 / 0 } })))
    const { session, clock } = await open([raw])
    const end = await after(session.run([{ id: '1', name: 'raw' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure' }] })
  })
  test('CALL-2: a body that uses the ctx of an earlier call fails', async () => {
    let first: ToolContext | undefined
    const sticky = rerunTool(
      'sticky',
      { description: 'caches the first ctx it sees, as a module-level singleton does' },
      async (_, ctx) => {
        first ??= ctx
        return first.step('a', () => 1)
      },
    )
    const { session, clock } = await open([sticky])
    await after(session.run([{ id: '1', name: 'sticky' }]), clock)
    const end = await after(session.run([{ id: '2', name: 'sticky' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { class: 'internal' } }] })
  })
  test('CALL-2: a body that uses another, closed runtime fails', async () => {
    const other = await createRuntime({ store: 'memory:', logger: quiet })
    await other.close()
    const bridge = simpleTool('bridge', async () => {
      await other.session('x').run([{ id: '1', name: 'y' }])
      return 'done'
    })
    const { session, clock } = await open([bridge])
    const end = await after(session.run([{ id: '1', name: 'bridge' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { class: 'internal' } }] })
  })
  test('WAIT-1: a body that returns the ctx.later() of another call does not hang', async () => {
    let foreign: unknown
    let key = ''
    const maker = simpleTool('maker', async (_, ctx) => {
      const later = await ctx.later({ deadline: '1m' })
      foreign = later
      key = later.key
      return later
    })
    const thief = tool({ name: 'thief', description: 'd', input, execute: () => foreign as string })
    const { session, clock, runtime } = await open([maker, thief])
    const one = session.run([{ id: '1', name: 'maker' }])
    await clock.advance(100)
    const two = session.run([{ id: '2', name: 'thief' }])
    await clock.advance(100)
    await runtime.resolve(key, { value: 1 })
    expect(await after(one, clock)).toMatchObject({ value: [{ status: 'success' }] })
    expect(await after(two, clock)).not.toBe('hangs')
  })
})

describe('stray rejections inside Pawl', () => {
  const stray: unknown[] = []
  const note = (reason: unknown): void => void stray.push(reason)
  afterEach(() => void process.off('unhandledRejection', note))
  test('WAIT-1: a ctx.later() inside a returned object causes no unhandled rejection', async () => {
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', note)
    try {
      const nested = simpleTool('nested', async (_, ctx) => ({ ticket: await ctx.later() }))
      const { session, clock } = await open([nested])
      await after(session.run([{ id: '1', name: 'nested' }]), clock, 20_000)
      await new Promise((resolve) => setImmediate(resolve))
      expect(stray.map((e) => (e as PawlError).code)).toEqual([])
    } finally {
      for (const each of others) process.on('unhandledRejection', each)
    }
  })
})

// A failure would invite the model to try again and charge twice. A reconcile that cannot look up the result (the
// provider is down, or it returns null) must therefore end the call as unknown.
describe('reconcile without a result', () => {
  for (const [name, reconcile] of [
    ['throws', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['returns null', () => null],
  ] as const) {
    test(`DUR-3: a reconcile that ${name} ends the call as unknown, not as a failure`, async () => {
      const { clock, store } = freshMemory()
      const charge = simpleTool('charge', { reconcile: reconcile as never }, () => new Promise<string>(() => {}))
      const one = await createRuntime({ store, clock, tools: [charge], logger: quiet })
      await closeDuringCall(one, clock, { id: '1', name: 'charge' })
      const two = await createRuntime({ store, clock, tools: [charge], logger: quiet })
      const end = await after(two.session('s').run([{ id: '1', name: 'charge' }]), clock)
      expect(end).toMatchObject({ value: [{ status: 'unknown' }] })
    })
  }
})

test('WAIT-2: resolve() returns invalid with problems for a malformed answer', async () => {
  const { runtime } = await open([])
  const answer = await runtime.resolve('pawl_x', {} as never).catch((error: unknown) => error)
  expect(answer).toMatchObject({ answer: 'invalid' })
})
