// CALL-2: "No tool … makes a batch reject; only losing the store or the runtime does."
import type { PawlError } from 'pawl'
import { createRuntime, fail, tool, type ToolContext } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const open = async (tools: Parameters<typeof createRuntime>[0]['tools']) => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, tools: tools as never, logger: quiet })
  return { clock, store, runtime, session: runtime.session('s') }
}

describe('a tool makes the batch reject, and its call is stuck', () => {
  test('CALL-2: fail() with a message cut in the middle of an emoji (lone surrogate)', async () => {
    const cut = tool({ name: 'cut', description: 'd', input, execute: () => Promise.reject(fail('No order 😀'.slice(0, 10))) })
    const { session, clock } = await open([cut])
    const end = await after(session.run([{ id: '1', name: 'cut' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure' }] })
  })
  test('CALL-2: fail() with a raw that has no JSON form', async () => {
    const raw = tool({
      name: 'raw',
      description: 'd',
      input,
      execute: () => Promise.reject(fail('no', { raw: { ratio: 0 / 0 } })),
    })
    const { session, clock } = await open([raw])
    const end = await after(session.run([{ id: '1', name: 'raw' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure' }] })
  })
  test('CALL-2: a body that uses the ctx of an earlier call', async () => {
    let first: ToolContext | undefined
    const sticky = tool({
      name: 'sticky',
      description: 'caches the first ctx it sees, as a module-level singleton does',
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => {
        first ??= ctx
        return first.step('a', () => 1)
      },
    })
    const { session, clock } = await open([sticky])
    await after(session.run([{ id: '1', name: 'sticky' }]), clock)
    const end = await after(session.run([{ id: '2', name: 'sticky' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { class: 'internal' } }] })
  })
  test('CALL-2: a body whose own, other Pawl runtime is closed', async () => {
    const other = await createRuntime({ store: 'memory:', logger: quiet })
    await other.close()
    const bridge = tool({
      name: 'bridge',
      description: 'd',
      input,
      execute: async () => {
        await other.session('x').run([{ id: '1', name: 'y' }])
        return 'done'
      },
    })
    const { session, clock } = await open([bridge])
    const end = await after(session.run([{ id: '1', name: 'bridge' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { class: 'internal' } }] })
  })
  test('WAIT-1: a later of another call is returned', async () => {
    let foreign: unknown
    let key = ''
    const maker = tool({
      name: 'maker',
      description: 'd',
      input,
      execute: async (_, ctx) => {
        const later = await ctx.later({ deadline: '1m' })
        foreign = later
        key = later.key
        return later
      },
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

describe('stray rejections that Pawl itself makes', () => {
  const stray: unknown[] = []
  const note = (reason: unknown): void => void stray.push(reason)
  afterEach(() => void process.off('unhandledRejection', note))
  test('WAIT-1: a later inside a returned object does not kill the process', async () => {
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', note)
    try {
      const nested = tool({
        name: 'nested',
        description: 'd',
        input,
        execute: async (_, ctx) => ({ ticket: await ctx.later() }) as unknown as string,
      })
      const { session, clock } = await open([nested])
      await after(session.run([{ id: '1', name: 'nested' }]), clock, 20_000)
      await new Promise((resolve) => setImmediate(resolve))
      expect(stray.map((e) => (e as PawlError).code)).toEqual([])
    } finally {
      for (const each of others) process.on('unhandledRejection', each)
    }
  })
})

// Decision 0005: "calling it failed invites the model to try again, which is the same [as charging twice]". A reconcile that cannot look (the
// provider is down, usual after a crash; or it returns null for "found nothing") knows nothing, so the honest outcome is unknown.
describe('reconcile that cannot look', () => {
  for (const [name, reconcile] of [
    ['throws', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['returns null', () => null],
  ] as const) {
    test(`DUR-3: reconcile that ${name}: the outcome is unknown, not a failure`, async () => {
      const { clock, store } = freshMemory()
      const charge = tool({
        name: 'charge',
        description: 'd',
        input,
        reconcile: reconcile as never,
        execute: () => new Promise<string>(() => {}),
      })
      const one = await createRuntime({ store, clock, tools: [charge], logger: quiet })
      one
        .session('s')
        .run([{ id: '1', name: 'charge' }])
        .catch(() => {})
      await clock.advance(100)
      const closing = one.close({ grace: 0 })
      await clock.advance(100)
      await closing
      const two = await createRuntime({ store, clock, tools: [charge], logger: quiet })
      const end = await after(two.session('s').run([{ id: '1', name: 'charge' }]), clock)
      expect(end).toMatchObject({ value: [{ status: 'unknown' }] })
    })
  }
})

// WAIT-2 names four answers; `invalid{problems}` is one of them, and it is marked built. resolve() throws instead.
test('WAIT-2: a malformed answer is answered with invalid and its problems', async () => {
  const { runtime } = await open([])
  const answer = await runtime.resolve('pawl_x', {} as never).catch((error: unknown) => error)
  expect(answer).toMatchObject({ answer: 'invalid' })
})
