// The code of docs/guide/feed.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, type Runtime, tool } from 'pawl'
import { z } from 'zod'

const report = tool({
  name: 'report',
  description: 'Write a report',
  input: z.object({ month: z.string() }),
  onCrash: 'rerun',
  background: true,
  execute: ({ month }) => `${month}: all well`,
})

const runtime = await createRuntime({ store: 'memory:', tools: [report] })
const session = runtime.session('chat-42')

// #region read
await session.files.write('/notes.md', 'Ask for the October report')
let cursor = ''
for await (const event of session.events()) {
  assert.equal(event.type, 'file.changed')
  assert.deepEqual(event.body, { path: '/notes.md', change: 'written' })
  cursor = event.cursor // kept by you: after a restart you go on from here
  break
}
await session.values.set('month', 'October')
for await (const { type, seq } of session.events({ after: cursor })) {
  assert.deepEqual([type, seq], ['value.changed', 2])
  break
}
// #endregion

// #region wake
/** Sessions whose model has something to hear. */
async function* toTell(events: ReturnType<Runtime['events']>): AsyncGenerator<string, void> {
  const tasks = new Set<string>()
  for await (const { type, call, session: id } of events) {
    if (type === 'task.created') tasks.add(call)
    // The end of a task is its call's; all else that a model is to hear is a notice.
    if (type === 'notice.added' || (type === 'call.settled' && tasks.delete(call))) yield id
  }
}

await session.tasks.start({ tool: report, input: { month: 'October' } })
for await (const id of toTell(runtime.events())) {
  const [notice] = await runtime.session(id).notices.list() // none, if its policy is silent, or a turn was faster
  assert.equal(notice?.about, 'end')
  break // here your program begins a turn of that session: it tells the model, and acknowledges
}
// #endregion

await runtime.close()
