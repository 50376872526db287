// One read or write of the store fails while calls are cancelled or while a batch keeps its order.
import { type CallOutcome, createRuntime, fail, type Runtime, tool } from 'pawl'
import type { ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, type Faults, faulty, lost, quiet } from '../../kit/stores/fresh-store.ts'
import { rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { closeDuringCall } from '../../kit/interrupted-calls.ts'
import { stores } from '../../kit/open-runtime.ts'

const input = { type: 'object' } as const
const hour = 3_600_000

/** Starts a call in session `s` and aborts its batch 10 ms later, after `before`. */
async function abortSoon(
  runtime: Runtime,
  clock: ManualClock,
  name: string,
  before: () => void,
): Promise<{ ended: Promise<CallOutcome[]> }> {
  const stop = new AbortController()
  const ended = runtime.session('s').run([{ id: '1', name }], { signal: stop.signal })
  await clock.advance(10)
  before()
  stop.abort(new Error('enough'))
  return { ended }
}

for (const [kind, fresh] of stores) {
  describe(`cancels during a store outage on ${kind}`, () => {
    for (const read of ['call', 'wait'] as const) {
      test(`TIME-3 CALL-2: cancelling a parked call ends the batch although store.${read} fails once`, async () => {
        const { clock, store } = fresh()
        let failing = 0
        const faults: Faults = { on: { [read]: () => (failing-- > 0 ? lost() : undefined) } }
        const t = tool({ name: 't', description: 'd', input, execute: async (_, ctx) => ctx.later({ deadline: '7d' }) })
        const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
        const { ended: run } = await abortSoon(runtime, clock, 't', () => (failing = 1))
        await clock.advance(10)
        expect(failing).toBe(0)
        expect(await after(run, clock, hour)).not.toBe('hangs')
      })
    }
    test('TIME-3 CALL-2: cancelling a parked call ends the batch although its write fails once', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { onCommit: (change) => (change.resolveWait && failing-- > 0 ? lost() : undefined) }
      const t = tool({ name: 't', description: 'd', input, execute: async (_, ctx) => ctx.later({ deadline: '7d' }) })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const { ended: run } = await abortSoon(runtime, clock, 't', () => (failing = 1))
      expect(await after(run, clock, hour)).not.toBe('hangs')
    })
    test('CALL-3 CALL-2: onFailure stop ends a batch with a parked sibling although one read fails', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { on: { call: () => (failing-- > 0 ? lost() : undefined) } }
      const parks = simpleTool('parks', { concurrency: 'parallel' }, async (_, ctx) => ctx.later({ deadline: '7d' }))
      const bad = rerunTool('bad', { concurrency: 'parallel' }, async (_, ctx) => {
        await ctx.sleep('1s')
        failing = 1
        throw fail('no', { code: 'no' })
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
    test('TIME-3: cancelling a call also cancels its parked nested call although one read fails', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { on: { call: () => (failing-- > 0 ? lost() : undefined) } }
      const inner = rerunTool('inner', async (_, ctx) => ctx.later({ deadline: '7d' }))
      const outer = rerunTool('outer', async (_, ctx) => (await ctx.call(inner, {})).status)
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [inner, outer], logger: quiet })
      const { ended: run } = await abortSoon(runtime, clock, 'outer', () => (failing = 1))
      expect(await after(run, clock, hour)).toMatchObject({ value: [{ status: 'cancelled' }] })
      await clock.advance('1h')
      expect(
        (await store.unsettled({ after: '', limit: 10 })).map(({ tool: name, state }) => `${name} ${state}`),
      ).toEqual([])
    })
    test('TIME-3 DUR-3: a cancel of a recovered call that could not be read yet is not lost', async () => {
      const { clock, store } = fresh()
      const t = rerunTool(
        't',
        { timeout: '10h' },
        (_, ctx) =>
          new Promise<string>((_resolve, reject) =>
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
          ),
      )
      const one = await createRuntime({ store: { ...store, close: async () => {} }, clock, tools: [t], logger: quiet })
      await closeDuringCall(one, clock, { id: '1', name: 't' })
      let failing = 1
      const faults: Faults = { on: { steps: () => (failing-- > 0 ? lost() : undefined) } }
      const two = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      expect(failing).toBe(0)
      const stop = new AbortController()
      const run = two.session('s').run([{ id: '1', name: 't' }], { signal: stop.signal })
      stop.abort(new Error('enough')) // this worker owns the call but does not drive it until the next sweep
      expect(await after(run, clock, hour)).not.toBe('hangs')
    })
    test("WAIT-4: a cancel whose write fails once ends the call later and runs the tool's cancel", async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = {
        onCommit: (change) => (change.steps?.some(({ key }) => key === 'cancel') && failing-- > 0 ? lost() : undefined),
      }
      let told = 0
      const t = rerunTool(
        't',
        { cancel: () => void told++ },
        async (_, ctx) => (await ctx.later<string>({ deadline: '7d' })).value,
      )
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const { ended: run } = await abortSoon(runtime, clock, 't', () => (failing = 1))
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

  describe(`batch order during a store outage on ${kind}`, () => {
    const order = async (
      faultsOf: (armed: { failing: number }) => Faults,
      onFailure: 'continue' | 'stop',
    ): Promise<{ did: string[]; ends: unknown }> => {
      const { clock, store } = fresh()
      const did: string[] = []
      const armed = { failing: 1 }
      const first = rerunTool('first', async () => {
        did.push('first')
        if (onFailure === 'stop') throw fail('no', { code: 'no' })
        return 'first'
      })
      const second = tool({ name: 'second', description: 'd', input, execute: () => void did.push('second') })
      const runtime = await createRuntime({
        store: faulty(store, faultsOf(armed)),
        clock,
        tools: [first, second],
        logger: quiet,
      })
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
    test('SCHED-1: a failed read of the first barrier does not let the second run before it', async () => {
      const { did } = await order(
        (armed) => ({ on: { callAt: () => (armed.failing-- > 0 ? lost() : undefined) } }),
        'continue',
      )
      expect(did).toEqual(['first', 'second'])
    })
    test('SCHED-1 CALL-3: onFailure stop still applies if the write of the first outcome fails once', async () => {
      const { did } = await order(
        (armed) => ({
          onCommit: (change) =>
            change.updateCall?.progress.state === 'settled' && armed.failing-- > 0 ? lost() : undefined,
        }),
        'stop',
      )
      expect(did).not.toContain('second')
    })
  })
}
