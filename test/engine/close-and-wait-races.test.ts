import { createRuntime, type PawlError, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { stores } from '../kit/open-runtime.ts'

const input = { type: 'object' } as const

/** A store that queues commits in order while its gate is shut. */
function gated(store: Store): { store: Store; shut(): void; open(): void; waiting(): number } {
  const queue: (() => void)[] = []
  let shut = false
  return {
    store: {
      ...store,
      commit: (change) =>
        shut
          ? new Promise((resolve, reject) => queue.push(() => void store.commit(change).then(resolve, reject)))
          : store.commit(change),
      write: (change, heard, how) =>
        void (shut ? queue.push(() => store.write(change, heard, how)) : store.write(change, heard, how)),
    },
    shut: () => void (shut = true),
    open() {
      shut = false
      for (const go of queue.splice(0)) go()
    },
    waiting: () => queue.length,
  }
}

for (const [kind, fresh] of stores) {
  describe(`races of close() and waits on ${kind}`, () => {
    test('WAIT-1: close() while a call parks leaves it parked', async () => {
      const { clock, store } = fresh()
      const gate = gated(store)
      let key = ''
      let runs = 0
      const sign = simpleTool('sign', async (_, ctx) => {
        runs++
        const later = await ctx.later<string>({ deadline: '3d' })
        key = later.key
        gate.shut() // commits hang from here on
        return later
      })
      const one = await createRuntime({ store: gate.store, clock, tools: [sign], logger: quiet })
      ignoreResult(one.session('s').run([{ id: '1', name: 'sign' }]))
      await clock.advance(50)
      const closing = one.close({ grace: 100 })
      await clock.advance(200)
      gate.open()
      await clock.advance(50)
      await closing
      const two = await createRuntime({ store, clock, tools: [sign], logger: quiet })
      const run = two.session('s').run([{ id: '1', name: 'sign' }])
      await clock.advance(50)
      await two.resolve(key, { value: 'signed' })
      expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success', value: 'signed' }] })
      expect(runs).toBe(1)
    })

    test('DUR-13: close() applies the grace period to a step that runs next to a wait', async () => {
      const { clock, store } = fresh()
      let charges = 0
      let charged = (): void => {}
      const both = rerunTool('both', async (_, ctx) => {
        const later = await ctx.later<string>({ deadline: '3d' })
        const [a] = await Promise.all([
          ctx.step('charge', async () => {
            charges++
            if (charges === 1) await new Promise<void>((resolve) => (charged = resolve))
            return 'ok'
          }),
          later.value,
        ])
        return a
      })
      const one = await createRuntime({ store, clock, tools: [both], logger: quiet })
      ignoreResult(one.session('s').run([{ id: '1', name: 'both' }]))
      await clock.advance(50)
      const closing = one.close({ grace: '5s' })
      await clock.advance(1_000)
      charged() // one second later, well within the grace period
      await clock.advance(10_000)
      await closing
      const two = await createRuntime({ store, clock, tools: [both], logger: quiet })
      await clock.advance(1_000)
      expect(charges).toBe(1)
      await two.close({ grace: 0 }).catch(() => {})
    })

    test('DUR-7: a step stops retrying after its call was handed back', async () => {
      const { clock, store } = fresh()
      let tries = 0
      const flaky = rerunTool('flaky', async (_, ctx) =>
        ctx.step(
          'pay',
          () => {
            tries++
            throw new Error('busy')
          },
          { retry: { attempts: 5, delay: '1s' } },
        ),
      )
      const one = await createRuntime({ store, clock, tools: [flaky], logger: quiet })
      ignoreResult(one.session('s').run([{ id: '1', name: 'flaky' }]))
      await clock.advance(100)
      const closing = one.close({ grace: 10 })
      await clock.advance(100)
      await closing
      expect(tries).toBe(1)
      await clock.advance('5m')
      expect(tries).toBe(1)
    })
  })
}

describe('two runtimes on one store object', () => {
  test('CALL-6: the same batch submitted to both returns the outcome on both', async () => {
    const { clock, store } = freshMemory()
    const t = rerunTool('t', async (_, ctx) => {
      await ctx.sleep('1s')
      return 'done'
    })
    const a = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const b = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const runA = a.session('s').run([{ id: '1', name: 't' }])
    await clock.advance(100)
    const runB = b.session('s').run([{ id: '1', name: 't' }])
    expect(await after(runA, clock)).toMatchObject({ value: [{ status: 'success' }] })
    expect(await after(runB, clock)).toMatchObject({ value: [{ status: 'success' }] })
  })
  test('WAIT-2: resolving a wait on one runtime wakes the body on the other', async () => {
    const { clock, store } = freshMemory()
    let key = ''
    const t = rerunTool('t', async (_, ctx) => {
      const later = await ctx.later<string>({ deadline: '3d' })
      key = later.key
      return later.value
    })
    const a = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const b = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const run = a.session('s').run([{ id: '1', name: 't' }])
    await clock.advance(100)
    expect(await b.resolve(key, { value: 'x' })).toEqual({ answer: 'accepted' })
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success', value: 'x' }] })
  })
})

// Deadlines are instants, but timers are armed with a delay. When the wall clock is set or the machine was suspended
// (setTimeout does not count that time), the heartbeat must check the instants again.
test('DUR-5 WAIT-1: a wall clock that jumps over a deadline ends the wait at the next heartbeat', async () => {
  const { clock, store } = freshMemory()
  let shift = 0
  const skewed = { ...clock, now: () => clock.now() + shift }
  const t = tool({ name: 't', description: 'd', input, execute: async (_, ctx) => ctx.later({ deadline: '3d' }) })
  const runtime = await createRuntime({ store, clock: skewed, tools: [t], logger: quiet })
  const run = runtime.session('s').run([{ id: '1', name: 't' }])
  await clock.advance(100)
  shift = 4 * 86_400_000
  expect(await after(run, clock, 3_600_000, 10_000)).toMatchObject({ value: [{ failure: { code: 'wait_timeout' } }] })
})

// return() of an async generator that awaits the next commit would hang until one happens. The iterator's return() must
// therefore wake the wait, so that a reader can stop after a timeout.
test('FEED-1: a feed reader can stop while no event arrives', async () => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet })
  const reader = runtime.events()[Symbol.asyncIterator]()
  void reader.next()
  await clock.advance(10)
  expect(await after(Promise.resolve(reader.return?.()), clock, 1_000, 100)).not.toBe('hangs')
  void (0 as unknown as PawlError)
})
