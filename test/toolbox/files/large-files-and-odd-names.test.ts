import type { Tool } from 'pawl'
import { toolbox } from 'pawl/toolbox'
import { expect, test } from 'vitest'
import { applyReplacements } from '../../../src/toolbox/files/apply-edits.ts'
import { wherever } from '../toolbox-session.ts'

interface Read {
  readonly content?: string
  readonly content_hash: string
  readonly note?: string
  readonly read_mode: string
  readonly truncation: object
}
interface Edited {
  readonly content_hash: string
  readonly size_bytes: number
  readonly diff: string
  readonly diff_truncated: boolean
}

wherever('files', (given) => {
  const read = (input: object): Promise<Read> => given().value<Read>('read_file', input)
  const edit = async (path: string, old_text: string, new_text: string): Promise<Edited> => {
    const { content_hash: hash } = await read({ path })
    return given().value<Edited>('edit_file', { path, expected_hash: hash, edits: [{ old_text, new_text }] })
  }

  test('BOX-2: a table with a long header line is read in pages of 50 KB with rows', async () => {
    await given().files.write('t.csv', `${'name,'.repeat(40_000)}\nrow 1\nrow 2\n`)
    const page = await read({ path: 't.csv', offset: 1 })
    expect(Buffer.byteLength(page.content as string)).toBeLessThanOrEqual(50 * 1024)
    expect(page.content).toMatch(/^1\|name,name,.*\n2\|row 1\n3\|row 2$/)
    expect(page.note).toMatch(/^Line 1, with the names of the columns, is long/)
  })

  test('BOX-2: edits that insert or remove 200,000 lines are applied', async () => {
    await given().files.write('f', 'start\nX\nend\n')
    const { content_hash: hash } = await read({ path: 'f' })
    const lines = 'a\n'.repeat(200_000)
    expect(await edit('f', 'X\n', lines)).toMatchObject({ diff_truncated: true, size_bytes: 400_010 })
    expect(await edit('f', lines, 'X\n')).toMatchObject({ diff_truncated: true, content_hash: hash })
  })

  test('BOX-1: an existing path is searched literally even if it looks like a glob pattern', async () => {
    for (const path of [
      'app/[slug]/page.tsx',
      'app/s/page.tsx',
      'app/{x}/page.tsx',
      'app/x/page.tsx',
      'app/a*/page.tsx',
      'app/ab/page.tsx',
    ])
      await given().files.write(path, 'needle\n')
    const found = async (path_pattern: string): Promise<string[]> => {
      const { matches } = await given().value<{ matches: { path: string }[] }>('grep_files', {
        pattern: 'needle',
        path_pattern,
      })
      return matches.map(({ path }) => path)
    }
    expect(await found('app/[slug]')).toEqual(['/app/[slug]/page.tsx'])
    expect(await found('/workspace/app/[slug]/')).toEqual(['/app/[slug]/page.tsx'])
    expect(await found('app/[slug]/page.tsx')).toEqual(['/app/[slug]/page.tsx'])
    expect(await found('app/{x}')).toEqual(['/app/{x}/page.tsx'])
    expect(await found('app/a*')).toEqual(['/app/a*/page.tsx'])
    expect(await found('app/[s]/*')).toEqual(['/app/s/page.tsx'])
    expect(await found('./app/?/*.tsx')).toEqual(['/app/s/page.tsx', '/app/x/page.tsx'])
    expect(await given().failure('grep_files', { pattern: 'x', path_pattern: 'a\\[b]' })).toMatchObject({
      code: 'file_pattern_invalid',
    })
  })

  test('BOX-1: bytes_total is the size of the file, even for a page that skips its beginning', async () => {
    await given().files.write('f', 'one\ntwo\nthree\n')
    expect((await read({ path: 'f', offset: 1 })).truncation).toMatchObject({
      truncated: false,
      bytes_returned: 9,
      bytes_total: 14,
    })
  })

  test('BOX-1: a byte order mark is not part of the first line', async () => {
    await given().files.write('f', '\ufeffneedle\r\nother\r\n')
    expect(await given().value('grep_files', { pattern: '^needle$', after_context: 1 })).toMatchObject({
      matches: [{ line_number: 1, line: 'needle', after: ['other'] }],
    })
  })

  test('POL-6: the preview of a long path to delete shows its end', async () => {
    const path = `${'safe/../'.repeat(100)}ledger.db`
    const { preview } = toolbox.files().find(({ name }) => name === 'delete_file') as Tool
    expect((preview as (input: object) => string)({ path })).toMatch(/^Deletes safe\/\.\.\/.*…[^…]*\/ledger\.db\.$/)
    expect((await given().failure('read_file', { path })).message).toMatch(/ledger\.db$/)
  })

  test('VAL-5: a text file that starts with the GIF signature is read as text', async () => {
    await given().files.write('gif.txt', 'GIF89a is how a picture begins.\n')
    expect(await read({ path: 'gif.txt' })).toMatchObject({
      read_mode: 'text',
      content: '1|GIF89a is how a picture begins.',
    })
  })
})

test('SESS-9: without a time zone the narration names UTC', () => {
  const [tool] = toolbox.time()
  for (const input of [{}, { timezone: '' }, { timezone: ' ' }])
    expect(tool?.narrate?.(input as never, { phase: 'completed', locale: 'en' })).toBe('Told the time in UTC')
})

test.for([
  ['empty lines', '\n'],
  ['short lines', 'a\n'],
  ['short lines of Windows', 'a\r\n'],
] as const)('BOX-2: an edit of 16 MB of %s takes linear time and little memory', ([, line]) => {
  const half = line.repeat(8_000_000 / line.length)
  const before = process.memoryUsage().rss
  const begun = process.threadCpuUsage()
  const { text, diff } = applyReplacements('/f', `${half}one\n${half}`, [{ old_text: 'one', new_text: 'two' }])
  // CPU time of this thread, which other processes do not affect. Linear work takes half a second; comparing every line
  // with every other takes hours.
  const { user, system } = process.threadCpuUsage(begun)
  expect((user + system) / 1_000).toBeLessThan(30_000)
  expect(process.memoryUsage().rss - before).toBeLessThan(250_000_000)
  expect(text).toBe(`${half}two\n${half}`)
  expect(diff).toMatchObject({ truncated: false, firstLine: half.split('\n').length })
})
