// Scenarios with approvals, for a store of which one call fails.
/* oxlint-disable typescript/no-explicit-any -- bodies and inputs of many shapes */

import { connectionRequired, type InboxDecision, type InboxItem, type PawlError } from 'pawl'
import { expect } from 'vitest'
import { type Scenario, t, type World } from '../kit/fault-scenario.ts'

/** Decides the items in the inbox; while the store is unavailable it tries again in the next second. */
const deciding =
  (word: (item: InboxItem, w: World) => InboxDecision | null) =>
  async (w: World): Promise<void> => {
    try {
      for (const item of await w.runtime.inbox()) {
        const said = word(item, w)
        if (said) await w.runtime.decide(item.id, said)
      }
    } catch (error) {
      if ((error as PawlError).code !== 'store_unavailable') throw error
    }
  }
const away = async (run: () => Promise<unknown>): Promise<void> => {
  await run().catch((error: PawlError) => {
    if (error.code !== 'store_unavailable') throw error
  })
}
const pays = (w: World, more: object = {}) =>
  t('pay', {
    approval: 'always',
    execute: ({ cents }: any) => {
      w.did(`paid ${cents}`)
      return cents
    },
    ...more,
  })
const pay = (cents: number, id = '1') => ({ id, name: 'pay', input: { cents } })
const bea = { by: 'bea' }

export const people: Scenario[] = [
  {
    name: 'approved',
    tools: (w) => [pays(w, { onCrash: 'rerun' })],
    asks: [pay(5)],
    poke: deciding(() => ({ approve: true, ...bea })),
    ends: [{ status: 'success', value: 5 }],
    most: { 'paid 5': 2 },
    least: { 'paid 5': 1 },
  },
  {
    name: 'approved, a tool that must not run twice',
    tools: (w) => [pays(w)],
    asks: [pay(5)],
    poke: deciding(() => ({ approve: true, ...bea })),
    ends: ([o]) => expect(['success', 'unknown']).toContain(o.status),
    most: { 'paid 5': 1 },
  },
  {
    name: 'denied',
    tools: (w) => [pays(w)],
    asks: [pay(5)],
    poke: deciding(() => ({ deny: true, ...bea })),
    ends: [{ status: 'failure', failure: { code: 'denied_by_person' } }],
    most: { 'paid 5': 0 },
  },
  {
    name: 'edited, then approved by two people',
    tools: (w) => [pays(w, { onCrash: 'rerun', approval: () => ({ effect: 'ask', quorum: 2 }) })],
    asks: [pay(5)],
    poke: deciding((item) => {
      if ((item.args as { cents: number }).cents === 5) return { edit: { cents: 3 }, ...bea }
      return { approve: true, by: item.approvals.length > 1 ? 'dan' : 'cem' }
    }),
    ends: [{ status: 'success', value: 3 }],
    most: { 'paid 5': 0, 'paid 3': 2 },
    least: { 'paid 3': 1 },
  },
  {
    name: 'a batch of three: approved, denied, answered',
    tools: (w) => [pays(w, { onCrash: 'rerun', concurrency: 'parallel' })],
    asks: [pay(1, 'a'), pay(2, 'b'), pay(3, 'c')],
    poke: deciding(
      ({ callId }) =>
        ({ a: { approve: true as const, ...bea }, b: { deny: true as const, ...bea }, c: { answer: 'done', ...bea } })[
          callId
        ] ?? null,
    ),
    ends: [
      { status: 'success', value: 1 },
      { failure: { code: 'denied_by_person' } },
      { status: 'success', value: 'done' },
    ],
    most: { 'paid 1': 2, 'paid 2': 0, 'paid 3': 0 },
  },
  {
    name: 'expired without a decision',
    tools: (w) => [pays(w, { approval: () => ({ effect: 'ask' }) })],
    asks: [{ ...pay(5), deadline: Date.UTC(2026, 0, 1) + 20_000 }],
    ends: [{ status: 'failure', failure: { code: 'approval_expired' } }],
    most: { 'paid 5': 0 },
  },
  {
    name: 'cancelled during an approval request',
    tools: (w) => [pays(w)],
    asks: [pay(5)],
    abortAt: 2,
    ends: [{ status: 'cancelled' }],
    most: { 'paid 5': 0 },
  },
  {
    name: 'a question inside',
    tools: (w) => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => {
          w.did('asked')
          return (await (await ctx.ask({ text: 'Well?' })).value).answer
        },
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: deciding(() => ({ answer: 'yes', ...bea })),
    ends: [{ status: 'success', value: 'yes' }],
    most: {},
  },
  {
    name: 'parked on a question',
    tools: () => [t('t', { onCrash: 'rerun', execute: (_: unknown, ctx: any) => ctx.ask({ text: 'Well?' }) })],
    asks: [{ id: '1', name: 't' }],
    poke: deciding(() => ({ answer: 'yes', ...bea })),
    ends: [{ status: 'success', value: { status: 'answered', answer: 'yes' } }],
    most: {},
  },
  {
    name: 'connected',
    tools: () => [
      t('t', {
        onCrash: 'rerun',
        execute: async (_: unknown, ctx: any) => ((await ctx.connection('p')) ? 'with it' : connectionRequired('p')),
      }),
    ],
    asks: [{ id: '1', name: 't' }],
    poke: (w, second) =>
      second < 2 ? undefined : away(() => w.runtime.connections.set({ provider: 'p' }, { token: 'a token', ...bea })),
    ends: [{ status: 'success', value: 'with it' }],
    most: {},
  },
  {
    name: 'executed by the client',
    tools: () => [t('t', { client: true })],
    asks: [{ id: '1', name: 't' }],
    poke: (w) => away(() => w.runtime.session('s').answer('1', { value: 'here' })),
    ends: [{ status: 'success', value: 'here' }],
    most: {},
  },
]
