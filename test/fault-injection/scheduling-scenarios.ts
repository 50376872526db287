// Scenarios with batch order, slots and nested calls, for a store of which one call fails.
/* oxlint-disable typescript/no-explicit-any -- bodies and inputs of many shapes */

import { oneCall, rerun, type Scenario, success } from '../kit/fault-scenario.ts'

export const order: Scenario[] = [
  oneCall(
    'nested',
    (w) => {
      const inner = rerun('inner', async (_, ctx) => {
        await ctx.step('a', () => w.did('a'))
        return 'in'
      })
      return [inner, rerun('t', async (_, ctx) => (await ctx.call(inner, {})).value)]
    },
    success('in'),
    { most: { a: 2 } },
  ),
  {
    name: 'three calls in batch order',
    tools: (w) => [
      rerun('t', async ({ n }, ctx) => {
        await ctx.step('a', () => w.did(n))
        return n
      }),
    ],
    asks: ['x', 'y', 'z'].map((n) => ({ id: n, name: 't', input: { n } })),
    run: { batch: 'b' },
    ends: ['x', 'y', 'z'].map((value) => ({ status: 'success', value })),
    most: { x: 2, y: 2, z: 2 },
  },
  {
    name: 'keys and slots',
    tools: (w) => [
      rerun(
        't',
        async ({ n }, ctx) => {
          await ctx.step('a', () => w.did(n))
          await ctx.sleep('1s')
          return n
        },
        { concurrency: { key: () => 'k' }, limits: { concurrent: 1 } },
      ),
    ],
    asks: ['x', 'y'].map((n) => ({ id: n, name: 't', input: { n } })),
    run: { batch: 'b' },
    ends: ['x', 'y'].map((value) => ({ status: 'success', value })),
    most: { x: 2, y: 2 },
  },

  {
    name: 'an exclusive call with a nested call',
    tools: (w) => {
      const inner = rerun(
        'inner',
        async (_, ctx) => {
          await ctx.sleep('1s')
          await ctx.step('a', () => w.did('a'))
          return 'in'
        },
        { concurrency: { key: () => 'k' } },
      )
      const outer = async (_: unknown, ctx: any) => {
        const o = await ctx.call(inner, {})
        return o.status === 'success' ? o.value : JSON.stringify(o).slice(0, 200)
      }
      return [inner, rerun('t', outer, { concurrency: 'exclusive' })]
    },
    asks: ['1', '2'].map((id) => ({ id, name: 't' })),
    ends: ['in', 'in'].map((value) => ({ status: 'success', value })),
    most: { a: 3 },
  },
  oneCall(
    'three concurrent nested calls',
    (w) => {
      const inner = rerun(
        'inner',
        async ({ n }, ctx) => {
          await ctx.step('a', () => w.did(n))
          return n
        },
        { concurrency: 'parallel' },
      )
      const outer = async (_: unknown, ctx: any) =>
        (await Promise.all(['x', 'y', 'z'].map((n) => ctx.call(inner, { n })))).map((o: any) => o.value).join('')
      return [inner, rerun('t', outer)]
    },
    success('xyz'),
    { most: { x: 2, y: 2, z: 2 } },
  ),
]
