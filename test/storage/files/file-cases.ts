// Tests of session files that every location runs.

import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readGrowingLog, appendRows, newLogRows } from '../../../src/storage/files/append-only-log.ts'
import { newFileRows } from '../../../src/storage/files/file-rows.ts'
import { PawlError } from '../../../src/core/errors.ts'
import type { SessionFiles } from '../../../src/core/session-files-interface.ts'
import type { Keeping } from './file-backends.ts'

const hash = (content: string | Uint8Array): string => `sha256:${createHash('sha256').update(content).digest('hex')}`

/** The code of the error it throws. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    if (error instanceof PawlError) return error.code
    throw error
  }
  return 'nothing was thrown'
}

const namesOf = async (files: SessionFiles, path?: string): Promise<string[]> =>
  (await files.list(path)).entries.map(({ name }) => name)
const found = async (files: SessionFiles, pattern: string): Promise<string[]> =>
  (await files.glob(pattern)).entries.map(({ path }) => path)

export function fileCases(name: string, make: () => Keeping | Promise<Keeping>, { inStore = true } = {}): void {
  describe(`files in ${name}`, () => {
    let keeping: Keeping
    let files: SessionFiles
    beforeEach(async () => {
      keeping = await make()
      files = keeping.open()
    })
    afterEach(() => keeping.end())

    test('BOX-2: a file reads back as written under every form of its path', async () => {
      const stat = await files.write('notes/today.md', '# Grüße\n')
      expect(stat).toMatchObject({
        path: '/notes/today.md',
        name: 'today.md',
        kind: 'file',
        bytes: 10,
        hash: hash('# Grüße\n'),
        mediaType: 'text/markdown',
        readonly: false,
      })
      for (const path of [
        'notes/today.md',
        '/notes/today.md',
        '/workspace/notes/today.md',
        './notes//today.md/',
        '../../notes/today.md',
        '/workspace/../notes/x/../today.md',
        '/../../workspace/notes/today.md',
      ]) {
        const read = await files.read(path)
        expect(read).toMatchObject({ stat: { path: '/notes/today.md', hash: stat.hash }, text: '# Grüße\n' })
        expect(await files.stat(path)).toMatchObject({ path: '/notes/today.md', kind: 'file', bytes: 10 })
      }
      expect(await files.stat('notes')).toMatchObject({ path: '/notes', kind: 'directory', bytes: 0, hash: null })
      expect(await files.stat('/')).toMatchObject({ path: '/', name: '/', kind: 'directory' })
      expect(await files.stat('nothing')).toBeUndefined()
      expect(await files.stat('notes/today.md/x')).toBeUndefined()
    })

    test('BOX-2: content reads back unchanged: any byte, NUL, lone surrogate, BOM or empty', async () => {
      const every = Uint8Array.from({ length: 200_000 }, (_, n) => (n * 7 + (n >> 8)) & 255)
      const contents: (string | Uint8Array)[] = [
        every,
        'a\0b',
        '',
        '\uFEFFmarked',
        'é'.repeat(50_000),
        `x${'😀'.repeat(40_000)}`,
        Uint8Array.of(0xc3),
      ]
      for (const [n, content] of contents.entries()) {
        const bytes = Buffer.from(content as string)
        await files.write(`f${n}`, content)
        const read = await files.read(`f${n}`)
        expect(Buffer.compare(read.bytes, bytes)).toBe(0)
        expect(read.stat).toMatchObject({ bytes: bytes.length, hash: hash(bytes) })
        expect(read.text).toBe(typeof content === 'string' ? content : null)
      }
      await files.write('half', 'a\uD800')
      expect((await files.read('half')).text).toBe('a\uFFFD')
      expect(await codeOf(files.write('no', 5 as never))).toBe('value_invalid')
      expect(await codeOf(files.write('no', '', { mediaType: 'x'.repeat(513) }))).toBe('value_invalid')
      const given = await files.write('image', '', { mediaType: 'image/x-own' })
      expect(given.mediaType).toBe(keeping.folder === undefined ? 'image/x-own' : null)
    })

    test('BOX-2: a file of 16 MiB is stored, and one byte more is rejected', async () => {
      const big = Buffer.alloc(16 * 1024 * 1024, 'pawl ')
      await files.write('big', big)
      expect(Buffer.compare((await files.read('big')).bytes, big)).toBe(0)
      expect(await codeOf(files.write('bigger', Buffer.alloc(big.length + 1)))).toBe('file_too_large')
      await files.write('big', 'small')
      expect(await files.remove('big')).toBe(true)
    })

    test('BOX-2: a write with ifHash of another version is rejected and writes nothing', async () => {
      const first = await files.write('a', 'one', { ifHash: null })
      expect(await codeOf(files.write('a', 'two', { ifHash: null }))).toBe('file_exists')
      const second = await files.write('a', 'two', { ifHash: first.hash })
      expect(await codeOf(files.write('a', 'three', { ifHash: first.hash }))).toBe('file_changed')
      expect(await codeOf(files.write('b', 'three', { ifHash: first.hash }))).toBe('file_changed')
      expect(await codeOf(files.remove('a', { ifHash: first.hash as string }))).toBe('file_changed')
      expect((await files.read('a')).text).toBe('two')
      expect(await files.remove('a', { ifHash: second.hash as string })).toBe(true)
      expect(await files.remove('a')).toBe(false)
      expect(await files.stat('b')).toBeUndefined()
    })

    test('BOX-2: file operations reject directories, and directory operations reject files', async () => {
      await files.write('d/f', 'x')
      expect(await codeOf(files.write('d', 'x'))).toBe('file_is_directory')
      expect(await codeOf(files.write('/', 'x'))).toBe('file_is_directory')
      expect(await codeOf(files.read('d'))).toBe('file_is_directory')
      expect(await codeOf(files.read('/'))).toBe('file_is_directory')
      expect(await codeOf(files.write('d/f/g', 'x'))).toBe('file_not_directory')
      expect(await codeOf(files.makeDirectory('d/f/g'))).toBe('file_not_directory')
      expect(await codeOf(files.makeDirectory('d/f'))).toBe('file_exists')
      expect(await codeOf(files.read('none'))).toBe('file_not_found')
      expect(await codeOf(files.list('none'))).toBe('file_not_found')
      expect(await codeOf(files.list('d/f'))).toBe('file_not_directory')
      expect(await codeOf(files.remove('/', { recursive: true }))).toBe('file_is_directory')
      expect(await codeOf(files.remove('d', { ifHash: 'sha256:0' }))).toBe('file_is_directory')
      expect((await files.read('d/f')).text).toBe('x')
    })

    test('BOX-2: a directory lists its direct entries by name and in pages', async () => {
      for (const path of ['a/b', 'a/b-c', 'a/b.d', 'a/b0', 'a-/x', 'a0/x', 'a/ü/deep/er', 'a/😀', 'a/ｚ', 'top'])
        await files.write(path, path)
      expect(new Set(await namesOf(files, 'a'))).toEqual(new Set(['b', 'b-c', 'b.d', 'b0', 'ü', 'ｚ', '😀']))
      expect(await namesOf(files)).toEqual(['a', 'a-', 'a0', 'top'])
      const paged: string[] = []
      for (let after: string | undefined; ;) {
        const page = await files.list('/a', { limit: 2, ...(after === undefined ? {} : { after }) })
        paged.push(...page.entries.map(({ name }) => name))
        after = page.entries.at(-1)?.path
        if (!page.more) break
        expect(page.entries).toHaveLength(2)
      }
      expect(paged).toEqual(await namesOf(files, 'a'))
      expect((await files.list('a')).entries.find(({ name }) => name === 'ü')).toMatchObject({
        kind: 'directory',
        path: '/a/ü',
      })
      await files.makeDirectory('empty/dir')
      expect(await files.list('empty/dir')).toEqual({ entries: [], more: false })
      for (const limit of [0, 1001, 1.5]) expect(await codeOf(files.list('/', { limit }))).toBe('config_invalid')
    })

    test('BOX-2: a directory named like the root has a path that leads back to it', async () => {
      const stat = await files.write('workspace/x', 'inner')
      await files.write('x', 'outer')
      expect(stat.path).toBe('/workspace/workspace/x')
      expect((await files.read(stat.path)).text).toBe('inner')
      expect((await files.read('/workspace/x')).text).toBe('outer')
      const [entry] = (await files.list('/')).entries
      expect(await namesOf(files, entry?.path)).toEqual(['x'])
      expect(await found(files, 'workspace/*')).toEqual(['/workspace/workspace/x'])
      expect((await files.move('workspace', 'w')).path).toBe('/w')
      expect((await files.read('w/x')).text).toBe('inner')
    })

    test('BOX-2: glob finds files and directories by pattern', async () => {
      for (const path of ['a.md', 'b.txt', 'd/a.md', 'd/e/a.md', 'd/e/x1', 'd/e/x2', '.hidden/a.md', 'd/.env', 'i[1]'])
        await files.write(path, '')
      expect(await found(files, '*.md')).toEqual(['/a.md'])
      expect(await found(files, '**/*.md')).toEqual(['/a.md', '/d/a.md', '/d/e/a.md'])
      expect(await found(files, '/workspace/d/**')).toEqual(['/d/a.md', '/d/e', '/d/e/a.md', '/d/e/x1', '/d/e/x2'])
      expect(await found(files, 'd/e/x?')).toEqual(['/d/e/x1', '/d/e/x2'])
      expect(await found(files, 'd/e/x[!1]')).toEqual(['/d/e/x2'])
      expect(await found(files, '{a,b}.{md,txt}')).toEqual(['/a.md', '/b.txt'])
      expect(await found(files, '{d/{e,f},.hidden}/a.md')).toEqual(['/.hidden/a.md', '/d/e/a.md'])
      expect(await found(files, '**/.*')).toEqual(['/.hidden', '/d/.env'])
      expect(await found(files, 'i[[]1]')).toEqual(['/i[1]'])
      expect(await found(files, 'none/*')).toEqual([])
      expect(await found(files, 'a.md/*')).toEqual([])
      expect(await files.glob('**/*', { limit: 2 })).toMatchObject({
        entries: [{ path: '/a.md' }, { path: '/b.txt' }],
        more: true,
      })
      expect(await files.glob('**/*', { limit: 1, after: '/a.md' })).toMatchObject({
        entries: [{ path: '/b.txt' }],
        more: true,
      })
      for (const wrong of ['', 'x'.repeat(513), '[a', '{a', 'a}', '../x', 'a\\*', 'a\0', '{a,b}'.repeat(7)])
        expect(await codeOf(files.glob(wrong)), wrong).toBe('file_pattern_invalid')
    })

    test('BOX-2: adversarial glob patterns are not slow', async () => {
      await files.write(`${'a'.repeat(200)}/${'a'.repeat(200)}/${'a'.repeat(200)}`, '')
      const from = performance.now()
      expect(await found(files, `${'*a'.repeat(120)}b`)).toEqual([])
      expect(await found(files, `${'**/'.repeat(100)}${'a*'.repeat(50)}b`)).toEqual([])
      expect(await found(files, `${'**/*/'.repeat(60)}b`)).toEqual([])
      expect(performance.now() - from).toBeLessThan(2_000)
    })

    test('BOX-2: a directory with content is removed only with `recursive`', async () => {
      for (const path of ['d/a', 'd/e/b', 'd/e/f/c', 'd-/x', 'd0']) await files.write(path, path)
      expect(await codeOf(files.remove('d'))).toBe('directory_not_empty')
      expect((await files.read('d/e/f/c')).text).toBe('d/e/f/c')
      expect(await files.remove('d', { recursive: true })).toBe(true)
      expect(await found(files, '**')).toEqual(['/d-', '/d-/x', '/d0'])
      await files.makeDirectory('e')
      expect(await files.remove('e')).toBe(true)
      expect(await files.stat('e')).toBeUndefined()
    })

    test('BOX-2: a file or directory moves as a whole', async () => {
      for (const path of ['d/a', 'd/e/b', 'f', 'g']) await files.write(path, path)
      expect(await files.move('d', 'new/place')).toMatchObject({ path: '/new/place', kind: 'directory' })
      expect(await found(files, '**')).toEqual([
        '/f',
        '/g',
        '/new',
        '/new/place',
        '/new/place/a',
        '/new/place/e',
        '/new/place/e/b',
      ])
      expect((await files.read('new/place/e/b')).text).toBe('d/e/b')
      expect(await codeOf(files.move('f', 'g'))).toBe('file_exists')
      expect(await codeOf(files.move('f', 'new', { replace: true }))).toBe('file_exists')
      expect(await codeOf(files.move('new', 'f', { replace: true }))).toBe('file_exists')
      expect(await codeOf(files.move('new', 'new/place/x'))).toBe('file_path_invalid')
      expect(await codeOf(files.move('none', 'x'))).toBe('file_not_found')
      expect(await codeOf(files.move('f', 'g/x'))).toBe('file_not_directory')
      expect(await codeOf(files.move('/', 'x'))).toBe('file_is_directory')
      expect(await files.move('f', 'f')).toMatchObject({ path: '/f', kind: 'file' })
      expect(await files.move('f', 'g', { replace: true })).toMatchObject({ path: '/g', kind: 'file', bytes: 1 })
      expect((await files.read('g')).text).toBe('f')
      expect(await files.stat('f')).toBeUndefined()
    })

    test('BOX-2: two Unicode forms of one name are one file', async () => {
      await files.write('caf\u00e9', 'one')
      await files.write('cafe\u0301', 'two')
      expect(await namesOf(files)).toEqual(['caf\u00e9'])
      expect((await files.read('caf\u00e9')).text).toBe('two')
      // Names are case-sensitive.
      await files.write('Case', '1')
      await files.write('case', '2')
      expect([(await files.read('Case')).text, (await files.read('case')).text]).toEqual(['1', '2'])
    })

    test('BOX-2: quotas are exact, and removing files frees space', async () => {
      files = keeping.open({ quotas: { fileBytes: 60, bytes: 100, files: 4 } })
      expect(await codeOf(files.write('a', 'x'.repeat(61)))).toBe('file_too_large')
      await files.write('a', 'x'.repeat(60))
      await files.write('b', 'x'.repeat(40))
      expect(await codeOf(files.write('c', 'x'))).toBe('files_full')
      await files.write('a', 'x'.repeat(59))
      await files.write('c', 'x')
      expect(await codeOf(files.write('d/e', ''))).toBe('files_full')
      await files.makeDirectory('d')
      expect(await codeOf(files.makeDirectory('e'))).toBe('files_full')
      expect(await files.stat('e')).toBeUndefined()
      expect(await codeOf(files.write('c', 'xx'))).toBe('files_full')
      await files.remove('b')
      await files.write('c', 'x'.repeat(41))
      expect(await codeOf(files.write('c', 'x'.repeat(42)))).toBe('files_full')
      await files.move('c', 'a', { replace: true })
      await files.write('d/f', 'x'.repeat(59))
      expect(await codeOf(files.write('d/f', 'x'.repeat(60)))).toBe('files_full')
      // A lowered quota rejects only growth.
      const less = keeping.open({ quotas: { bytes: 10, files: 1 } })
      await less.write('d/f', 'x'.repeat(58))
      expect(await codeOf(less.write('d/f', 'x'.repeat(59)))).toBe('files_full')
      expect(await less.remove('d', { recursive: true })).toBe(true)
    })

    test('BOX-2: concurrent writers succeed exactly up to the quota', async () => {
      const many = [0, 1, 2].map(() =>
        keeping.open({ store: { ...keeping.store }, quotas: { files: 10, bytes: 1000 } }),
      )
      const codes = await Promise.all(
        many.flatMap((each, n) => Array.from({ length: 20 }, (_, i) => codeOf(each.write(`f${n}-${i}`, 'x')))),
      )
      expect(codes.filter((code) => code === 'nothing was thrown')).toHaveLength(10)
      expect(codes.filter((code) => code === 'files_full')).toHaveLength(50)
      expect((await files.list()).entries).toHaveLength(10)
    })

    test('BOX-2: concurrent counters in one file lose no update', async () => {
      const each = 10
      // Each writer has its own store object, like another process, so no in-process mutex serializes them.
      const writers = Array.from({ length: 6 }, () => keeping.open({ store: { ...keeping.store } }))
      await files.write('count', '0')
      let refused = 0
      const count = async (mine: SessionFiles): Promise<void> => {
        for (let done = 0; done < each;) {
          const { text, stat } = await mine.read('count')
          const code = await codeOf(mine.write('count', String(Number(text) + 1), { ifHash: stat.hash }))
          if (code === 'nothing was thrown') done++
          else {
            expect(code).toBe('file_changed')
            refused++
          }
        }
      }
      await Promise.all(writers.map(count))
      expect((await files.read('count')).text).toBe(String(writers.length * each))
      expect(refused).toBeGreaterThan(0)
    })

    test('BOX-2: a concurrent reader sees one version or another, never a mixture', async () => {
      const version = (n: number): string => String(n % 10).repeat(150_000)
      await files.write('f', version(0))
      let over = false
      const write = async (): Promise<void> => {
        for (let n = 1; n <= 20; n++) await files.write('f', version(n))
        over = true
      }
      const read = async (): Promise<void> => {
        while (!over) {
          // Memory reads never leave the microtask queue; this yields to the writers.
          await new Promise((resolve) => setImmediate(resolve))
          const { text } = await keeping.open().read('f')
          expect(text === (text as string).slice(0, 1).repeat(150_000)).toBe(true)
        }
      }
      await Promise.all([write(), read(), read()])
    })

    test('BOX-2: files of the runtime are readable by all and writable by the runtime only', async () => {
      const { store, of, clock } = keeping
      expect(await namesOf(files)).toEqual([])
      const begun = newLogRows(of, '/.background/bg_1/output.log', { at: clock.now(), version: 'v1' })
      await store.commit({ guards: [], documents: begun.documents, events: [] })
      const lines = Array.from({ length: 40 }, (_, n) => `${n} ${'é'.repeat(n * 150)}${n === 20 ? '\0' : ''}\n`)
      let { log } = begun
      for (const [n, line] of lines.entries()) {
        const { documents, log: next } = appendRows(of, log, line, clock.now())
        // At most the last part, the row and the usage are written.
        expect(documents.length).toBeLessThanOrEqual(3)
        await store.commit({ guards: [], documents, events: [] })
        log = n % 7 === 0 ? ((await readGrowingLog(store, of, log.path)) as typeof log) : next
        expect(log).toEqual(next)
      }
      expect(log.file.parts).toBeGreaterThan(2)
      const result = newFileRows(of, '/.background/bg_1/result.json', '{}', { at: clock.now(), version: 'v2' })
      await store.commit({ guards: [], documents: result.documents, events: [] })
      const again = newFileRows(of, '/.background/bg_1/result.json', '{"a":1}', {
        at: clock.now(),
        version: 'v3',
        was: result.file,
      })
      await store.commit({ guards: [], documents: again.documents, events: [] })
      expect(await files.read('.background/bg_1/output.log')).toMatchObject({
        text: lines.join(''),
        stat: { hash: hash(lines.join('')), readonly: true },
      })
      expect((await files.read('/workspace/.background/bg_1/result.json')).text).toBe('{"a":1}')
      expect(await store.documentsOf({ of: 'file-part', ...of, after: 'v2', limit: 10 })).toMatchObject([
        { key: 'v3:000000' },
      ])
      await files.write('zz', 'x')
      await files.write('#a', 'x')
      expect(await namesOf(files)).toEqual(['#a', '.background', 'zz'])
      expect((await files.list('/', { limit: 1, after: '/#a' })).entries).toMatchObject([
        { name: '.background', readonly: true },
      ])
      expect(await namesOf(files, '.background')).toEqual(['bg_1'])
      expect(await found(files, '.background/*/*.{json,log}')).toEqual([
        '/.background/bg_1/output.log',
        '/.background/bg_1/result.json',
      ])
      expect(await found(files, '**')).toEqual(['/#a', '/zz'])
      expect(await found(files, '**/.*')).toEqual(['/.background'])
      const asked = '/.background/bg_1/output.log'
      for (const work of [
        files.write(asked, 'x'),
        files.write('.background/new', 'x'),
        files.write('.BackGround/new', 'x'),
        files.write('a/../.background', 'x'),
        files.makeDirectory('.background/bg_2'),
        files.remove(asked),
        files.remove('.background', { recursive: true }),
        files.move(asked, 'mine'),
        files.move('zz', '.background/bg_1/zz'),
        files.move('zz', asked, { replace: true }),
      ])
        expect(await codeOf(work)).toBe('file_readonly')
      expect(() => newFileRows(of, '/elsewhere', '', { at: 0, version: 'v' })).toThrow('below /.background')
    })

    test('BOX-2: a worker that lost its lease cannot write files', async () => {
      const gone = keeping.open({ fence: () => [{ kind: 'holds', call: 'nobody', fence: 1 }] })
      await files.write('a', 'x')
      await files.makeDirectory('d')
      for (const work of [
        gone.write('a', 'y'),
        gone.write('b', 'y'),
        gone.remove('a'),
        gone.remove('d'),
        gone.move('a', 'b'),
        gone.makeDirectory('e'),
      ])
        expect(await codeOf(work)).toBe('lease_lost')
      // The fence of a task is the revision of its document.
      const past = keeping.open({ fence: () => [{ kind: 'kept', of: 'task', ...keeping.of, key: 'k', revision: 3 }] })
      expect(await codeOf(past.write('a', 'y'))).toBe('lease_lost')
      // The lease is lost halfway: the partial write is removed.
      let asked = 0
      const losing = keeping.open({
        fence: () =>
          keeping.folder !== undefined && asked++ === 0 ? [] : [{ kind: 'holds', call: 'nobody', fence: 1 }],
      })
      expect(await codeOf(losing.write('a', 'y'))).toBe('lease_lost')
      if (keeping.folder !== undefined) expect(readdirSync(keeping.folder)).toEqual(['a', 'd'])
      expect(await found(files, '**')).toEqual(['/a', '/d'])
      expect((await gone.read('a')).text).toBe('x')
    })

    test.runIf(inStore)("BOX-2: sessions do not see each other's files", async () => {
      await files.write('mine', 'x')
      for (const of of [
        { tenant: 't', session: 'other' },
        { tenant: 'u', session: 's' },
      ]) {
        const others = keeping.open({ of })
        expect(await others.list()).toEqual({ entries: [], more: false })
        expect(await codeOf(others.read('mine'))).toBe('file_not_found')
        await others.write('mine', 'y')
      }
      expect((await files.read('mine')).text).toBe('x')
    })

    test.runIf(inStore)(
      'BOX-2: erasing a session removes its files from the store, and it can start again',
      async () => {
        const other = keeping.open({ of: { tenant: 't', session: 'other' } })
        await files.write('d/a', 'x')
        await other.write('a', 'other')
        await keeping.store.erase({ of: keeping.of, after: '', limit: 100 })
        for (const of of ['file', 'file-part', 'file-usage'])
          expect(await keeping.store.documentsOf({ of, ...keeping.of, after: '', limit: 9 })).toEqual([])
        await files.write('b', 'y')
        expect(await found(files, '**')).toEqual(['/b'])
        expect((await other.read('a')).text).toBe('other')
      },
    )
  })
}
