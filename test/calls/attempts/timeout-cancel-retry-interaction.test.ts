// Timeouts, cancels and retries in combination.

import { createRuntime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { argumentTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'

const empty = z.object({})
const never = (): Promise<never> => new Promise(() => {})

onEachStore('timeouts, cancels and retries together', (bench) => {
  test('TIME-1: a call whose deadline ends the retries says that an attempt may still run', async () => {
    const clock = manualClock()
    const hang = simpleTool(
      'hang',
      {
        hints: { idempotent: true },
        timeout: { attempt: '10s', total: '10500ms' },
        retry: { attempts: 3, base: '30s', cap: '30s' },
      },
      never,
    )
    const runtime = await bench.open([hang], { clock })
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'hang' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { class: 'timeout', mayStillRun: true } }] })
  })

  test('TIME-1 TIME-3: a call cancelled between attempts says that an attempt may still run', async () => {
    const clock = manualClock()
    const hang = simpleTool(
      'hang',
      {
        hints: { idempotent: true },
        timeout: '10s',
        retry: { attempts: 3, base: '1h', cap: '1h' },
      },
      never,
    )
    const runtime = await bench.open([hang], { clock })
    const call = runtime.session('s').call(hang, {})
    await clock.advance('11s') // timed out and abandoned; waits for the next attempt
    await call.cancel()
    await clock.advance('1s')
    expect(await call.outcome).toMatchObject({ status: 'cancelled', cancellation: { mayStillRun: true } })
  })

  test('TIME-1: a failure after an abandoned attempt says that this attempt may still run', async () => {
    const clock = manualClock()
    let attempts = 0
    const hang = simpleTool(
      'hang',
      {
        hints: { idempotent: true },
        timeout: '10s',
        retry: { attempts: 2, base: 0 },
      },
      () => {
        if (++attempts === 1) return never()
        throw new Error('second')
      },
    )
    const runtime = await bench.open([hang], { clock })
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'hang' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', attempts: 2, failure: { mayStillRun: true } }] })
  })

  test('TIME-2: the attempt timeout pauses while a nested call is parked', async () => {
    const clock = manualClock()
    let key = ''
    const wait = rerunTool('wait', async (_, ctx) => {
      const later = await ctx.later<string>({ deadline: '1d' })
      key = later.key
      return later
    })
    const parent = rerunTool('parent', async (_, ctx) => (await ctx.call(wait, {})).status)
    const runtime = await bench.open([wait, parent], { clock })
    const run = runtime.session('s').run([{ id: 'p', name: 'parent' }])
    await clock.advance('1h')
    await runtime.resolve(key, { value: 'signed' })
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success', value: 'success' }] })
  })

  test('TIME-2: the attempt timeout pauses while a nested call sleeps', async () => {
    const clock = manualClock()
    const nap = rerunTool('nap', (_, ctx) => ctx.sleep('1h'))
    const parent = rerunTool('parent', async (_, ctx) => (await ctx.call(nap, {})).status)
    const runtime = await bench.open([nap, parent], { clock })
    const run = runtime.session('s').run([{ id: 'p', name: 'parent' }])
    expect(await after(run, clock, 7_200_000, 60_000)).toMatchObject({
      value: [{ status: 'success', value: 'success' }],
    })
  })

  test('TIME-1 SCHED-4: when a body times out, its nested calls are aborted', async () => {
    const clock = manualClock()
    let aborted = false
    const child = simpleTool(
      'child',
      { description: 'Listens to its signal', timeout: '1d' },
      (_, ctx) =>
        new Promise<void>((_, reject) =>
          ctx.signal.addEventListener('abort', () => {
            aborted = true
            reject(ctx.signal.reason)
          }),
        ),
    )
    const parent = simpleTool('parent', { timeout: '10s' }, async (_, ctx) => {
      if ((await ctx.call(child, {})).status !== 'success') throw new Error('not done')
    })
    const runtime = await bench.open([child, parent], { clock })
    const end = await after(runtime.session('s').run([{ id: 'p', name: 'parent' }]), clock)
    await clock.advance('1m')
    expect(end).toMatchObject({ value: [{ failure: { code: 'attempt_timeout' } }] })
    expect(aborted).toBe(true)
  })

  test('TIME-3: cancelling a session cancels calls that were just submitted', async () => {
    const clock = manualClock()
    const hang = tool({ name: 'hang', description: 'Hangs', input: empty, execute: never })
    const runtime = await bench.open([hang], { clock })
    const s = runtime.session('s')
    const run = s.run([{ id: 'a', name: 'hang' }])
    await s.cancel()
    await clock.advance('1s')
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'cancelled' }] })
  })

  test('TIME-1: a cancelled call leaves no timer of a step retry behind', async () => {
    const clock = manualClock()
    const stepping = rerunTool('stepping', (_, ctx) =>
      ctx.step(
        'x',
        () => {
          throw new Error('no')
        },
        { retry: { attempts: 5, delay: '30s' } },
      ),
    )
    const runtime = await bench.open([stepping], { clock })
    const call = runtime.session('s').call(stepping, {})
    await clock.advance('1s')
    const before = clock.pending
    await call.cancel()
    await clock.advance('1s')
    expect((await call.outcome).status).toBe('cancelled')
    expect([before > 0, clock.pending]).toEqual([true, 0])
  })
})

test('TIME-3 SCHED-3: a body never starts after a cancel, whenever the cancel arrives', async () => {
  const startedLate: number[] = []
  for (let moment = 0; moment < 40; moment++) {
    let go = (): void => {}
    let cancelled = false
    const keyed = argumentTool(
      'keyed',
      z.object({ n: z.string() }),
      { onCrash: 'rerun', concurrency: { key: () => 'k' } },
      ({ n }) => {
        if (n === 'a') return new Promise<void>((resolve) => (go = resolve))
        if (cancelled) startedLate.push(moment)
        return undefined
      },
    )
    const runtime = await createRuntime({ store: 'memory:', tools: [keyed], logger: quiet })
    const s = runtime.session('s')
    const a = s.call(keyed, { n: 'a' })
    const b = s.call(keyed, { n: 'b' })
    await new Promise((resolve) => setImmediate(resolve))
    go()
    for (let i = 0; i < moment; i++) await Promise.resolve()
    cancelled = true
    await b.cancel()
    await Promise.all([a.outcome, b.outcome])
    await runtime.close({ grace: 0 })
  }
  expect(startedLate).toEqual([])
})

/** A memory store whose durable writes can be delayed. */
function slowStore(): { store: Store; hold(): void; letGo(): void } {
  const store = memoryStore({ clock: manualClock() })
  let held: (() => void)[] | null = null
  return {
    store: {
      ...store,
      write(change, heard, how) {
        if (held && !how?.ride) held.push(() => store.write(change, heard, how))
        else store.write(change, heard, how)
      },
    },
    hold: () => void (held = []),
    letGo: () => {
      const all = held ?? []
      held = null
      for (const go of all) go()
    },
  }
}

test('TIME-3 CALL-3: a call cancelled while its start is written does not run its body', async () => {
  const clock = manualClock()
  const slow = slowStore()
  let started = 0
  let aborted: boolean | undefined
  const effect = simpleTool('effect', { description: 'Must not run twice' }, async (_, ctx) => {
    started++
    await new Promise((resolve) => setImmediate(resolve))
    aborted = ctx.signal.aborted
  })
  const runtime = await createRuntime({ store: slow.store, tools: [effect], clock, logger: quiet })
  slow.hold()
  const call = runtime.session('s').call(effect, {})
  await clock.advance(0)
  await call.cancel('no longer wanted')
  await clock.advance(0)
  slow.letGo()
  const end = await after(call.outcome, clock)
  await runtime.close({ grace: 0 })
  expect({ started, aborted }).toEqual({ started: 0, aborted: undefined })
  expect(end).toMatchObject({ value: { status: 'cancelled' } })
})
