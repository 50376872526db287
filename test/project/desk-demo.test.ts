// `pawl demo` as a user sees it: with and without input, with a real provider package, and the checker of the demo's
// ledger. Kills at random moments, and other input, are in the slow tier.

import { expect, test } from 'vitest'
import { type Accounts, pages, problems } from '../../src/cli/demo/check-ledger.ts'
import { chat, providerServer, type Reply } from '../kit/models/provider-server.ts'
import { openaiProblems } from '../kit/models/provider-request-rules.ts'
import { answersTheKeyboard, desk, type Keyboard, overExport, overRefund, times, timeout } from '../kit/run-desk.ts'

test.concurrent('SESS-1: pawl demo --yes survives two kills, and each effect happens once', { timeout }, async () => {
  const { shown, code } = await desk({ args: ['--yes'] })
  expect(shown).toContain('The warehouse is busy; retrying')
  expect(shown).toContain('Refund 42.00 € for order A1. Approve? [y/N] y')
  expect(shown).toMatch(overExport)
  expect(shown).toMatch(overRefund)
  expect(shown.indexOf('✓ Refunded order A1')).toBeGreaterThan(shown.search(overRefund))
  expect(shown).toContain('████████ 8 of 8')
  // Progress starts where it stood when the process was killed.
  const progress = [...shown.matchAll(/(\d) of 8/g)].map(([, page]) => Number(page))
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
  expect(shown).toContain('Done: 42.00 € are on their way, and your orders are in /exports/ada.csv.')
  expect(times(shown)).toEqual(['1×', '1×', '2×', '8×'])
  expect(shown).toContain('every effect exactly once, although two processes were killed')
  // The next process does not ask or print anything again.
  expect(shown.match(/Approve\?/g)).toHaveLength(1)
  expect(shown.match(/✓ Looked up order A1/g)).toHaveLength(1)
  expect(shown.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect(code).toBe(0)
})

test.concurrent.for<Keyboard>([
  { said: 'n\n', ends: 'The refund was not approved.', books: ['0×', '0×', '2×', '8×'], kills: 1, nobody: false },
  { said: null, ends: 'The refund was not approved.', books: ['0×', '0×', '2×', '8×'], kills: 1, nobody: true },
])('SESS-1 POL-3: pawl demo with the keyboard input $said', { timeout }, answersTheKeyboard)

/**
 * Replies of a chat completions model, chosen by the number of assistant messages, so that a request repeated after a
 * crash gets the same reply.
 */
const model = (said: readonly Reply[]): ((body: { messages: { role: string }[] }) => Reply)[] =>
  Array.from(
    { length: 20 },
    () =>
      ({ messages }) =>
        said[messages.filter(({ role }) => role === 'assistant').length] ?? { status: 400 },
  )

test.concurrent(
  'SESS-2: pawl demo with an API key survives a kill and finishes its background task',
  { timeout },
  async () => {
    const server = await providerServer(
      openaiProblems,
      model([
        chat({ say: 'One moment.', calls: [{ id: 'c1', name: 'look_up_order', args: '{"order":"A1"}' }] }),
        chat({
          calls: [
            {
              id: 'c2',
              name: 'spawn_background',
              args: '{"tool":"export_orders","args":{"customer":"ada"},"title":"Orders"}',
            },
            { id: 'c3', name: 'refund', args: '{"order":"A1","cents":4200}' },
          ],
        }),
        chat({ say: 'Refunded, by a real one.' }),
      ]),
    )
    try {
      const { shown, code } = await desk({
        args: ['--yes'],
        env: { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: server.url, OPENAI_MODEL: 'm' },
      })
      expect(shown).toContain('desk  One moment.')
      expect(shown).toContain('desk  Refunded, by a real one.')
      expect(shown).toMatch(overExport)
      expect(shown).toMatch(overRefund)
      expect(times(shown)).toEqual(['1×', '1×', '2×', '8×'])
      expect(server.problems).toEqual([])
      expect(code).toBe(0)
    } finally {
      await server.close()
    }
  },
)

test.concurrent('pawl demo reports a failed turn and exits with 1', { timeout }, async () => {
  const server = await providerServer(() => [], model([]))
  try {
    const { shown, code } = await desk({
      env: { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: server.url, OPENAI_MODEL: 'm' },
    })
    expect(shown).toContain('✗ The turn ended as failure')
    expect(code).toBe(1)
  } finally {
    await server.close()
  }
})

const entry = (what: 'refund' | 'mail' | 'page', key: string) => ({ what, key, id: key })
const fine: Accounts = {
  entries: [
    entry('refund', 'r'),
    entry('mail', 'm'),
    ...Array.from({ length: pages }, (_, page) => entry('page', `p${page}`)),
  ],
  done: [
    { uid: '1', tool: 'refund', status: 'success', value: { refunded: true } },
    { uid: '2', tool: 'export_orders', status: 'success', value: null },
  ],
  decided: new Map([['1', true]]),
}

test('the ledger check accepts a correct ledger', () => {
  expect(problems(fine)).toEqual([])
})

test.for<[string, Accounts]>([
  ['money that moved twice', { ...fine, entries: [...fine.entries, entry('refund', 'r2')] }],
  ['a mail that was not sent', { ...fine, entries: fine.entries.filter(({ what }) => what !== 'mail') }],
  ['a page that was paid twice', { ...fine, entries: [...fine.entries, entry('page', 'p0 again')] }],
  ['a page that is missing', { ...fine, entries: fine.entries.slice(0, -1) }],
  ['a key that is booked twice', { ...fine, entries: fine.entries.map((each) => ({ ...each, key: 'same' })) }],
  ['a refund that was denied and made', { ...fine, decided: new Map([['1', false]]) }],
  [
    'money that moved although it was denied',
    {
      ...fine,
      decided: new Map(),
      done: fine.done.map((each) => ({ ...each, status: each.tool === 'refund' ? 'failure' : 'success' })),
    },
  ],
  [
    'a refund that was granted and not made',
    {
      ...fine,
      entries: fine.entries.slice(2),
      done: [{ uid: '1', tool: 'refund', status: 'failure', value: null }, ...fine.done.slice(1)],
    },
  ],
  [
    'an export that broke off',
    { ...fine, done: fine.done.map((each) => ({ ...each, status: each.tool === 'refund' ? 'success' : 'failure' })) },
  ],
])('the ledger check detects %s', ([, accounts]) => {
  expect(problems(accounts)).not.toEqual([])
})
