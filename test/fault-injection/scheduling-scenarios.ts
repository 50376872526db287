// Order, places and nested calls, with a store that is away for one call.
/* oxlint-disable typescript/no-explicit-any -- bodies of many shapes, and what they are given */

import { type Scenario, t } from '../kit/fault-scenario.ts'

export const order: Scenario[] = [
  {
    name: 'nested',
    tools: (w) => {
      const inner = t('inner', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          await ctx.step('a', () => w.did('a'))
          return 'in'
        },
      })
      return [inner, t('t', { onCrash: 'rerun', execute: async (_: unknown, ctx: any) => (await ctx.call(inner, {})).value })]
    },
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'in' }],
    most: { a: 2 },
  },
  {
    name: 'a line of three',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async ({ n }: any, ctx: any) => {
          await ctx.step('a', () => w.did(n))
          return n
        },
      }),
    ],
    asks: ['x', 'y', 'z'].map((n) => ({ id: n, name: 't', input: { n } })),
    run: { batch: 'b' },
    ends: ['x', 'y', 'z'].map((value) => ({ status: 'success', value })),
    most: { x: 2, y: 2, z: 2 },
  },
  {
    name: 'keys and places',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        concurrency: { key: () => 'k' },
        limits: { concurrent: 1 },
        execute: async ({ n }: any, ctx: any) => {
          await ctx.step('a', () => w.did(n))
          await ctx.sleep('1s')
          return n
        },
      }),
    ],
    asks: ['x', 'y'].map((n) => ({ id: n, name: 't', input: { n } })),
    run: { batch: 'b' },
    ends: ['x', 'y'].map((value) => ({ status: 'success', value })),
    most: { x: 2, y: 2 },
  },

  {
    name: 'exclusive, and nested under it',
    tools: (w) => {
      const inner = t('inner', {
        onCrash: 'rerun',
        concurrency: { key: () => 'k' },
        execute: async (_: unknown, ctx: any) => {
          await ctx.sleep('1s')
          await ctx.step('a', () => w.did('a'))
          return 'in'
        },
      })
      return [
        inner,
        t('t', {
          onCrash: 'rerun',
          concurrency: 'exclusive',
          execute: async (_: unknown, ctx: any) => {
            const o = await ctx.call(inner, {})
            return o.status === 'success' ? o.value : JSON.stringify(o).slice(0, 200)
          },
        }),
      ]
    },
    asks: [
      { id: '1', name: 't' },
      { id: '2', name: 't' },
    ],
    ends: [
      { status: 'success', value: 'in' },
      { status: 'success', value: 'in' },
    ],
    most: { a: 3 },
  },
  {
    name: 'nested three at once',
    tools: (w) => {
      const inner = t('inner', {
        onCrash: 'rerun',
        concurrency: 'parallel',
        execute: async ({ n }: any, ctx: any) => {
          await ctx.step('a', () => w.did(n))
          return n
        },
      })
      return [
        inner,
        t('t', {
          onCrash: 'rerun',
          execute: async (_: unknown, ctx: any) =>
            (await Promise.all(['x', 'y', 'z'].map((n) => ctx.call(inner, { n })))).map((o: any) => o.value).join(''),
        }),
      ]
    },
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'xyz' }],
    most: { x: 2, y: 2, z: 2 },
  },
]
