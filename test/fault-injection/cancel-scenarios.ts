// Cancels, and batches that stop, with a store that is away for one call.
/* oxlint-disable typescript/no-explicit-any -- bodies of many shapes, and what they are given */

import { fail } from 'pawl'
import { type Scenario, t } from '../kit/fault-scenario.ts'

export const cancels: Scenario[] = [
  {
    name: 'cancelled while it runs',
    tools: () => [
      t('t', {
        onCrash: 'rerun',
        timeout: '1h',
        execute: (_: unknown, ctx: any) =>
          new Promise((_r, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    abortAt: 3,
    ends: [{ status: 'cancelled' }],
    most: {},
  },
  {
    name: 'cancelled while it waits inside',
    tools: (w) => [
      t('t', { onCrash: 'rerun', cancel: () => void w.did('told'), execute: async (_: unknown, ctx: any) => (await ctx.later()).value }),
    ],
    asks: [{ id: '1', name: 't' }],
    abortAt: 3,
    ends: [{ status: 'cancelled' }],
    most: { told: 2 },
    least: { told: 1 },
  },
  {
    name: 'cancelled while parked',
    tools: (w) => [t('t', { onCrash: 'rerun', cancel: () => void w.did('told'), execute: async (_: unknown, ctx: any) => ctx.later() })],
    asks: [{ id: '1', name: 't' }],
    abortAt: 3,
    ends: [{ status: 'cancelled' }],
    most: { told: 2 },
    least: { told: 1 },
  },
  {
    name: 'cancelled over a nested call that is parked',
    tools: (w) => {
      const inner = t('inner', { onCrash: 'rerun', cancel: () => void w.did('told'), execute: async (_: unknown, ctx: any) => ctx.later() })
      return [inner, t('t', { onCrash: 'rerun', execute: async (_: unknown, ctx: any) => (await ctx.call(inner, {})).status })]
    },
    asks: [{ id: '1', name: 't' }],
    abortAt: 3,
    ends: [{ status: 'cancelled' }],
    most: { told: 2 },
    least: { told: 1 },
  },
  {
    name: 'stops at a failure',
    tools: () => [
      t('bad', {
        onCrash: 'rerun',
        concurrency: 'parallel',
        execute: async (_: unknown, ctx: any) => {
          await ctx.sleep('3s')
          throw fail('no', { code: 'no' })
        },
      }),
      t('long', {
        onCrash: 'rerun',
        concurrency: 'parallel',
        timeout: '1h',
        execute: (_: unknown, ctx: any) =>
          new Promise((_r, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
      }),
      t('parks', { onCrash: 'rerun', concurrency: 'parallel', execute: async (_: unknown, ctx: any) => ctx.later() }),
      t('last', { onCrash: 'rerun', execute: () => 'never' }),
    ],
    asks: [
      { id: '1', name: 'bad' },
      { id: '2', name: 'long' },
      { id: '3', name: 'parks' },
      { id: '4', name: 'last' },
    ],
    run: { onFailure: 'stop', batch: 'b' },
    ends: [{ status: 'failure', failure: { code: 'no' } }, { status: 'cancelled' }, { status: 'cancelled' }, { status: 'cancelled' }],
    most: {},
  },
]
