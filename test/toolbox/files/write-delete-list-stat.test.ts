// write_file, delete_file, list_directory and stat_file.

import { describe, expect, test } from 'vitest'
import { wherever } from '../toolbox-session.ts'

wherever('write_file', (given) => {
  test('BOX-1: reports whether the file was created or replaced', async () => {
    const first = await given().value('write_file', { path: 'a/b.txt', content: 'Grüße' })
    expect(first).toEqual({
      path: '/a/b.txt',
      size_bytes: 7,
      created: true,
      content_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
    })
    expect(await given().value('write_file', { path: '/a/b.txt', content: 'Grüße' })).toEqual({
      ...first,
      created: false,
    })
    expect(await given().value('write_file', { path: 'a/b.txt', content: '' })).toMatchObject({
      size_bytes: 0,
      created: false,
    })
    await given().value('delete_file', { path: 'a/b.txt' })
    expect(await given().value('write_file', { path: 'a/b.txt', content: '' })).toMatchObject({ created: true })
  })

  test('BOX-1: base64 content is decoded, and invalid base64 is rejected', async () => {
    const bytes = Buffer.from([0, 255, 128, 7])
    expect(
      await given().value('write_file', { path: 'x.bin', content: bytes.toString('base64'), encoding: 'base64' }),
    ).toMatchObject({
      size_bytes: 4,
    })
    expect(Buffer.from((await given().files.read('x.bin')).bytes)).toEqual(bytes)
    for (const content of ['not base64!', 'AAA', 'AA=A', '====', 'AAAA\0'])
      expect(await given().failure('write_file', { path: 'x.bin', content, encoding: 'base64' })).toMatchObject({
        code: 'invalid_arguments',
        message: 'content is not valid base64',
      })
    expect(Buffer.from((await given().files.read('x.bin')).bytes)).toEqual(bytes)
  })

  test('BOX-1: an invalid target fails with a specific message and writes nothing', async () => {
    await given().files.write('d/x', '1')
    expect(await given().failure('write_file', { path: 'd', content: '' })).toMatchObject({ code: 'file_is_directory' })
    expect(await given().failure('write_file', { path: 'd/x/y', content: '' })).toMatchObject({
      code: 'file_not_directory',
    })
    expect(await given().failure('write_file', { path: '/.background/x', content: '' })).toEqual({
      code: 'file_readonly',
      class: 'permission_denied',
      message: "'/.background/x' is kept by the runtime and cannot be changed.",
    })
    expect(await given().failure('write_file', { path: '/', content: '' })).toMatchObject({ code: 'file_is_directory' })
    expect((await given().failure('write_file', { path: 'x' })).code).toBe('invalid_arguments')
    expect((await given().files.glob('**')).entries.map(({ path }) => path)).toEqual(['/d', '/d/x'])
  })

  test('BOX-1: writes of one batch happen in batch order', async () => {
    const calls = Array.from({ length: 20 }, (_, at) => ({
      id: `w${at}`,
      name: 'write_file',
      input: { path: 'same', content: String(at) },
    }))
    const outcomes = await given().runtime.session('s').run(calls)
    const created = outcomes.map((each) => each.status === 'success' && (each.value as { created: boolean }).created)
    expect(created).toEqual([true, ...Array.from({ length: 19 }, () => false)])
    expect((await given().files.read('same')).text).toBe('19')
  })
})

wherever('delete_file', (given) => {
  test('BOX-1: deletes files and empty directories, and non-empty ones only with recursive', async () => {
    for (const path of ['a', 'd/e/f', 'd/g']) await given().files.write(path, '')
    await given().files.makeDirectory('empty')
    expect(await given().value('delete_file', { path: 'a' })).toEqual({ path: '/a', deleted: true })
    expect(await given().value('delete_file', { path: 'empty' })).toEqual({ path: '/empty', deleted: true })
    expect(await given().failure('delete_file', { path: 'd' })).toEqual({
      code: 'directory_not_empty',
      class: 'execution',
      message:
        "Directory 'd' is not empty. Give recursive: true to delete it with all that is in it. Nothing was deleted.",
    })
    expect(await given().value('delete_file', { path: 'd', recursive: true })).toEqual({ path: '/d', deleted: true })
    expect((await given().files.list()).entries).toEqual([])
  })

  test.for(['/', '.', '/workspace', '..', 'x/..'])(
    'BOX-1: deleting the root is rejected when it is written as %s',
    async (path) => {
      await given().files.write('a', '')
      expect(await given().failure('delete_file', { path, recursive: true })).toEqual({
        code: 'root_refused',
        class: 'permission_denied',
        message: 'The root of the workspace cannot be deleted',
      })
      expect((await given().files.list()).entries).toHaveLength(1)
    },
  )

  test('BOX-1: deleting a missing file fails as not found', async () => {
    expect(await given().failure('delete_file', { path: 'none' })).toMatchObject({
      code: 'file_not_found',
      message: 'File not found: none',
    })
  })
})

wherever('list_directory', (given) => {
  interface Listed {
    entries: { name: string; path: string; is_directory: boolean; size_bytes: number; is_readonly: boolean }[]
    count: number
    total_count: number
    truncation: { truncated: boolean; next_offset?: number; resume_hint?: string; reason: string }
  }
  const list = (input?: unknown): Promise<Listed> => given().value<Listed>('list_directory', input)

  test('BOX-1: lists the entries of a directory by name', async () => {
    for (const path of ['b.txt', 'a/x', 'c']) await given().files.write(path, 'four')
    expect(await list()).toEqual({
      path: '/',
      entries: [
        { name: 'a', path: '/a', is_directory: true, size_bytes: 0, is_readonly: false },
        { name: 'b.txt', path: '/b.txt', is_directory: false, size_bytes: 4, is_readonly: false },
        { name: 'c', path: '/c', is_directory: false, size_bytes: 4, is_readonly: false },
      ],
      count: 3,
      total_count: 3,
      offset: 0,
      limit: 200,
      truncation: {
        truncated: false,
        bytes_returned: expect.any(Number) as number,
        bytes_total: expect.any(Number) as number,
        reason: 'size_cap',
      },
    })
    expect(await list({ path: 'a' })).toMatchObject({ path: '/a', count: 1 })
  })

  test('BOX-1: pages contain each entry once', async () => {
    for (let at = 0; at < 25; at++) await given().files.write(`n${String(at).padStart(2, '0')}`, '')
    const names: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: Listed = await list({ offset, limit: 10 })
      expect(page.total_count).toBe(25)
      expect(page.truncation.next_offset === undefined).toBe(page.truncation.resume_hint === undefined)
      if (page.truncation.truncated) expect(page.truncation.reason).toBe('item_cap')
      names.push(...page.entries.map(({ name }) => name))
      offset = page.truncation.next_offset
    }
    expect(names).toEqual(Array.from({ length: 25 }, (_, at) => `n${String(at).padStart(2, '0')}`))
    expect(await list({ offset: 100 })).toMatchObject({ count: 0, total_count: 25, truncation: { truncated: false } })
  })

  test('BOX-1: listing a file or a missing directory fails with a specific message', async () => {
    await given().files.write('file', '')
    expect(await given().failure('list_directory', { path: 'file' })).toMatchObject({
      code: 'file_not_directory',
      message: "Path 'file' is a file, not a directory. Use read_file instead.",
    })
    expect(await given().failure('list_directory', { path: 'none' })).toMatchObject({
      code: 'file_not_found',
      message: 'Directory not found: none',
    })
    for (const limit of [0, 1001, 1.5])
      expect((await given().failure('list_directory', { limit })).code).toBe('invalid_arguments')
  })
})

wherever('stat_file', (given) => {
  test('BOX-1: describes a file or directory, or reports that it does not exist', async () => {
    const { hash } = await given().files.write('d/a.json', '{}')
    expect(await given().value('stat_file', { path: 'd/a.json' })).toEqual({
      path: '/d/a.json',
      name: 'a.json',
      exists: true,
      is_directory: false,
      is_readonly: false,
      size_bytes: 2,
      content_hash: hash,
      content_type: 'application/json',
      created_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT/) as string,
      updated_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT/) as string,
    })
    expect(await given().value('stat_file', { path: 'd' })).toMatchObject({
      is_directory: true,
      content_hash: null,
      size_bytes: 0,
    })
    expect(await given().value('stat_file', { path: 'none' })).toEqual({ path: 'none', exists: false })
    expect(await given().value('stat_file', { path: '/' })).toMatchObject({ exists: true, is_directory: true })
    expect(await given().failure('stat_file', { path: 'con' })).toMatchObject({ code: 'file_path_invalid' })
  })
})

describe('large directories', () => {
  wherever('many files', (given) => {
    test(
      'BOX-2: a directory of thousands is listed with its total count and an offset to continue',
      { timeout: 60_000 },
      async () => {
        const names = Array.from({ length: 2100 }, (_, at) => `${String(at).padStart(4, '0')}-${'n'.repeat(100)}`)
        if (given().folder === undefined) for (const name of names) await given().files.write(name, '')
        else {
          const { writeFileSync } = await import('node:fs')
          for (const name of names) writeFileSync(`${given().folder}/${name}`, '')
        }
        const page = await given().value<{
          count: number
          total_count: number
          truncation: { next_offset: number; reason: string }
        }>('list_directory', {
          limit: 1000,
        })
        expect(page.total_count).toBe(2100)
        expect(page.count).toBeLessThan(1000)
        expect(page.truncation).toMatchObject({ reason: 'size_cap', next_offset: page.count })
      },
    )
  })
})
