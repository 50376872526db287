// The store is away for one read or write while calls are cancelled, or while a batch holds its order.
import { createRuntime, fail, PawlError, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { type Faults, after, faulty, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const lost = (): never => {
  throw new PawlError('store_unavailable', 'planted')
}
/** What the docs tell the host to do: ask again after store_unavailable. */
const hour = 3_600_000

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`cancelling while the store is away for a moment, on ${kind}`, () => {
    for (const read of ['call', 'wait'] as const) {
      test(`TIME-3 CALL-2: a parked call is cancelled and store.${read} fails once: the batch ends, as cancelled or with store_unavailable`, async () => {
        const { clock, store } = fresh()
        let failing = 0
        const faults: Faults = { on: { [read]: () => (failing-- > 0 ? lost() : undefined) } }
        const t = tool({ name: 't', description: 'd', input, execute: async (_, ctx) => ctx.later({ deadline: '7d' }) })
        const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
        const stop = new AbortController()
        const run = runtime.session('s').run([{ id: '1', name: 't' }], { signal: stop.signal })
        await clock.advance(10)
        failing = 1
        stop.abort(new Error('enough'))
        await clock.advance(10)
        expect(failing).toBe(0)
        expect(await after(run, clock, hour)).not.toBe('hangs')
      })
    }
    test('TIME-3 CALL-2: the write that cancels a parked call fails once: the batch ends, as cancelled or with store_unavailable', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { onCommit: (change) => (change.resolveWait && failing-- > 0 ? lost() : undefined) }
      const t = tool({ name: 't', description: 'd', input, execute: async (_, ctx) => ctx.later({ deadline: '7d' }) })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const stop = new AbortController()
      const run = runtime.session('s').run([{ id: '1', name: 't' }], { signal: stop.signal })
      await clock.advance(10)
      failing = 1
      stop.abort(new Error('enough'))
      expect(await after(run, clock, hour)).not.toBe('hangs')
    })
    test("CALL-3 CALL-2: onFailure 'stop' and a parked sibling, one read fails: the batch ends, and does not wait 7 days for the sibling", async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { on: { call: () => (failing-- > 0 ? lost() : undefined) } }
      const parks = tool({
        name: 'parks',
        description: 'd',
        input,
        concurrency: 'parallel',
        execute: async (_, ctx) => ctx.later({ deadline: '7d' }),
      })
      const bad = tool({
        name: 'bad',
        description: 'd',
        input,
        onCrash: 'rerun',
        concurrency: 'parallel',
        async execute(_, ctx) {
          await ctx.sleep('1s')
          failing = 1
          throw fail('no', { code: 'no' })
        },
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [parks, bad], logger: quiet })
      const run = runtime.session('s').run(
        [
          { id: '1', name: 'parks' },
          { id: '2', name: 'bad' },
        ],
        { onFailure: 'stop', batch: 'b' },
      )
      expect(await after(run, clock, hour)).not.toBe('hangs')
    })
    test('TIME-3: a call is cancelled whose nested call is parked, and one read fails: the nested one is not left behind', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { on: { call: () => (failing-- > 0 ? lost() : undefined) } }
      const inner = tool({
        name: 'inner',
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: async (_, ctx) => ctx.later({ deadline: '7d' }),
      })
      const outer = tool({
        name: 'outer',
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: async (_, ctx) => (await ctx.call(inner, {})).status,
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [inner, outer], logger: quiet })
      const stop = new AbortController()
      const run = runtime.session('s').run([{ id: '1', name: 'outer' }], { signal: stop.signal })
      await clock.advance(10)
      failing = 1
      stop.abort(new Error('enough'))
      expect(await after(run, clock, hour)).toMatchObject({ value: [{ status: 'cancelled' }] })
      await clock.advance('1h')
      expect((await store.unsettled({ after: '', limit: 10 })).map(({ tool: name, state }) => `${name} ${state}`)).toEqual([])
    })
    test('TIME-3 DUR-3: a recovered call could not be read at first and is cancelled before it is taken up: the cancel is not forgotten', async () => {
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        timeout: '10h',
        execute: (_, ctx) =>
          new Promise<string>((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))),
      })
      const one = await createRuntime({ store: { ...store, close: async () => {} }, clock, tools: [t], logger: quiet })
      one
        .session('s')
        .run([{ id: '1', name: 't' }])
        .catch(() => {})
      await clock.advance(100)
      const closing = one.close({ grace: 0 })
      await clock.advance(100)
      await closing
      let failing = 1
      const faults: Faults = { on: { steps: () => (failing-- > 0 ? lost() : undefined) } }
      const two = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      expect(failing).toBe(0)
      const stop = new AbortController()
      const run = two.session('s').run([{ id: '1', name: 't' }], { signal: stop.signal })
      stop.abort(new Error('enough')) // the call is on record as this worker's; nobody drives it until the next sweep
      expect(await after(run, clock, hour)).not.toBe('hangs')
    })
    test("WAIT-4: the write of a cancel fails and that of its wait does not: the call ends as cancelled and the tool's cancel is told", async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = {
        onCommit: (change) => (change.steps?.some(({ key }) => key === 'cancel') && failing-- > 0 ? lost() : undefined),
      }
      let told = 0
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        cancel: () => void told++,
        execute: async (_, ctx) => (await ctx.later<string>({ deadline: '7d' })).value,
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const stop = new AbortController()
      const run = runtime.session('s').run([{ id: '1', name: 't' }], { signal: stop.signal })
      await clock.advance(10)
      failing = 1
      stop.abort(new Error('enough'))
      expect(await after(run, clock, hour)).toMatchObject({ error: { code: 'store_unavailable' } })
      const again = new AbortController()
      const asked = runtime.session('s').run([{ id: '1', name: 't' }], { signal: again.signal })
      await clock.advance(10)
      again.abort(new Error('enough'))
      const end = await after(asked, clock, hour)
      expect(end).toMatchObject({ value: [{ status: 'cancelled' }] })
      expect(told).toBeGreaterThan(0)
    })
  })

  describe(`the order of a batch while the store is away for a moment, on ${kind}`, () => {
    const order = async (
      faultsOf: (armed: { failing: number }) => Faults,
      onFailure: 'continue' | 'stop',
    ): Promise<{ did: string[]; ends: unknown }> => {
      const { clock, store } = fresh()
      const did: string[] = []
      const armed = { failing: 1 }
      const first = tool({
        name: 'first',
        description: 'd',
        input,
        onCrash: 'rerun',
        async execute() {
          did.push('first')
          if (onFailure === 'stop') throw fail('no', { code: 'no' })
          return 'first'
        },
      })
      const second = tool({ name: 'second', description: 'd', input, execute: () => void did.push('second') })
      const runtime = await createRuntime({ store: faulty(store, faultsOf(armed)), clock, tools: [first, second], logger: quiet })
      const ask = () =>
        runtime.session('s').run(
          [
            { id: '1', name: 'first' },
            { id: '2', name: 'second' },
          ],
          { batch: 'b', onFailure },
        )
      expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
      return { did, ends: await after(ask(), clock) }
    }
    test('SCHED-1: the first of two barriers could not be read once: the second does not run before it', async () => {
      const { did } = await order((armed) => ({ on: { callAt: () => (armed.failing-- > 0 ? lost() : undefined) } }), 'continue')
      expect(did).toEqual(['first', 'second'])
    })
    test("SCHED-1 CALL-3: the outcome of a failed first could not be written once, onFailure 'stop': the second never runs", async () => {
      const { did } = await order(
        (armed) => ({
          onCommit: (change) => (change.updateCall?.progress.state === 'settled' && armed.failing-- > 0 ? lost() : undefined),
        }),
        'stop',
      )
      expect(did).not.toContain('second')
    })
  })
}
