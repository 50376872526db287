// Scenarios of which every store call is made to fail in turn (every-call.test.ts).
/* oxlint-disable typescript/no-explicit-any -- bodies of many shapes, and what they are given */

import { type CallAsk, fail, type PawlError, retry, type Runtime, type Tool, tool } from 'pawl'
import { expect } from 'vitest'

const input = { type: 'object' } as const

export interface World {
  runtime: Runtime
  effects: Record<string, number>
  did(name: string): number
  key: string
  answered: boolean
  cancels: number
  later(ms: number, fire: (value?: unknown) => void): void
}
export interface Scenario {
  name: string
  tools: (w: World) => Tool[]
  asks: CallAsk[]
  run?: object
  /** Asked every second until it is over. */
  poke?: (w: World, second: number) => Promise<void> | void
  ends: unknown[] | ((outcomes: any[]) => void)
  most: Record<string, number>
  least?: Record<string, number>
  /** The call may be asked with a signal that fires here. */
  abortAt?: number
}

const resolveOnce =
  (value: unknown) =>
  async (w: World): Promise<void> => {
    if (!w.key || w.answered) return
    try {
      const { answer } = await w.runtime.resolve(w.key, { value })
      if (answer === 'accepted' || answer === 'already_resolved') w.answered = true
    } catch (error) {
      if ((error as PawlError).code !== 'store_unavailable') throw error
    }
  }
const t = (name: string, more: object): Tool => tool({ name, description: 'd', input, ...more })

export const scenarios: Scenario[] = [
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
