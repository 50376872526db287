// The code of docs/guide/tool-search.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, type Tool, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { z } from 'zod'

const invoice = (what: string, more: { defer?: 'never' | 'auto' | 'always' } = {}): Tool =>
  tool({
    name: `${what}_invoice`,
    description: `${what} an invoice`,
    input: z.object({ number: z.number() }),
    hints: { readOnly: true },
    execute: ({ number }) => `${what} ${number}`,
    ...more,
  })
const others = Array.from({ length: 20 }, (_, n) => invoice(`${n}`))

// #region search
const runtime = await createRuntime({
  store: 'memory:',
  tools: [invoice('print'), invoice('mail', { defer: 'never' }), ...others],
  toolSearch: { from: 15 }, // the default
})
const model = scriptedModel([
  { call: { name: 'tool_search', input: { query: 'print' } } },
  { call: { name: 'print_invoice', input: { number: 7 } } },
  'Printed.',
])
const session = runtime.session('chat-42')
const turn = await session.turn({ model, message: 'Print invoice 7' }).outcome
assert.equal(turn.status, 'success')

// What the model was shown whole: first the search itself and what is never deferred, then what it had found as well.
const shown = model.requests.map(({ tools }) =>
  tools.filter(({ parameters }) => 'properties' in parameters).map(({ name }) => name),
)
assert.deepEqual(shown.slice(0, 2), [
  ['mail_invoice', 'tool_search'],
  ['mail_invoice', 'print_invoice', 'tool_search'],
])
// #endregion
await runtime.close()
