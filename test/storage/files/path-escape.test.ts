// No path leaves the session files: every payload through every operation, in a folder full of traps and in the store,
// with a canary file outside.

import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { caseCollision } from '../../../src/storage/files/open-directory.ts'
import { filePath } from '../../../src/storage/files/file-path.ts'
import type { SessionFiles } from '../../../src/core/session-files-interface.ts'
import { PawlError } from '../../../src/core/errors.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { codeOf } from './file-cases.ts'
import { keepingOn } from './file-backends.ts'
import { long } from '../../kit/long-run.ts'
import { payloads, planted } from '../../kit/path-escape-payloads.ts'
import { escapeLinks, type Ground, ground, secret } from '../../kit/folder-escape-detector.ts'

const grounds: Ground[] = []
const made = (): Ground => {
  const one = ground()
  grounds.push(one)
  return one
}
afterEach(() => {
  for (const each of grounds.splice(0)) each.end()
})

const filesIn = (root?: string): SessionFiles => {
  const clock = manualClock()
  return keepingOn('', memoryStore({ clock }), clock, root).open()
}

/** The answer or error code of every operation on this path. */
async function everything(files: SessionFiles, path: string): Promise<string[]> {
  const operations: (() => Promise<unknown>)[] = [
    () => files.read(path),
    () => files.stat(path),
    () => files.list(path),
    () => files.glob(path),
    () => files.glob(`${path.slice(0, 400)}/**`),
    () => files.move('seed', path),
    () => files.move(path, 'seed'),
    () => files.write(path, 'written'),
    () => files.read(path),
    () => files.write(path, 'again', { ifHash: null }),
    () => files.makeDirectory(path),
    () => files.move(path, 'd/moved', { replace: true }),
    () => files.remove(path),
    () => files.remove(path, { recursive: true }),
  ]
  await files.write('seed', 'seed')
  await files.write('d/own', 'own')
  const answers: string[] = []
  for (const operation of operations) {
    try {
      answers.push(textOf(await operation()))
    } catch (error) {
      if (!(error instanceof PawlError)) throw error
      answers.push(error.code)
    }
  }
  return answers
}

/** The part of an answer that is comparable between a folder and a store. */
const textOf = (answer: unknown): string => {
  const { text, path, kind, entries } = Object(answer) as {
    text?: string
    path?: string
    kind?: string
    entries?: { path: string }[]
  }
  return JSON.stringify([text, path, kind, entries?.map((each) => each.path), answer === undefined])
}

test(
  `BOX-2: ${payloads.length} paths give equal answers in store and folder, and none escapes`,
  { timeout: long ? 600_000 : 120_000 },
  async () => {
    const { root, trace, outside } = made()
    const before = trace()
    const [inFolder, inStore] = [filesIn(root), filesIn()]
    expect(payloads.length).toBeGreaterThan(400)
    for (const path of payloads) {
      const [folder, store] = [await everything(inFolder, path), await everything(inStore, path)]
      expect(folder, JSON.stringify(path)).toEqual(store)
      expect(folder.join(), JSON.stringify(path)).not.toContain(secret)
      for (const answer of folder) if (!answer.startsWith('[')) expect(answer).toMatch(/^(file|directory)_/)
    }
    expect(trace()).toBe(before)
    expect(Object.keys(Object.prototype)).toEqual([])
    // Proves that the trace detects a change.
    writeFileSync(join(outside, 'deep/new'), '')
    expect(trace()).not.toBe(before)
  },
)

test(
  'BOX-2: links, pipes, devices, sockets and endless files are rejected by every operation',
  { timeout: 60_000 },
  async () => {
    const { root, outside, place, trace } = made()
    mkdirSync(join(root, 'd'))
    const links: Record<string, string> = {
      ...escapeLinks(outside, join(place, 'created-by-a-link')),
      'link-root': root,
      'link-fd': '/proc/self/fd',
      'link-pipe': 'pipe',
      'link-chain': 'link-dir',
    }
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name))
    linkSync(join(outside, 'canary'), join(root, 'hard'))
    execFileSync('mkfifo', [join(root, 'pipe')])
    writeFileSync(join(root, 'sparse'), '')
    truncateSync(join(root, 'sparse'), 2 ** 40)
    const server = createServer().listen(join(root, 'socket'))
    // Only root may create devices.
    if (process.getuid?.() === 0) {
      execFileSync('mknod', [join(root, 'device'), 'c', '1', '5'])
      execFileSync('mknod', [join(root, 'device-null'), 'c', '1', '3'])
    }
    const before = trace()
    const clock = manualClock()
    const files = keepingOn('', memoryStore({ clock }), clock, root).open({ quotas: { bytes: 2 ** 50 } })
    const plain = new Set(['LINK-DIR/canary', 'sparse', 'd/link-up/x/../canary'])
    for (const path of planted.filter((each) => !plain.has(each))) {
      const name = filePath(path).parts.at(-1) as string
      if (name.startsWith('device') && process.getuid?.() !== 0) continue
      for (const work of [
        () => files.read(path),
        () => files.write(path, 'x'),
        () => files.write(path, 'x', { ifHash: null }),
        () => files.makeDirectory(path),
        () => files.remove(path),
        () => files.remove(path, { recursive: true }),
        () => files.move(path, 'd/got'),
        () => files.move('d', path, { replace: true }),
        () => files.stat(path),
        () => files.list(path),
      ])
        expect(['file_not_plain', 'file_not_directory', 'file_path_invalid'], path).toContain(
          await codeOf(work()).then((code) => (code === 'nothing was thrown' ? `${code}: ${path}` : code)),
        )
    }
    expect(await codeOf(files.read('sparse'))).toBe('file_too_large')
    expect(await files.stat('sparse')).toMatchObject({ bytes: 2 ** 40, hash: null })
    // Entries that are not plain files are not listed.
    expect((await files.list()).entries.map(({ name }) => name)).toEqual(['d', 'sparse'])
    expect((await files.glob('**')).entries.map(({ path }) => path)).toEqual(['/d', '/sparse'])
    // Names that no path can express are hidden. They are removed with their directory, but link targets are not.
    writeFileSync(Buffer.concat([Buffer.from(`${root}/d/`), Buffer.from([0xff, 0xfe])]), 'x')
    writeFileSync(join(root, 'd/back\\slash'), 'x')
    symlinkSync(outside, join(root, 'd/link-out'))
    expect((await files.list('d')).entries).toEqual([])
    expect(await codeOf(files.remove('d'))).toBe('directory_not_empty')
    expect(await files.remove('d', { recursive: true })).toBe(true)
    expect((await files.list()).entries.map(({ name }) => name)).toEqual(['sparse'])
    expect(trace()).toBe(before)
    await new Promise((resolve) => server.close(resolve))
  },
)

test('BOX-2: on a case-insensitive folder, a name in another case is rejected', async () => {
  const standing = ['Readme.md', 'übung', 'ABC']
  const ignoring = {
    look: async (name: string) => {
      const ino = standing.findIndex((each) => each.toLowerCase() === name.toLowerCase())
      return ino < 0 ? undefined : { ino, dev: 1 }
    },
    names: async () => standing,
  }
  const minding = {
    ...ignoring,
    look: async (name: string) => (standing.includes(name) ? { ino: standing.indexOf(name), dev: 1 } : undefined),
  }
  for (const [asked, twin] of [
    ['README.md', 'Readme.md'],
    ['Readme.md', undefined],
    ['Übung', 'übung'],
    ['abc', 'ABC'],
    ['aBC', 'ABC'],
    ['ABC', undefined],
  ] as const) {
    const found = await ignoring.look(asked)
    expect(found && (await caseCollision(asked, found, ignoring)), asked).toBe(twin)
  }
  for (const name of standing)
    expect(await caseCollision(name, { ino: standing.indexOf(name), dev: 1 }, minding)).toBeUndefined()
  expect(
    await caseCollision(
      '123',
      { ino: 5, dev: 1 },
      { look: () => Promise.reject(new Error('not asked')), names: async () => [] },
    ),
  ).toBeUndefined()
})

test('BOX-2: normalizing a path is idempotent', () => {
  for (const path of payloads) {
    let first
    try {
      first = filePath(path)
    } catch {
      continue
    }
    expect(filePath(first.path), JSON.stringify(path)).toEqual(first)
    expect(
      first.parts.every((name) => name !== '..' && name !== '.' && !/[/\\\0]/.test(name)),
      JSON.stringify(path),
    ).toBe(true)
  }
})

test('BOX-2: a missing folder, or a file in its place, is a configuration error', async () => {
  const { place, outside } = made()
  expect(await codeOf(filesIn(join(place, 'none')).read('x'))).toBe('config_invalid')
  expect(await codeOf(filesIn(join(outside, 'canary')).write('x', ''))).toBe('config_invalid')
})
