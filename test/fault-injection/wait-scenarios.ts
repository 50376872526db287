// Waits and sleeps, with a store that is away for one call.
/* oxlint-disable typescript/no-explicit-any -- bodies of many shapes, and what they are given */

import { expect } from 'vitest'
import { resolveOnce, type Scenario, t } from '../kit/fault-scenario.ts'

export const waits: Scenario[] = [
  {
    name: 'parked, answered after',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later()
          w.key = l.key
          return l
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: resolveOnce('yes'),
    ends: [{ status: 'success', value: 'yes' }],
    most: {},
  },
  {
    name: 'parked by a stop tool, answered after',
    tools: (w) => [
      t('t', {
        execute: async (_: unknown, ctx: any) => {
          w.did('a')
          const l = await ctx.later()
          w.key = l.key
          return l
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: resolveOnce('yes'),
    ends: ([o]) => expect(['success', 'unknown']).toContain(o.status),
    most: { a: 1 },
  },
  {
    name: 'answered before it parks',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later()
          w.key = l.key
          if (!w.answered) await resolveOnce('yes')(w)
          return l
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: resolveOnce('yes'),
    ends: [{ status: 'success', value: 'yes' }],
    most: {},
  },
  {
    name: 'parked with an announcement',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later({ announce: { type: 'x', payload: {} } })
          w.key = l.key
          return l
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: (w, s) => (s > 20 ? resolveOnce('yes')(w) : undefined),
    ends: [{ status: 'success', value: 'yes' }],
    most: {},
    least: { announced: 1 },
  },
  {
    name: 'parked until its deadline',
    tools: () => [t('t', { onCrash: 'rerun', execute: async (_: unknown, ctx: any) => ctx.later({ deadline: '5s' }) })],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'failure', failure: { code: 'wait_timeout' } }],
    most: {},
  },
  {
    name: 'waits inside',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later()
          w.key = l.key
          const v = await l.value
          await ctx.step('a', () => w.did('a'))
          return v
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: (w, s) => (s > 2 ? resolveOnce('yes')(w) : undefined),
    ends: [{ status: 'success', value: 'yes' }],
    most: { a: 2 },
  },
  {
    name: 'waits inside, announced',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later({ announce: { type: 'x', payload: {} } })
          w.key = l.key
          return l.value
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: (w, s) => (s > 20 ? resolveOnce('yes')(w) : undefined),
    ends: [{ status: 'success', value: 'yes' }],
    most: {},
    least: { announced: 1 },
  },
  {
    name: 'waits inside until the deadline',
    tools: () => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later({ deadline: '5s' })
          return l.value.catch((e: { code: string }) => e.code)
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'wait_timeout' }],
    most: {},
  },
  {
    name: 'sleeps',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          await ctx.sleep('5s')
          await ctx.step('a', () => w.did('a'))
          return 'ok'
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'ok' }],
    most: { a: 2 },
  },
  {
    name: 'nested and parked',
    tools: (w) => {
      const inner = t('inner', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later()
          w.key = l.key
          return l
        },
      })
      return [inner, t('t', { onCrash: 'rerun', execute: async (_: unknown, ctx: any) => (await ctx.call(inner, {})).value })]
    },
    asks: [{ id: '1', name: 't' }],
    poke: (w, s) => (s > 2 ? resolveOnce('yes')(w) : undefined),
    ends: [{ status: 'success', value: 'yes' }],
    most: {},
  },
  {
    name: 'parks at once in a line, then a barrier',
    tools: (w) => [
      t('p', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later()
          w.key = l.key
          return l
        },
      }),
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          await ctx.step('a', () => w.did('a'))
          return 'ok'
        },
      }),
    ],
    asks: [
      { id: '1', name: 'p' },
      { id: '2', name: 't' },
    ],
    run: { batch: 'b' },
    poke: (w, s) => (s > 2 ? resolveOnce('yes')(w) : undefined),
    ends: [
      { status: 'success', value: 'yes' },
      { status: 'success', value: 'ok' },
    ],
    most: { a: 2 },
  },
  {
    name: 'two waits inside, and sleeps at once',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const l = await ctx.later({ name: 'one' })
          const m = await ctx.later({ name: 'two', deadline: '4s' })
          w.key = l.key
          const [a, b] = await Promise.all([l.value, m.value.catch((e: any) => e.code), ctx.sleep('2s')])
          return [a, b, (await ctx.now()) > 0]
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: (w, s) => (s > 2 ? resolveOnce('yes')(w) : undefined),
    ends: [{ status: 'success', value: ['yes', 'wait_timeout', true] }],
    most: {},
  },
]
