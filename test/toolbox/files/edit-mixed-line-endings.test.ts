import { createRuntime } from 'pawl'
import { toolbox } from 'pawl/toolbox'
import { expect, test } from 'vitest'

const opened = async (content: string) => {
  const runtime = await createRuntime({ store: 'memory:', tools: [...toolbox.files()] })
  const session = runtime.session('s')
  const { hash } = await session.files.write('a.txt', content)
  const edit = async (old_text: string, new_text: string) =>
    (
      await session.run([
        { id: 'e', name: 'edit_file', input: { path: 'a.txt', expected_hash: hash, edits: [{ old_text, new_text }] } },
      ])
    )[0]
  const now = async () => (await session.files.read('a.txt')).text
  return { runtime, edit, now }
}

// Line endings stay as they are, also in a file that mixes both kinds.
test('BOX-2: replacing a text by itself in a file with mixed line endings changes nothing', async () => {
  const mixed = 'one\r\ntwo\nthree\nfour\n'
  const { runtime, edit, now } = await opened(mixed)
  const outcome = await edit('one\ntwo', 'one\ntwo')
  expect(await now()).toBe(mixed)
  expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'nothing_to_change' } })
  await runtime.close()
})
