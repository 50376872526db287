// Session files in every local location. PostgreSQL: test/storage/files/files-on-postgres.test.ts.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { codeOf, fileCases } from './file-cases.ts'
import { type Keeping, keepings } from './file-backends.ts'

for (const [name, make] of Object.entries(keepings)) fileCases(`BOX-2, ${name}`, make, { inStore: name !== 'a folder' })

test('BOX-2: a quota check does not mix two states of the store', async () => {
  const keeping = (keepings.memory as () => Keeping)()
  const quotas = { bytes: 100 }
  const files = keeping.open({ quotas })
  await files.write('x', 'x'.repeat(50))
  await files.write('y', 'y'.repeat(50))
  let asked = false
  const store: Store = {
    ...keeping.store,
    async document(name) {
      // Removes the file after the usage was read and before the file row is read.
      if (name.of === 'file' && !asked) {
        asked = true
        await files.remove('x')
      }
      return keeping.store.document(name)
    },
  }
  await keeping.open({ store, quotas }).write('x', 'z'.repeat(50))
  expect((await files.read('x')).text).toBe('z'.repeat(50))
  await keeping.end()
})

test('BOX-2: leftovers of a killed writer in a folder are removed before usage is counted', async () => {
  const keeping = (keepings['a folder'] as () => Keeping)()
  const root = keeping.folder as string
  mkdirSync(join(root, 'd/.pawl-unfinished-1/in'), { recursive: true })
  writeFileSync(join(root, 'd/.pawl-unfinished-1/in/f'), 'x')
  writeFileSync(join(root, '.pawl-unfinished-2'), 'x')
  const files = keeping.open({ quotas: { files: 2 } })
  expect((await files.list()).entries).toMatchObject([{ name: 'd' }])
  await files.write('a', 'x')
  expect([existsSync(join(root, 'd/.pawl-unfinished-1')), existsSync(join(root, '.pawl-unfinished-2'))]).toEqual([
    false,
    false,
  ])
  // Foreign files count too, at the latest when the quota seems reached.
  writeFileSync(join(root, 'd/other'), 'x')
  await files.remove('a')
  await files.write('b', 'x')
  expect(await codeOf(files.write('c', 'x'))).toBe('files_full')
  await keeping.end()
})
