// What happens when one write fails, and the store is back a moment later.
import { createRuntime, PawlError, tool, type ToolContext } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { type Faults, after, faulty, freshMemory, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const lost = (): never => {
  throw new PawlError('store_unavailable', 'planted')
}

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`one failed write on ${kind}`, () => {
    for (const onCrash of ['rerun', 'stop'] as const) {
      test(`CALL-2: the outcome of a ${onCrash} tool cannot be written once: the same batch asked again ends`, async () => {
        const { clock, store } = fresh()
        let failed = false
        const faults: Faults = {
          onCommit: (change) => {
            if (change.updateCall?.progress.state === 'settled' && !failed) {
              failed = true
              lost()
            }
          },
        }
        const t = tool({ name: 't', description: 'd', input, onCrash, execute: () => 'done' })
        const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
        const ask = () => runtime.session('s').run([{ id: '1', name: 't' }])
        expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
        expect(await after(ask(), clock)).not.toBe('hangs')
      })
    }
    test('CALL-2: the end of a step cannot be written once: the same batch asked again ends', async () => {
      const { clock, store } = fresh()
      let failed = false
      const faults: Faults = {
        onCommit: (change) => {
          if (change.steps && !failed) {
            failed = true
            lost()
          }
        },
      }
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', execute: async (_, ctx) => ctx.step('a', () => 1) })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const ask = () => runtime.session('s').run([{ id: '1', name: 't' }])
      expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
      expect(await after(ask(), clock)).toMatchObject({ value: [{ status: 'success' }] })
    })
    test('WAIT-2: an answer is on record and its writer is told that it failed: the body that waits hears of it all the same', async () => {
      const { clock, store } = fresh()
      const unsure: Store = {
        ...store,
        commit: (change) => (change.resolveWait ? store.commit(change).then(lost) : store.commit(change)),
      }
      let key = ''
      const execute = async (_: unknown, ctx: ToolContext): Promise<string> => {
        const later = await ctx.later<string>({ deadline: '1m' })
        key = later.key
        return later.value.catch((error: Error & { code: string }) => error.code)
      }
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', execute })
      const runtime = await createRuntime({ store: unsure, clock, tools: [t], logger: quiet })
      const run = (id: string) => runtime.session('s').run([{ id, name: 't' }])
      const answered = run('1')
      await clock.advance(10)
      await expect(runtime.resolve(key, { value: 'yes' })).rejects.toMatchObject({ code: 'store_unavailable' })
      expect(await after(answered, clock)).toMatchObject({ value: [{ value: 'yes' }] })
      expect(await after(run('2'), clock)).toMatchObject({ value: [{ value: 'wait_timeout' }] })
    })
    test('CALL-2: the answer came before the call could park, and what is on record cannot be read at that moment: it is landed all the same', async () => {
      const { clock, store } = fresh()
      let bodies = 0
      let failures = 0
      const faults: Faults = { on: { steps: () => (bodies === 1 && failures++ === 0 ? lost() : undefined) } }
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        async execute(_, ctx) {
          const later = await ctx.later<string>()
          await runtime.resolve(later.key, { value: 'yes' })
          bodies++
          return later
        },
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const ended = await after(runtime.session('s').run([{ id: '1', name: 't' }]), clock)
      expect(failures).toBeGreaterThan(0)
      expect(ended).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
    })
    test('WAIT-2 CALL-2: a wait cannot be read once, by the body that comes to it or when another worker has answered: the body hears of it', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { on: { wait: () => (failing-- > 0 ? lost() : undefined) } }
      let key = ''
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        async execute(_, ctx) {
          const later = await ctx.later<string>()
          key = later.key
          failing = 1
          return later.value
        },
      })
      const one = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const two = await createRuntime({ store, clock, logger: quiet })
      const run = one.session('s').run([{ id: '1', name: 't' }])
      await clock.advance('30s')
      failing = 1
      expect(await two.resolve(key, { value: 'yes' })).toEqual({ answer: 'accepted' })
      expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
    })
    test('CALL-2: a call under another is lost with the store: neither ends by it, caught or not', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { onCommit: (change) => (change.steps && failing-- > 0 ? lost() : undefined) }
      const inner = tool({ name: 'inner', description: 'd', input, onCrash: 'rerun', execute: async (_, ctx) => ctx.step('a', () => 1) })
      const outer = tool({
        name: 'outer',
        description: 'd',
        input,
        onCrash: 'rerun',
        concurrency: 'parallel',
        async execute({ catches }, ctx) {
          const calling = ctx.call(inner, {})
          const outcome = await (catches ? calling.catch(() => null) : calling)
          return outcome?.status ?? 'not known'
        },
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [inner, outer], logger: quiet })
      for (const catches of [false, true]) {
        const ask = () => runtime.session('s').run([{ id: String(catches), name: 'outer', input: { catches } }])
        failing = 1
        expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
        expect(await after(ask(), clock)).toMatchObject({ value: [{ status: 'success', value: 'success' }] })
      }
    })
    // Decision 0002: "Losing the store … ends the execution, never the call." Here a body that catches (as bodies do around a payment) takes
    // the loss of the store for a failed payment and the call settles on it.
    test('CALL-2: a body that catches the loss of the store does not decide the call on it', async () => {
      const { clock, store } = fresh()
      let failed = false
      const faults: Faults = {
        onCommit: (change) => {
          if (change.steps && !failed) {
            failed = true
            lost()
          }
        },
      }
      let paid = 0
      const pay = tool({
        name: 'pay',
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: async (_, ctx) => {
          try {
            return await ctx.step('pay', () => ++paid)
          } catch {
            return 'not paid'
          }
        },
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [pay], logger: quiet })
      const end = await after(runtime.session('s').run([{ id: '1', name: 'pay' }]), clock)
      expect(end).not.toMatchObject({ value: [{ value: 'not paid' }] })
    })
    test('CALL-2: a lost call is reported although a sibling is parked', async () => {
      const { clock, store } = fresh()
      const faults: Faults = {
        onCommit: (change) => {
          if (change.updateCall?.progress.state === 'settled') lost()
        },
      }
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', execute: () => 'done' })
      const p = tool({ name: 'p', description: 'd', input, execute: async (_, ctx) => ctx.later({ deadline: '7d' }) })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t, p], logger: quiet })
      const run = runtime.session('s').run([
        { id: '1', name: 't' },
        { id: '2', name: 'p' },
      ])
      expect(await after(run, clock)).toMatchObject({ error: { code: 'store_unavailable' } })
    })
  })
}

test('CALL-2: the store does not answer while a late worker checks its lease: that is no outcome of the tool', async () => {
  const { clock, store } = freshMemory()
  let broken = false
  const io = (): void => {
    if (broken) throw new Error('disk I/O error')
  }
  const faults: Faults = { on: { renew: io, callAt: io } }
  let release = (): void => {}
  const t = tool({
    name: 't',
    description: 'd',
    input,
    onCrash: 'rerun',
    timeout: '1h',
    execute: async (_, ctx) => {
      await new Promise<void>((resolve) => (release = resolve))
      return ctx.step('a', () => 1)
    },
  })
  const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
  const run = runtime.session('s').run([{ id: '1', name: 't' }])
  run.catch(() => {})
  await clock.advance(10)
  broken = true
  await clock.advance('2m') // the lease runs out: no renewal gets through
  release()
  await clock.advance(10)
  broken = false
  const end = await after(run, clock, 60_000)
  expect(end).not.toMatchObject({ value: [{ status: 'failure' }] })
})

describe('opening and closing', () => {
  test('DUR-3: a runtime whose first read of a call fails takes it up when the store answers', async () => {
    const { clock, store } = freshMemory()
    const t = tool({
      name: 't',
      description: 'd',
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => (ctx.attempt > 1 ? 'done' : new Promise<string>(() => {})),
    })
    const one = await createRuntime({ store, clock, tools: [t], logger: quiet })
    one
      .session('s')
      .run([{ id: '1', name: 't' }])
      .catch(() => {})
    await clock.advance(100)
    const closing = one.close({ grace: 0 })
    await clock.advance(100)
    await closing
    let failed = false
    const faults: Faults = {
      on: {
        steps: () => {
          if (!failed) {
            failed = true
            throw new Error('disk I/O error')
          }
        },
      },
    }
    const two = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
    expect(await after(two.session('s').run([{ id: '1', name: 't' }]), clock)).toMatchObject({ value: [{ status: 'success' }] })
  })
  test('DUR-13: close() with a grace that is no duration is refused, and close() then works', async () => {
    const { clock, store } = freshMemory()
    const runtime = await createRuntime({ store, clock, logger: quiet })
    await expect(runtime.close({ grace: 'soon' })).rejects.toThrow()
    await expect(runtime.close()).resolves.toBeUndefined()
  })
  test('DUR-13: close() on a store that is gone still ends feed readers', async () => {
    const { clock, store } = freshMemory()
    const faults: Faults = {
      on: {
        leave: () => {
          throw new Error('gone')
        },
      },
    }
    const runtime = await createRuntime({ store: faulty(store, faults), clock, logger: quiet })
    const reading = (async () => {
      for await (const _ of runtime.events()) void _
      return 'ended'
    })()
    await clock.advance(10)
    await runtime.close().catch(() => {})
    expect(await after(reading, clock, 1000, 100)).toEqual({ value: 'ended' })
  })
})
