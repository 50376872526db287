// grep_files: matches, omissions and paging. Catastrophic patterns are in grep-catastrophic-patterns.slow.test.ts.

import { expect, test } from 'vitest'
import { search } from '../../../src/toolbox/files/search-lines.ts'
import { wherever } from '../toolbox-session.ts'

interface Found {
  matches: { path: string; line_number: number; line: string; before?: string[]; after?: string[] }[]
  match_count: number
  total_matches: number
  files_searched: number
  files_skipped: { binary: number; too_large: number; unreadable: number; not_reached: number }
  note?: string
  truncation: { truncated: boolean; next_offset?: number; resume_hint?: string; reason: string }
}

wherever('grep_files', (given) => {
  const grep = (input: unknown): Promise<Found> => given().value<Found>('grep_files', input)
  const write = async (files: Record<string, string | Uint8Array>): Promise<void> => {
    for (const [path, content] of Object.entries(files)) await given().files.write(path, content)
  }
  const places = ({ matches }: Found): string[] => matches.map(({ path, line_number }) => `${path}:${line_number}`)

  test('BOX-1: finds matching lines, sorted by path and line', async () => {
    await write({ 'b.txt': 'one\r\ntwo refund\r\n', 'a/c.ts': 'refund()\n\nRefund', 'z.md': 'nothing' })
    expect(await grep({ pattern: 'refund' })).toEqual({
      pattern: 'refund',
      matches: [
        { path: '/a/c.ts', line_number: 1, line: 'refund()' },
        { path: '/b.txt', line_number: 2, line: 'two refund' },
      ],
      match_count: 2,
      total_matches: 2,
      offset: 0,
      limit: 200,
      files_searched: 3,
      files_skipped: { binary: 0, too_large: 0, unreadable: 0, not_reached: 0 },
      truncation: {
        truncated: false,
        bytes_returned: expect.any(Number) as number,
        bytes_total: expect.any(Number) as number,
        reason: 'size_cap',
      },
    })
    expect(places(await grep({ pattern: '(?i)^refund' }))).toEqual(['/a/c.ts:1', '/a/c.ts:3'])
    expect(places(await grep({ pattern: '\\p{Lu}' }))).toEqual(['/a/c.ts:3'])
    expect(await grep({ pattern: 'absent' })).toMatchObject({ matches: [], total_matches: 0 })
  })

  test('BOX-1: path_pattern selects files by name, directory or glob', async () => {
    await write({
      'x.ts': 'hit',
      'src/a.ts': 'hit',
      'src/deep/b.ts': 'hit',
      'src/deep/c.md': 'hit',
      '.hidden': 'hit',
      'workspace/w': 'hit',
    })
    const paths = async (path_pattern?: string): Promise<string[]> =>
      (await grep({ pattern: 'hit', ...(path_pattern === undefined ? {} : { path_pattern }) })).matches.map(
        ({ path }) => path,
      )
    expect(await paths()).toEqual(['/src/a.ts', '/src/deep/b.ts', '/src/deep/c.md', '/workspace/workspace/w', '/x.ts'])
    expect(await paths('*.ts')).toEqual(['/src/a.ts', '/src/deep/b.ts', '/x.ts'])
    expect(await paths('src/*.ts')).toEqual(['/src/a.ts'])
    expect(await paths('/src/**/*.{ts,md}')).toEqual(['/src/a.ts', '/src/deep/b.ts', '/src/deep/c.md'])
    for (const directory of ['src/deep', '/workspace/src/deep/', 'src/./deep'])
      expect(await paths(directory)).toEqual(['/src/deep/b.ts', '/src/deep/c.md'])
    expect(await paths('x.ts')).toEqual(['/x.ts'])
    expect(await paths('b.ts')).toEqual(['/src/deep/b.ts'])
    expect(await paths('/')).toHaveLength(5)
    expect(await paths('.hidden')).toEqual(['/.hidden'])
    expect(await paths('none/**')).toEqual([])
    expect(await given().failure('grep_files', { pattern: 'x', path_pattern: '../**' })).toMatchObject({
      code: 'file_pattern_invalid',
    })
    expect(await given().failure('grep_files', { pattern: 'x', path_pattern: 'a\0b' })).toMatchObject({
      class: 'invalid_request',
    })
  })

  test('BOX-1: returns context lines around a match', async () => {
    await write({ f: 'a\nb\nc\nd\ne\n' })
    expect((await grep({ pattern: 'c', before_context: 1, after_context: 3 })).matches).toEqual([
      { path: '/f', line_number: 3, line: 'c', before: ['b'], after: ['d', 'e'] },
    ])
    expect((await grep({ pattern: 'a', before_context: 5 })).matches).toEqual([
      { path: '/f', line_number: 1, line: 'a', before: [] },
    ])
    expect((await given().failure('grep_files', { pattern: 'a', before_context: 21 })).code).toBe('invalid_arguments')
  })

  test('BOX-1: pages contain each match once', async () => {
    await write({ f: 'hit\n'.repeat(25), g: 'hit' })
    const got: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: Found = await grep({ pattern: 'hit', offset, limit: 10 })
      expect(page.total_matches).toBe(26)
      expect(page.truncation.next_offset === undefined).toBe(page.truncation.resume_hint === undefined)
      if (page.truncation.truncated) expect(page.truncation.reason).toBe('item_cap')
      got.push(...places(page))
      offset = page.truncation.next_offset
    }
    expect(got).toEqual([...Array.from({ length: 25 }, (_, at) => `/f:${at + 1}`), '/g:1'])
  })

  test('BOX-3: binary and huge files are skipped and counted, long lines are cut around the match', async () => {
    await write({
      bin: Buffer.from([0xff, 0x00, 0x41]),
      zero: 'A\0A',
      huge: `${'A'.repeat(100)}\n`.repeat(6000),
      long: `${'😀'.repeat(3000)}NEEDLE${'b'.repeat(3000)}`,
      fine: 'A',
    })
    const found = await grep({ pattern: 'A|NEEDLE' })
    expect(found.files_skipped).toEqual({ binary: 2, too_large: 1, unreadable: 0, not_reached: 0 })
    expect(found.files_searched).toBe(2)
    const line = found.matches.find(({ path }) => path === '/long')?.line as string
    expect(line).toContain('NEEDLE')
    expect(line.length).toBeLessThanOrEqual(502)
    expect(line.isWellFormed()).toBe(true)
  })

  test('BOX-3: one call searches 5 MiB and reports the files that were not reached', async () => {
    const text = `${'x'.repeat(1023)}\n`.repeat(500)
    for (let at = 0; at < 12; at++) await given().files.write(`f${String(at).padStart(2, '0')}`, text)
    const found = await grep({ pattern: 'y' })
    expect(found.files_searched).toBe(10)
    expect(found.files_skipped.not_reached).toBe(2)
    expect(found.truncation).toEqual({ truncated: true, bytes_returned: 0, reason: 'exec_budget' })
    expect(found.note).toContain('Narrow path_pattern')
    expect((await grep({ pattern: 'y', path_pattern: '{f10,f11}' })).truncation.truncated).toBe(false)
  })

  test('BOX-3: the size of the result is bounded', async () => {
    await write({ f: `${'hit '.repeat(200)}\n`.repeat(500) })
    const found = await grep({ pattern: 'hit', limit: 1000, before_context: 20, after_context: 20 })
    expect(Buffer.byteLength(JSON.stringify(found.matches))).toBeLessThan(60_000)
    expect(found.total_matches).toBe(500)
    expect(found.truncation).toMatchObject({ reason: 'size_cap', next_offset: found.match_count })
  })

  test('BOX-1: an invalid pattern fails with a specific message', async () => {
    await write({ f: 'x' })
    expect(await given().failure('grep_files', { pattern: '(open' })).toEqual({
      code: 'invalid_pattern',
      class: 'invalid_request',
      message: "Invalid regex pattern: Unterminated group in '(open'",
    })
    expect((await given().failure('grep_files', { pattern: 'a'.repeat(1001) })).code).toBe('invalid_arguments')
    expect((await given().failure('grep_files', { pattern: '' })).code).toBe('invalid_arguments')
  })

  test('BOX-3: many concurrent searches share a few threads', async () => {
    await write({ f: 'x\ny' })
    const found = await Promise.all(Array.from({ length: 20 }, () => grep({ pattern: 'y' })))
    expect(found.every(({ total_matches }) => total_matches === 1)).toBe(true)
  })
})

test('BOX-1: an unterminated last line counts, and no empty line follows the last newline', () => {
  const lines = (text: string) =>
    search({ pattern: '', files: [{ path: 'f', text }], before: 0, after: 0, offset: 0, limit: 100, maxBytes: 1e6 })
  expect(lines('a\nb')).toMatchObject({ total: 2 })
  expect(lines('a\nb\n')).toMatchObject({ total: 2 })
  expect(lines('')).toMatchObject({ total: 0 })
})
