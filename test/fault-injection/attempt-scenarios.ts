// Steps, retries, and what a crash leaves, with a store that is away for one call.
/* oxlint-disable typescript/no-explicit-any -- bodies of many shapes, and what they are given */

import { retry } from 'pawl'
import { expect } from 'vitest'
import { type Scenario, t } from '../kit/fault-scenario.ts'

export const work: Scenario[] = [
  {
    name: 'two steps',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          await ctx.step('a', () => w.did('a'))
          await ctx.step('b', () => w.did('b'))
          return 'ok'
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'ok' }],
    most: { a: 2, b: 2 },
  },
  {
    name: 'a tool that must not run twice',
    tools: (w) => [
      t('t', {
        execute: () => {
          w.did('a')
          return 'ok'
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: ([o]) => expect(['success', 'unknown']).toContain(o.status),
    most: { a: 1 },
  },
  {
    name: 'retries',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        hints: { idempotent: true },
        execute: async (_: unknown, ctx: any) => {
          await ctx.step('a', () => w.did('a'))
          if (w.did('b') < 2) throw retry({ after: '2s' })
          return 'ok'
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'ok' }],
    most: { a: 2, b: 3 },
  },
  {
    name: 'once',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          const a = await ctx
            .step('a', () => w.did('a'), { once: true })
            .catch((e: { code: string }) => {
              if (e.code === 'step_unknown') return 'unknown'
              throw e
            })
          return a
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: ([o]) => {
      expect(o.status).toBe('success')
      expect([1, 'unknown']).toContain(o.value)
    },
    most: { a: 1 },
  },
  {
    name: 'reconciled',
    tools: (w) => [
      t('t', {
        execute: async () => {
          w.did('a')
          await new Promise((r) => w.later(5000, r))
          return 'ok'
        },
        reconcile: () => {
          w.did('asked')
          return { value: 'ok' }
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'ok' }],
    most: { a: 1 },
  },
  {
    name: 'reconciled to run again',
    tools: (w) => [
      t('t', {
        execute: async () => {
          w.did('a')
          await new Promise((r) => w.later(5000, r))
          return 'ok'
        },
        reconcile: () => ({ rerun: true }),
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'ok' }],
    most: { a: 3 },
  },
  {
    name: 'prepared',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        prepare: () => {
          w.did('p')
          return { payload: 1 }
        },
        execute: async (_: unknown, ctx: any) => {
          await ctx.step('a', () => w.did('a'))
          return 'ok'
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'ok' }],
    most: { a: 2, p: 2 },
  },
  {
    name: 'times out and is tried again',
    tools: (w) => [
      t('t', {
        hints: { idempotent: true, readOnly: true },
        timeout: '2s',
        retry: { attempts: 2 },
        execute: async () => {
          if (w.did('a') === 1) await new Promise(() => {})
          return 'ok'
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    ends: [{ status: 'success', value: 'ok' }],
    most: { a: 3 },
  },
]
