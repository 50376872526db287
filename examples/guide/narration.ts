// The code of docs/guide/narration.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, narrate, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { z } from 'zod'

// #region words
const readFile = tool({
  name: 'read_file',
  title: 'Read a file',
  description: 'Read a file of the project',
  input: z.object({ path: z.string() }),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: { started: 'Reading {}', completed: 'Read {}', failed: 'Could not read {}' },
      de: { started: 'Liest {}', completed: '{} gelesen', failed: '{} war nicht lesbar' },
    },
    ({ path }) => path,
  ),
  execute: ({ path }) => `the text of ${path}`,
})
// #endregion

const lookUp = tool({
  name: 'look_up_order',
  title: 'Look up an order',
  description: 'Look up an order',
  input: z.object({ order: z.string(), api_key: z.string() }),
  hints: { readOnly: true },
  execute: ({ order }) => ({ order, cents: 4200 }),
})

const runtime = await createRuntime({ store: 'memory:', tools: [readFile, lookUp] })
const session = runtime.session('chat-42')
const model = scriptedModel([
  {
    call: [
      { name: 'read_file', input: { path: 'a.md' } },
      { name: 'read_file', input: { path: 'a.md' } },
      { name: 'look_up_order', input: { order: 'A1', api_key: 'sk-live-1234' } },
      { name: 'read_file', input: { path: 'b.md' } },
    ],
  },
  'Done.',
])
await session.turn({ model, message: 'What do we know about A1?' }).outcome

// #region watch
const lines: string[] = []
for await (const { type, narration, headline, body } of session.events({ narrate: 'en' })) {
  if (headline !== undefined) lines.push(headline)
  if (type === 'call.settled' && narration !== undefined) lines.push(narration)
  if (type === 'turn.answered' && body.finish === 'stop') break
}
assert.deepEqual(lines, [
  'Reading a.md, twice; Running: Look up an order (A1) and 1 more',
  'Read a.md',
  'Read a.md',
  'Done: Look up an order (A1)',
  'Read b.md',
])
// #endregion

// #region german
for await (const { headline } of runtime.events({ narrate: 'de-AT' })) {
  if (headline === undefined) continue
  assert.equal(headline, 'Liest a.md, zweimal; Läuft: Look up an order (A1) und 1 weitere')
  break
}
// #endregion
await runtime.close()
