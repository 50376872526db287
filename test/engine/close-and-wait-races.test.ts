import { createRuntime, type PawlError, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { after, freshMemory, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const

/** A store whose commits reach it in order, but only while the gate is open. */
function gated(store: Store): { store: Store; shut(): void; open(): void; waiting(): number } {
  const queue: (() => void)[] = []
  let shut = false
  return {
    store: {
      ...store,
      commit: (change) =>
        shut ? new Promise((resolve, reject) => queue.push(() => void store.commit(change).then(resolve, reject))) : store.commit(change),
      write: (change, heard, how) => void (shut ? queue.push(() => store.write(change, heard, how)) : store.write(change, heard, how)),
    },
    shut: () => void (shut = true),
    open() {
      shut = false
      for (const go of queue.splice(0)) go()
    },
    waiting: () => queue.length,
  }
}

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`races on ${kind}`, () => {
    test('WAIT-1: close() while a call parks leaves it parked', async () => {
      const { clock, store } = fresh()
      const gate = gated(store)
      let key = ''
      let runs = 0
      const sign = tool({
        name: 'sign',
        description: 'd',
        input,
        execute: async (_, ctx) => {
          runs++
          const later = await ctx.later<string>({ deadline: '3d' })
          key = later.key
          gate.shut() // the disk is slow from here on
          return later
        },
      })
      const one = await createRuntime({ store: gate.store, clock, tools: [sign], logger: quiet })
      one
        .session('s')
        .run([{ id: '1', name: 'sign' }])
        .catch(() => {})
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

    test('DUR-13: close() gives grace to a step that runs beside a wait', async () => {
      const { clock, store } = fresh()
      let charges = 0
      let charged = (): void => {}
      const both = tool({
        name: 'both',
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: async (_, ctx) => {
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
        },
      })
      const one = await createRuntime({ store, clock, tools: [both], logger: quiet })
      one
        .session('s')
        .run([{ id: '1', name: 'both' }])
        .catch(() => {})
      await clock.advance(50)
      const closing = one.close({ grace: '5s' })
      await clock.advance(1_000)
      charged() // one second later, well within the grace
      await clock.advance(10_000)
      await closing
      const two = await createRuntime({ store, clock, tools: [both], logger: quiet })
      await clock.advance(1_000)
      expect(charges).toBe(1)
      await two.close({ grace: 0 }).catch(() => {})
    })

    test('DUR-7: a step that tries again stops trying when the call was handed back', async () => {
      const { clock, store } = fresh()
      let tries = 0
      const flaky = tool({
        name: 'flaky',
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: async (_, ctx) =>
          ctx.step(
            'pay',
            () => {
              tries++
              throw new Error('busy')
            },
            { retry: { attempts: 5, delay: '1s' } },
          ),
      })
      const one = await createRuntime({ store, clock, tools: [flaky], logger: quiet })
      one
        .session('s')
        .run([{ id: '1', name: 'flaky' }])
        .catch(() => {})
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
  test('CALL-6: the same batch on both: both get the outcome', async () => {
    const { clock, store } = freshMemory()
    const t = tool({
      name: 't',
      description: 'd',
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => {
        await ctx.sleep('1s')
        return 'done'
      },
    })
    const a = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const b = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const runA = a.session('s').run([{ id: '1', name: 't' }])
    await clock.advance(100)
    const runB = b.session('s').run([{ id: '1', name: 't' }])
    expect(await after(runA, clock)).toMatchObject({ value: [{ status: 'success' }] })
    expect(await after(runB, clock)).toMatchObject({ value: [{ status: 'success' }] })
  })
  test('WAIT-2: an answer given through one wakes the body that waits in the other', async () => {
    const { clock, store } = freshMemory()
    let key = ''
    const t = tool({
      name: 't',
      description: 'd',
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => {
        const later = await ctx.later<string>({ deadline: '3d' })
        key = later.key
        return later.value
      },
    })
    const a = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const b = await createRuntime({ store, clock, tools: [t], logger: quiet })
    const run = a.session('s').run([{ id: '1', name: 't' }])
    await clock.advance(100)
    expect(await b.resolve(key, { value: 'x' })).toEqual({ answer: 'accepted' })
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success', value: 'x' }] })
  })
})

// DUR-5: deadlines are instants. Timers are armed with the distance at the time; after the wall clock was set (NTP, a suspended laptop:
// setTimeout does not count the time asleep) nobody looks at the instants again until the old distance has passed.
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

// Feed: return() of an async generator that stands in `await news` waits for the next commit of anybody.
// A reader that races next() with a timeout and then gives up hangs. Fix: hand out an iterator whose return() wakes the wait.
test('FEED-1: a reader that gives up while nothing comes is let go', async () => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet })
  const reader = runtime.events()[Symbol.asyncIterator]()
  void reader.next()
  await clock.advance(10)
  expect(await after(Promise.resolve(reader.return?.()), clock, 1_000, 100)).not.toBe('hangs')
  void (0 as unknown as PawlError)
})
