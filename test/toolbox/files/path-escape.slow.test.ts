// No path that a model can send lets a tool read, write, edit, list, find or delete anything outside the files of the
// session. test/storage/files/path-escape.test.ts checks the file storage; this test checks the tools and their
// handling of paths.

import { existsSync, linkSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { CallOutcome } from 'pawl'
import { type Asking, asking } from '../toolbox-session.ts'
import { payloads, ups } from '../../kit/path-escape-payloads.ts'
import { escapeLinks, type Ground, ground, secret } from '../../kit/folder-escape-detector.ts'

const grounds: Ground[] = []
const open: Asking[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.runtime.close({ grace: 0 })
  for (const each of grounds.splice(0)) each.end()
})

/**
 * More paths than test/storage/files/path-escape.test.ts has: every way up, at several depths, from several starting
 * points, to each target.
 */
const ways = ups.flatMap((up) =>
  [1, 3, 12].flatMap((depth) =>
    ['', 'd/', '/workspace/', './d/../'].flatMap((before) =>
      ['outside/canary', 'root-evil/canary', 'etc/passwd'].map(
        (target) => `${before}${up.repeat(depth)}${/[\\/]$|%2f$|%5c$/i.test(up) ? '' : '/'}${target}`,
      ),
    ),
  ),
)
const all = [...new Set([...payloads, ...ways])]
const hash = `sha256:${'0'.repeat(64)}`

/** Every tool that takes a path, ordered so that later tools find the results of earlier ones. */
const operations = (path: string): { name: string; input: object }[] => [
  { name: 'read_file', input: { path } },
  { name: 'stat_file', input: { path } },
  { name: 'list_directory', input: { path } },
  { name: 'grep_files', input: { pattern: 'CANARY|root:', path_pattern: path.slice(0, 500) } },
  { name: 'write_file', input: { path, content: 'written' } },
  { name: 'edit_file', input: { path, expected_hash: hash, edits: [{ old_text: 'CANARY', new_text: 'BROKEN' }] } },
  { name: 'delete_file', input: { path, recursive: true } },
]

/** Failure codes that a model may see. */
const said = new Set([
  'invalid_arguments',
  'file_path_invalid',
  'file_pattern_invalid',
  'file_not_found',
  'file_is_directory',
  'file_not_directory',
  'file_not_plain',
  'file_readonly',
  'file_changed',
  'root_refused',
])

/** Runs all operations on all paths in a few batches and returns the outcomes in order. */
async function everything(given: Asking, paths: readonly string[]): Promise<CallOutcome[]> {
  const outcomes: CallOutcome[] = []
  for (let at = 0; at < paths.length; at += 50) {
    const calls = paths
      .slice(at, at + 50)
      .flatMap((path, n) => operations(path).map((each, m) => ({ id: `${at + n}-${m}`, ...each })))
    outcomes.push(...(await given.runtime.session('s').run(calls)))
  }
  return outcomes
}

const codes = (outcomes: readonly CallOutcome[]): string[] =>
  outcomes.map((each) => (each.status === 'failure' ? each.failure.code : each.status))

test(
  `BOX-2: ${all.length} paths through 7 tools, in the store and in a folder: 0 escapes`,
  { timeout: 300_000 },
  async () => {
    expect(all.length).toBeGreaterThanOrEqual(2000)
    const { root, trace } = one()
    const before = trace()
    const [inFolder, inStore] = [await given(root), await given()]
    for (const where of [inFolder, inStore]) await where.files.write('d/own', 'own')
    const [folder, store] = await Promise.all([everything(inFolder, all), everything(inStore, all)])
    expect(folder).toHaveLength(all.length * 7)
    for (const outcome of [...folder, ...store]) {
      const text = JSON.stringify(outcome)
      if (text.includes(secret) || text.includes('root:x:')) throw new Error(`This was read: ${text}`)
      if (outcome.status === 'failure' && !said.has(outcome.failure.code))
        throw new Error(`This was not expected: ${text}`)
    }
    expect(trace()).toBe(before)
    // A path means the same in the store and in a folder.
    expect(codes(folder)).toEqual(codes(store))
    // Not all paths were rejected: many are plain names, and those work.
    expect(codes(store).filter((code) => code === 'success').length).toBeGreaterThan(all.length)
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(existsSync(join(root, '..', 'created'))).toBe(false)
  },
)

test('BOX-2: no tool follows a symbolic or hard link out of a folder', { timeout: 60_000 }, async () => {
  const { root, outside, place, trace } = one()
  mkdirSync(join(root, 'd'))
  const links = escapeLinks(outside, join(place, 'created'))
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name))
  linkSync(join(outside, 'canary'), join(root, 'hard'))
  const before = trace()
  const where = await given(root)
  const paths = [
    ...Object.keys(links),
    ...Object.keys(links).flatMap((name) => [`${name}/canary`, `${name}/new`, `${name}/../canary`]),
    'hard',
  ]
  const outcomes = await everything(where, paths)
  for (const outcome of outcomes) expect(JSON.stringify(outcome)).not.toContain(secret)
  expect(await where.value('grep_files', { pattern: 'CANARY' })).toMatchObject({ total_matches: 0 })
  expect(trace()).toBe(before)
  expect(existsSync(join(place, 'created'))).toBe(false)
})

test('BOX-2: sessions cannot access the files of each other through the tools', async () => {
  const { runtime } = await given()
  await runtime.session('mine').files.write('private', 'CANARY')
  const calls = operations('private').concat(operations('../mine/private'), operations('/mine/private'))
  const outcomes = await runtime.session('other').run(calls.map((each, at) => ({ id: String(at), ...each })))
  expect(JSON.stringify(outcomes.filter(({ name }) => name !== 'edit_file'))).not.toContain('"line":"CANARY"')
  expect((await runtime.session('mine').files.read('private')).text).toBe('CANARY')
})

function one(): Ground {
  const made = ground()
  grounds.push(made)
  return made
}

async function given(root?: string): Promise<Asking> {
  const made = await asking(root)
  open.push(made)
  return made
}
