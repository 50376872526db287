// The code of docs/guide/turns.md, "When nobody speaks". test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { z } from 'zod'

const exportAll = tool({
  name: 'export_all',
  description: 'Export all',
  input: z.object({}),
  background: true,
  execute: () => '3 files',
})
const model = scriptedModel(
  [
    { call: { name: 'spawn_background', input: { tool: 'export_all', args: {} } } },
    { when: /"task_id"/, say: 'It is on its way.' },
    { when: /finished: succeeded/, say: 'The export is done: 3 files.' },
  ],
  { name: 'night-model' },
)

// #region waking
const runtime = await createRuntime({ store: 'memory:', tools: [exportAll], models: [model], wake: true })
const session = runtime.session('chat-42')
await session.turn({ model: 'night-model', message: 'Export everything, and tell me when it is done' }).outcome

// The export ends, and nobody is there: the session has a turn of its own, like the last one.
for await (const event of session.events())
  if (event.type === 'turn.answered' && event.body.turn.startsWith('woken_')) break
const said = await session.messages.list()
assert.deepEqual(said.at(-1)?.message, {
  role: 'assistant',
  parts: [{ type: 'text', text: 'The export is done: 3 files.' }],
})
// #endregion
await runtime.close()
