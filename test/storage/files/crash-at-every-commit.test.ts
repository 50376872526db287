// A crash at any commit of a file operation applies it entirely or not at all, and the usage count stays correct.

import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PawlError } from '../../../src/core/errors.ts'
import type { SessionFiles } from '../../../src/core/session-files-interface.ts'
import type { Store } from '../../../src/store/store.ts'
import { codeOf } from './file-cases.ts'
import { type Keeping, keepings } from './file-backends.ts'

const long = 'x'.repeat(200_000)
const changes: Readonly<Record<string, (files: SessionFiles) => Promise<unknown>>> = {
  'a new file': (files) => files.write('new', long),
  'a new file in new directories': (files) => files.write('p/q/new', long),
  'a file that is replaced': (files) => files.write('d/a', long),
  'a directory': (files) => files.makeDirectory('p/q/r'),
  'a file that is removed': (files) => files.remove('d/a'),
  'a directory that is removed': (files) => files.remove('d', { recursive: true }),
  'a file that moves': (files) => files.move('d/a', 'd/c', { replace: true }),
  'a directory that moves': (files) => files.move('d', 'p/d'),
}

/** All entries with their hashes; directories are optional. */
async function allOf(files: SessionFiles, { directories = true } = {}): Promise<string> {
  const lines: string[] = []
  for (const { path, kind } of (await files.glob('**')).entries) {
    if (kind === 'directory' && directories) lines.push(path)
    if (kind === 'file') lines.push(`${path} ${(await files.read(path)).stat.hash}`)
  }
  return lines.join()
}

const seeded = async (files: SessionFiles): Promise<void> => {
  for (const path of ['d/a', 'd/b/c', 'd/c']) await files.write(path, path.repeat(30_000))
}

/** Fails the n-th commit: before it is written, or after it, so that only the answer is lost. */
function dying(store: Store, at: number, when: 'before' | 'after'): { store: Store; commits(): number } {
  let commits = 0
  const lost = new PawlError('store_unavailable')
  return {
    commits: () => commits,
    store: {
      ...store,
      async commit(change) {
        // The process is dead: later commits fail too.
        if (++commits > at || (commits === at && when === 'before')) throw lost
        const answer = await store.commit(change)
        if (commits === at) throw lost
        return answer
      },
    },
  }
}

for (const [name, make] of Object.entries(keepings)) {
  describe(`files in ${name}`, () => {
    let keeping: Keeping
    beforeEach(() => {
      keeping = make()
    })
    afterEach(() => keeping.end())

    for (const [what, change] of Object.entries(changes)) {
      for (const when of ['before', 'after'] as const) {
        test(`BOX-2: ${what} with a crash ${when} each commit is applied entirely or not at all`, async () => {
          // In a folder, directories of a file that was not written may remain; only files are atomic there.
          const directories = keeping.folder === undefined
          await seeded(keeping.open())
          const old = await allOf(keeping.open(), { directories })
          for (let at = 1; ; at++) {
            const { store, commits } = dying(keeping.store, at, when)
            const code = await codeOf(change(keeping.open({ store })))
            // The lock of the crashed process expires.
            await keeping.clock.advance('1m')
            const left = await allOf(keeping.open(), { directories })
            if (code !== 'nothing was thrown') expect(code).toBe('store_unavailable')
            const files = keeping.open()
            const again = await codeOf(change(files))
            const next = await allOf(files, { directories })
            expect([old, next]).toContain(left)
            if (code === 'nothing was thrown' && !what.startsWith('a directory')) expect(left).toBe(next)
            expect(['nothing was thrown', 'file_not_found', 'file_exists', 'file_changed']).toContain(again)
            await counted(keeping)
            if (commits() < at) {
              expect(at).toBeGreaterThan(1)
              break
            }
            await reset(keeping)
            expect(await allOf(keeping.open(), { directories })).toBe(old)
          }
        })
      }
    }
  })
}

async function reset(keeping: Keeping): Promise<void> {
  const files = keeping.open()
  for (const { path } of (await files.list()).entries) await files.remove(path, { recursive: true })
  await seeded(files)
}

/** Quotas equal to the current usage: one more file is rejected, and one more fits with a quota of one more. */
async function counted(keeping: Keeping): Promise<void> {
  const all = (await keeping.open().glob('**')).entries
  const quotas = {
    files: Math.max(1, all.length),
    bytes: Math.max(
      1,
      all.reduce((sum, { bytes }) => sum + bytes, 0),
    ),
  }
  const files = keeping.open({ quotas })
  expect(await codeOf(files.write('one-more', ''))).toBe(all.length === 0 ? 'nothing was thrown' : 'files_full')
  expect(await codeOf(keeping.open({ quotas: { ...quotas, files: quotas.files + 1 } }).write('fits', ''))).toBe(
    'nothing was thrown',
  )
  await files.remove('fits')
  await files.remove('one-more')
  if (keeping.folder !== undefined)
    expect(
      readdirSync(keeping.folder, { recursive: true, encoding: 'utf8' }).filter((each) => each.includes('.pawl-')),
    ).toEqual([])
  else {
    const parts = await keeping.store.documentsOf({ of: 'file-part', ...keeping.of, after: '', limit: 1000 })
    const bytes = parts.reduce((sum, { value }) => sum + value.length - 1, 0)
    expect(bytes).toBe(all.reduce((sum, { bytes }) => sum + bytes, 0))
  }
}
