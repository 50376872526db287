// The code of docs/guide/toolbox.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime } from 'pawl'
import { toolbox } from 'pawl/toolbox'

{
  // #region all
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [...toolbox.files(), ...toolbox.time(), ...toolbox.todos()],
  })
  const session = runtime.session('chat-42')

  const [written] = await session.run([
    { id: 'c1', name: 'write_file', input: { path: 'notes/today.md', content: '- [ ] call Bea\n' } },
  ])
  assert.partialDeepStrictEqual(written, { value: { path: '/notes/today.md', size_bytes: 15, created: true } })
  // #endregion

  // #region edit
  const [read] = await session.run([{ id: 'c2', name: 'read_file', input: { path: 'notes/today.md' } }])
  assert(read?.status === 'success')
  const { content, content_hash: hash } = read.value as { content: string; content_hash: string }
  assert.equal(content, '1|- [ ] call Bea')

  const edits = [{ old_text: '[ ]', new_text: '[x]' }]
  const edit = { path: 'notes/today.md', expected_hash: hash, edits }
  const [edited, again] = await session.run([
    { id: 'c3', name: 'edit_file', input: edit },
    { id: 'c4', name: 'edit_file', input: edit },
  ])
  assert.partialDeepStrictEqual(edited, {
    value: { diff: '--- a/notes/today.md\n+++ b/notes/today.md\n@@ -1,1 +1,1 @@\n-- [ ] call Bea\n+- [x] call Bea\n' },
  })
  assert.partialDeepStrictEqual(again, { failure: { code: 'file_changed' } }) // the version it was made for is gone
  // #endregion

  // #region grep
  const [found] = await session.run([
    { id: 'c5', name: 'grep_files', input: { pattern: 'call (\\w+)', path_pattern: '*.md' } },
  ])
  assert.partialDeepStrictEqual(found, {
    value: { matches: [{ path: '/notes/today.md', line_number: 1, line: '- [x] call Bea' }], total_matches: 1 },
  })

  await session.files.write('trap.txt', 'a'.repeat(60))
  const [trapped] = await session.run([{ id: 'c6', name: 'grep_files', input: { pattern: '(a+)+b' } }])
  assert.partialDeepStrictEqual(trapped, { failure: { class: 'timeout', code: 'pattern_timeout' } }) // and nothing else has waited
  // #endregion

  // #region delete
  const [deleted] = await session.run([{ id: 'c7', name: 'delete_file', input: { path: 'trap.txt' } }], {
    until: 'waiting',
  })
  assert.equal(deleted?.status, 'waiting') // it is destructive: a person decides
  const [item] = await runtime.inbox()
  assert.equal(item?.preview.summary, 'Deletes trap.txt.')
  // #endregion
  await runtime.close({ grace: 0 })
}
