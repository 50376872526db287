// The files of a session keep their promises wherever they are kept. PostgreSQL: test/storage/files/files-on-postgres.test.ts.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { codeOf, fileCases } from './file-cases.ts'
import { type Keeping, keepings } from './file-backends.ts'

for (const [name, make] of Object.entries(keepings)) fileCases(`BOX-2, ${name}`, make, { inStore: name !== 'a folder' })

test('BOX-2: a quota is not judged by half of one moment and half of another', async () => {
  const keeping = (keepings.memory as () => Keeping)()
  const quotas = { bytes: 100 }
  const files = keeping.open({ quotas })
  await files.write('x', 'x'.repeat(50))
  await files.write('y', 'y'.repeat(50))
  let asked = false
  const store: Store = {
    ...keeping.store,
    async document(name) {
      // After the usage was read, and before the file is.
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

test('BOX-2: what a killed writer left in a folder is taken away before anything is counted', async () => {
  const keeping = (keepings['a folder'] as () => Keeping)()
  const root = keeping.folder as string
  mkdirSync(join(root, 'd/.pawl-unfinished-1/in'), { recursive: true })
  writeFileSync(join(root, 'd/.pawl-unfinished-1/in/f'), 'x')
  writeFileSync(join(root, '.pawl-unfinished-2'), 'x')
  const files = keeping.open({ quotas: { files: 2 } })
  expect((await files.list()).entries).toMatchObject([{ name: 'd' }])
  await files.write('a', 'x')
  expect([existsSync(join(root, 'd/.pawl-unfinished-1')), existsSync(join(root, '.pawl-unfinished-2'))]).toEqual([false, false])
  // What others put there counts, at the latest when there seems to be no room.
  writeFileSync(join(root, 'd/other'), 'x')
  await files.remove('a')
  await files.write('b', 'x')
  expect(await codeOf(files.write('c', 'x'))).toBe('files_full')
  await keeping.end()
})
