// The code of docs/guide/files.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'

const dir = mkdtempSync(join(tmpdir(), 'pawl-files-'))
try {
  // #region tool
  const note = tool({
    name: 'note',
    description: 'Add a line to the notes',
    input: z.object({ line: z.string() }),
    async execute({ line }, ctx) {
      const before = await ctx.files.stat('/notes.md')
      const text = before ? (await ctx.files.read('/notes.md')).text : ''
      const { bytes } = await ctx.files.write('/notes.md', `${text}${line}\n`, { ifHash: before?.hash ?? null })
      return { bytes }
    },
  })
  // #endregion

  // #region write
  const runtime = await createRuntime({ store: 'memory:', tools: [note] })
  const { files } = runtime.session('chat-42')

  const first = await files.write('/report/q3.csv', 'region,cents\nnorth,4200\n')
  assert.equal((await files.read('report/q3.csv')).text, 'region,cents\nnorth,4200\n')

  // Compare and set: who writes on an older version is refused, and nothing is lost.
  await files.write('/report/q3.csv', 'region,cents\n', { ifHash: first.hash })
  await assert.rejects(files.write('/report/q3.csv', 'mine', { ifHash: first.hash }), { code: 'file_changed' })

  const found = await files.glob('/report/**/*.csv')
  assert.deepEqual(
    found.entries.map(({ path, bytes }) => [path, bytes]),
    [['/report/q3.csv', 13]],
  )
  // #endregion
  await runtime.session('chat-42').run([{ id: 'a', name: 'note', input: { line: 'one' } }])
  assert.equal((await files.read('/notes.md')).text, 'one\n')
  await runtime.close()

  const root = join(dir, 'work')
  mkdirSync(join(root, 'chat-42'), { recursive: true })
  // #region folder
  const onDisk = await createRuntime({
    store: 'memory:',
    tools: [note],
    files: {
      folder: ({ session }) => join(root, session),
      fileBytes: 1024 * 1024,
      bytes: 64 * 1024 * 1024,
      files: 1_000,
    },
  })
  const folder = onDisk.session('chat-42').files
  await folder.write('/src/main.ts', 'export {}\n')
  assert.equal(readFileSync(join(root, 'chat-42/src/main.ts'), 'utf8'), 'export {}\n')

  symlinkSync('/etc', join(root, 'chat-42/link'))
  await assert.rejects(folder.read('/link/hostname'), { code: 'file_not_plain' }) // links are not followed, wherever they lead
  // #endregion
  await onDisk.close()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
