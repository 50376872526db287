// Scenarios with steps, retries and crashes, for a store of which one call fails.
/* oxlint-disable typescript/no-explicit-any -- bodies and inputs of many shapes */

import { retry } from 'pawl'
import { expect } from 'vitest'
import { oneCall, rerun, type Scenario, success, t, type World } from '../kit/fault-scenario.ts'

/** A body that takes five seconds. */
const slow = (w: World) => async () => {
  w.did('a')
  await new Promise((r) => w.later(5000, r))
  return 'ok'
}

export const work: Scenario[] = [
  oneCall(
    'two steps',
    (w) => [
      rerun('t', async (_, ctx) => {
        await ctx.step('a', () => w.did('a'))
        await ctx.step('b', () => w.did('b'))
        return 'ok'
      }),
    ],
    success('ok'),
    { most: { a: 2, b: 2 } },
  ),
  oneCall(
    'a tool that must not run twice',
    (w) => [t('t', { execute: () => (w.did('a'), 'ok') })],
    ([o]) => expect(['success', 'unknown']).toContain(o.status),
    { most: { a: 1 } },
  ),
  oneCall(
    'retries',
    (w) => [
      rerun(
        't',
        async (_, ctx) => {
          await ctx.step('a', () => w.did('a'))
          if (w.did('b') < 2) throw retry({ after: '2s' })
          return 'ok'
        },
        { hints: { idempotent: true } },
      ),
    ],
    success('ok'),
    { most: { a: 2, b: 3 } },
  ),
  oneCall(
    'once',
    (w) => [
      rerun('t', (_, ctx) =>
        ctx
          .step('a', () => w.did('a'), { once: true })
          .catch((e: { code: string }) => {
            if (e.code === 'step_unknown') return 'unknown'
            throw e
          }),
      ),
    ],
    ([o]) => {
      expect(o.status).toBe('success')
      expect([1, 'unknown']).toContain(o.value)
    },
    { most: { a: 1 } },
  ),
  oneCall(
    'reconciled',
    (w) => [t('t', { execute: slow(w), reconcile: () => (w.did('asked'), { value: 'ok' }) })],
    success('ok'),
    {
      most: { a: 1 },
    },
  ),
  oneCall(
    'reconciled with a rerun',
    (w) => [t('t', { execute: slow(w), reconcile: () => ({ rerun: true }) })],
    success('ok'),
    {
      most: { a: 3 },
    },
  ),
  oneCall(
    'prepared',
    (w) => [
      rerun('t', async (_, ctx) => (await ctx.step('a', () => w.did('a')), 'ok'), {
        prepare: () => (w.did('p'), { payload: 1 }),
      }),
    ],
    success('ok'),
    { most: { a: 2, p: 2 } },
  ),
  oneCall(
    'times out and is retried',
    (w) => [
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
    success('ok'),
    { most: { a: 3 } },
  ),
]
