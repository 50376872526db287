// A body that cannot reacquire its key because of a deadlock.

import { createRuntime, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { after, quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})
const pass = (clock: ManualClock, ms: number): Promise<void> => new Promise((resolve) => void clock.timer(ms, resolve))

/**
 * r calls c and d; c has key k and calls g, which sleeps, so k is free; x takes k and calls y, which needs r's key.
 * Then g wakes.
 */
async function circle(clock: ManualClock, afterwards: () => Promise<unknown>) {
  const held: string[] = []
  const common = { description: 'x', input: empty, onCrash: 'rerun' as const }
  const keyed = (key: string) => ({ ...common, concurrency: { key: () => key } })
  const g = tool({ ...common, concurrency: 'parallel', name: 'g', execute: (_, ctx) => ctx.sleep('10s') })
  const d = tool({ ...common, concurrency: 'parallel', name: 'd', execute: () => pass(clock, 30_000) })
  const y = tool({ ...keyed('r'), name: 'y', execute: () => 'y' })
  const c = tool({
    ...keyed('k'),
    name: 'c',
    async execute(_, ctx) {
      await ctx.call(g, {})
      held.push('c goes on')
      return afterwards()
    },
  })
  const x = tool({
    ...keyed('k'),
    name: 'x',
    async execute(_, ctx) {
      held.push('x has k')
      await ctx.call(y, {})
      await pass(clock, 5_000)
      held.push('x is through with k')
    },
  })
  const r = tool({
    ...keyed('r'),
    name: 'r',
    timeout: '1h',
    execute: (_, ctx) =>
      ctx.run([
        { id: 'c', name: 'c' },
        { id: 'd', name: 'd' },
      ]) as Promise<never>,
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [g, d, y, c, x, r], clock, logger: quiet })
  const s = runtime.session('s')
  const first = s.run([{ id: 'r', name: 'r' }])
  await clock.advance('1s')
  const second = s.run([{ id: 'x', name: 'x' }])
  return { runtime, held, both: Promise.all([first, second]) }
}

// Regression: the rejection reached g, which needs no key, and its sleep failed; c continued without the key that x
// held.
test('SCHED-2 SCHED-4: a body that cannot reacquire its key does not continue without it', async () => {
  const clock = manualClock()
  const { runtime, held, both } = await circle(clock, async () => 'c')
  await after(both, clock, 300_000, 1_000)
  await runtime.close({ grace: 0 })
  const order = held.filter((each) => each !== 'x has k')
  expect(order.indexOf('c goes on') === -1 || order.indexOf('c goes on') > order.indexOf('x is through with k')).toBe(
    true,
  )
})

// Regression: the timeouts were resumed only after the key was reacquired, so that a body without it had none.
test('TIME-1 SCHED-4: a body that cannot reacquire its key still has its attempt timeout', async () => {
  const clock = manualClock()
  const { runtime, both } = await circle(clock, () => new Promise(() => {}))
  const end = await after(both, clock, 600_000, 1_000)
  await runtime.close({ grace: 0 })
  expect(end).not.toBe('hangs')
})
