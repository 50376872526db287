import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type * as Directories from '../../../src/storage/files/open-directory.ts'
import { type Asking, asking } from '../toolbox-session.ts'

// Lower the limit, so that some thousand files behave like a hundred thousand.
vi.mock('../../../src/storage/files/open-directory.ts', async (actual) => ({
  ...(await actual<typeof Directories>()),
  maxEntries: 1_200,
}))

const opened: { root: string; asked: Asking }[] = []
afterEach(async () => {
  for (const { root, asked } of opened.splice(0)) {
    await asked.runtime.close({ grace: 0 })
    rmSync(root, { recursive: true })
  }
})

async function folder(paths: readonly string[]): Promise<Asking> {
  const root = mkdtempSync(join(tmpdir(), 'pawl-box-'))
  for (const path of paths) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), 'needle\n')
  }
  const asked = await asking(root)
  opened.push({ root, asked })
  return asked
}

test('BOX-3: a folder with more files than one listing may visit is searched in pages', async () => {
  const asked = await folder(Array.from({ length: 1_400 }, (_, nth) => `d${nth % 6}/f${nth}`))
  expect(await asked.value('grep_files', { pattern: 'needle', limit: 1 })).toMatchObject({
    total_matches: 1_400,
    files_searched: 1_400,
  })
  // A pattern with few matches would have to visit too many files for one page.
  expect(await asked.failure('grep_files', { pattern: 'needle', path_pattern: 'nothing*' })).toMatchObject({
    code: 'file_pattern_invalid',
  })
})

test('BOX-2: pages contain every file once and in order for any names', async () => {
  const names = ['a', 'a-b', 'a.b', 'a0', 'aa', 'b', 'z', 'ä', '\u{1F600}', '\uff5e']
  const paths = names.flatMap((name) => [
    `${name}.txt`,
    `${name}/x`,
    `${name}/y/z`,
    ...names.map((inner) => `${name}/d/${inner}`),
  ])
  const { files } = await folder(paths)
  const whole = (await files.glob('**', { limit: 1_000 })).entries.map(({ path }) => path)
  expect(whole).toEqual(whole.toSorted((a, b) => (a < b ? -1 : 1)))
  expect(new Set(whole)).toEqual(new Set([...paths, ...paths.flatMap(above)].map((path) => `/${path}`)))
  for (const limit of [9, 50]) {
    const seen: string[] = []
    for (let more = true; more;) {
      const after = seen.at(-1)
      const page = await files.glob('**', { limit, ...(after === undefined ? {} : { after }) })
      seen.push(...page.entries.map(({ path }) => path))
      more = page.more
    }
    expect(seen).toEqual(whole)
  }
})

const above = (path: string): string[] => {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}
