// Scenarios with waits and sleeps, for a store of which one call fails.
/* oxlint-disable typescript/no-explicit-any -- bodies and inputs of many shapes */

import { expect } from 'vitest'
import { oneCall, rerun, resolveOnce, type Scenario, success, t, type World } from '../kit/fault-scenario.ts'

/** Creates a wait and notes its key, so that the test can resolve it. */
async function openWait(w: World, ctx: any, options?: object): Promise<any> {
  const wait = await ctx.later(options)
  w.key = wait.key
  return wait
}
const parks = (w: World, name = 't', options?: object) => rerun(name, (_, ctx) => openWait(w, ctx, options))
const resolveAfter =
  (seconds: number): NonNullable<Scenario['poke']> =>
  (w, second) =>
    second > seconds ? resolveOnce('yes')(w) : undefined
const announced = { announce: { type: 'x', payload: {} } }
const codeOf = (error: { code: string }): string => error.code

export const waits: Scenario[] = [
  oneCall('parked, answered after', (w) => [parks(w)], success('yes'), { poke: resolveOnce('yes') }),
  oneCall(
    'parked by a stop tool, then resolved',
    (w) => [t('t', { execute: (_: unknown, ctx: any) => (w.did('a'), openWait(w, ctx)) })],
    ([o]) => expect(['success', 'unknown']).toContain(o.status),
    { poke: resolveOnce('yes'), most: { a: 1 } },
  ),
  oneCall(
    'resolved before it parks',
    (w) => [
      rerun('t', async (_, ctx) => {
        const wait = await openWait(w, ctx)
        if (!w.answered) await resolveOnce('yes')(w)
        return wait
      }),
    ],
    success('yes'),
    { poke: resolveOnce('yes') },
  ),
  oneCall('parked with an announcement', (w) => [parks(w, 't', announced)], success('yes'), {
    poke: resolveAfter(20),
    least: { announced: 1 },
  }),
  oneCall('parked until its deadline', () => [rerun('t', async (_, ctx) => ctx.later({ deadline: '5s' }))], [
    { status: 'failure', failure: { code: 'wait_timeout' } },
  ]),
  oneCall(
    'waits inside',
    (w) => [
      rerun('t', async (_, ctx) => {
        const value = await (await openWait(w, ctx)).value
        await ctx.step('a', () => w.did('a'))
        return value
      }),
    ],
    success('yes'),
    { poke: resolveAfter(2), most: { a: 2 } },
  ),
  oneCall(
    'waits inside, announced',
    (w) => [rerun('t', async (_, ctx) => (await openWait(w, ctx, announced)).value)],
    success('yes'),
    {
      poke: resolveAfter(20),
      least: { announced: 1 },
    },
  ),
  oneCall(
    'waits in the body until the deadline',
    () => [rerun('t', async (_, ctx) => (await ctx.later({ deadline: '5s' })).value.catch(codeOf))],
    success('wait_timeout'),
  ),
  oneCall(
    'sleeps',
    (w) => [
      rerun('t', async (_, ctx) => {
        await ctx.sleep('5s')
        await ctx.step('a', () => w.did('a'))
        return 'ok'
      }),
    ],
    success('ok'),
    { most: { a: 2 } },
  ),
  oneCall(
    'nested and parked',
    (w) => {
      const inner = parks(w, 'inner')
      return [inner, rerun('t', async (_, ctx) => (await ctx.call(inner, {})).value)]
    },
    success('yes'),
    { poke: resolveAfter(2) },
  ),
  {
    name: 'a call that parks in batch order, then a barrier',
    tools: (w) => [
      parks(w, 'p'),
      rerun('t', async (_, ctx) => {
        await ctx.step('a', () => w.did('a'))
        return 'ok'
      }),
    ],
    asks: ['p', 't'].map((name, at) => ({ id: `${at + 1}`, name })),
    run: { batch: 'b' },
    poke: resolveAfter(2),
    ends: ['yes', 'ok'].map((value) => ({ status: 'success', value })),
    most: { a: 2 },
  },
  oneCall(
    'two waits and a sleep in the body at once',
    (w) => [
      rerun('t', async (_, ctx) => {
        const one = await ctx.later({ name: 'one' })
        const two = await ctx.later({ name: 'two', deadline: '4s' })
        w.key = one.key
        const [a, b] = await Promise.all([one.value, two.value.catch(codeOf), ctx.sleep('2s')])
        return [a, b, (await ctx.now()) > 0]
      }),
    ],
    success(['yes', 'wait_timeout', true]),
    { poke: resolveAfter(2) },
  ),
]
