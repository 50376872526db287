// A single write or read fails, and the store works again afterwards.
import { createRuntime, tool, type ToolContext } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Change, Store } from '../../src/store/store.ts'
import { after, type Faults, faulty, freshMemory, lost, quiet } from '../kit/stores/fresh-store.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { closeDuringCall } from '../kit/interrupted-calls.ts'
import { stores } from '../kit/open-runtime.ts'

const input = { type: 'object' } as const

/** The first write that matches fails. */
function loseFirst(matches: (change: Change) => unknown): Faults {
  let failed = false
  return {
    onCommit(change) {
      if (failed || !matches(change)) return
      failed = true
      lost()
    },
  }
}

for (const [kind, fresh] of stores) {
  describe(`one failed write on ${kind}`, () => {
    for (const onCrash of ['rerun', 'stop'] as const) {
      test(`CALL-2: the outcome of a ${onCrash} tool fails to commit once; resubmitting ends the call`, async () => {
        const { clock, store } = fresh()
        const faults = loseFirst((change) => change.updateCall?.progress.state === 'settled')
        const t = tool({ name: 't', description: 'd', input, onCrash, execute: () => 'done' })
        const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
        const ask = () => runtime.session('s').run([{ id: '1', name: 't' }])
        expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
        expect(await after(ask(), clock)).not.toBe('hangs')
      })
    }
    test('CALL-2: the end of a step fails to commit once; resubmitting the batch ends the call', async () => {
      const { clock, store } = fresh()
      const faults = loseFirst((change) => change.steps)
      const t = rerunTool('t', async (_, ctx) => ctx.step('a', () => 1))
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const ask = () => runtime.session('s').run([{ id: '1', name: 't' }])
      expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
      expect(await after(ask(), clock)).toMatchObject({ value: [{ status: 'success' }] })
    })
    test('WAIT-2: a recorded answer reaches the body even if its commit reported a failure', async () => {
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
    test('CALL-2: an answer before the park is applied although one read of the journal fails', async () => {
      const { clock, store } = fresh()
      let bodies = 0
      let failures = 0
      const faults: Faults = { on: { steps: () => (bodies === 1 && failures++ === 0 ? lost() : undefined) } }
      const t = rerunTool('t', async (_, ctx) => {
        const later = await ctx.later<string>()
        await runtime.resolve(later.key, { value: 'yes' })
        bodies++
        return later
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const ended = await after(runtime.session('s').run([{ id: '1', name: 't' }]), clock)
      expect(failures).toBeGreaterThan(0)
      expect(ended).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
    })
    test('WAIT-2 CALL-2: an answer from another worker arrives although reading the wait fails once', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { on: { wait: () => (failing-- > 0 ? lost() : undefined) } }
      let key = ''
      const t = rerunTool('t', async (_, ctx) => {
        const later = await ctx.later<string>()
        key = later.key
        failing = 1
        return later.value
      })
      const one = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
      const two = await createRuntime({ store, clock, logger: quiet })
      const run = one.session('s').run([{ id: '1', name: 't' }])
      await clock.advance('30s')
      failing = 1
      expect(await two.resolve(key, { value: 'yes' })).toEqual({ answer: 'accepted' })
      expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
    })
    test('CALL-2: a store failure in a nested call settles neither it nor its parent, caught or not', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = { onCommit: (change) => (change.steps && failing-- > 0 ? lost() : undefined) }
      const inner = rerunTool('inner', async (_, ctx) => ctx.step('a', () => 1))
      const outer = rerunTool('outer', { concurrency: 'parallel' }, async ({ catches }, ctx) => {
        const calling = ctx.call(inner, {})
        const outcome = await (catches ? calling.catch(() => null) : calling)
        return outcome?.status ?? 'not known'
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [inner, outer], logger: quiet })
      for (const catches of [false, true]) {
        const ask = () => runtime.session('s').run([{ id: String(catches), name: 'outer', input: { catches } }])
        failing = 1
        expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
        expect(await after(ask(), clock)).toMatchObject({ value: [{ status: 'success', value: 'success' }] })
      }
    })
    // A body may catch errors around a payment. A store failure must end the execution and not the call, or the call
    // would settle as "not paid".
    test('CALL-2: a body that catches a store failure does not settle the call', async () => {
      const { clock, store } = fresh()
      const faults = loseFirst((change) => change.steps)
      let paid = 0
      const pay = rerunTool('pay', async (_, ctx) => {
        try {
          return await ctx.step('pay', () => ++paid)
        } catch {
          return 'not paid'
        }
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [pay], logger: quiet })
      const end = await after(runtime.session('s').run([{ id: '1', name: 'pay' }]), clock)
      expect(end).not.toMatchObject({ value: [{ value: 'not paid' }] })
    })
    test('CALL-2: a store failure is reported although a sibling is parked', async () => {
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

test('CALL-2: a store failure during a lease check does not fail the tool', async () => {
  const { clock, store } = freshMemory()
  let broken = false
  const io = (): void => {
    if (broken) throw new Error('disk I/O error')
  }
  const faults: Faults = { on: { renew: io, callAt: io } }
  let release = (): void => {}
  const t = rerunTool('t', { timeout: '1h' }, async (_, ctx) => {
    await new Promise<void>((resolve) => (release = resolve))
    return ctx.step('a', () => 1)
  })
  const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
  const run = runtime.session('s').run([{ id: '1', name: 't' }])
  run.catch(() => {})
  await clock.advance(10)
  broken = true
  await clock.advance('2m') // the lease expires because no renewal succeeds
  release()
  await clock.advance(10)
  broken = false
  const end = await after(run, clock, 60_000)
  expect(end).not.toMatchObject({ value: [{ status: 'failure' }] })
})

describe('opening and closing', () => {
  test('DUR-3: a runtime whose first read of a call fails recovers it later', async () => {
    const { clock, store } = freshMemory()
    const t = rerunTool('t', async (_, ctx) => (ctx.attempt > 1 ? 'done' : new Promise<string>(() => {})))
    const one = await createRuntime({ store, clock, tools: [t], logger: quiet })
    await closeDuringCall(one, clock, { id: '1', name: 't' })
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
    expect(await after(two.session('s').run([{ id: '1', name: 't' }]), clock)).toMatchObject({
      value: [{ status: 'success' }],
    })
  })
  test('DUR-13: close() rejects an invalid grace period and works afterwards', async () => {
    const { clock, store } = freshMemory()
    const runtime = await createRuntime({ store, clock, logger: quiet })
    await expect(runtime.close({ grace: 'soon' as never })).rejects.toThrow()
    await expect(runtime.close()).resolves.toBeUndefined()
  })
  test('DUR-13: close() ends feed readers although the store fails', async () => {
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
