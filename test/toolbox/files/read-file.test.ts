// read_file: pages of text, tails, tables, minified files, binary files and images, and the report of omitted content.

import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { isAttachment } from '../../../src/core/tool-value.ts'
import { wherever } from '../toolbox-session.ts'

interface Read {
  content: string
  total_lines: number
  lines_shown: { start: number; end: number }
  truncated: boolean
  size_bytes: number
  content_hash: string
  read_mode: string
  note?: string
  truncation: {
    truncated: boolean
    bytes_returned: number
    bytes_total: number
    next_offset?: number
    resume_hint?: string
    reason: string
  }
}

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`).join('\n')
const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')

wherever('read_file', (given) => {
  const read = (input: unknown): Promise<Read> => given().value<Read>('read_file', input)

  test('BOX-1, BOX-2: a small text is returned whole, with its hash', async () => {
    const text = 'Grüße\r\n\r\nlast\n'
    await given().files.write('notes/a.md', text)
    expect(await read({ path: '/workspace/notes/a.md' })).toEqual({
      path: '/notes/a.md',
      content: '1|Grüße\n2|\n3|last',
      total_lines: 3,
      lines_shown: { start: 1, end: 3 },
      truncated: false,
      size_bytes: 16,
      content_hash: `sha256:${createHash('sha256').update(text).digest('hex')}`,
      content_type: 'text/markdown',
      read_mode: 'text',
      truncation: { truncated: false, bytes_returned: 16, bytes_total: 16, reason: 'size_cap' },
    })
  })

  test('BOX-1: empty files, missing final newlines and byte order marks are handled', async () => {
    await given().files.write('empty', '')
    expect(await read({ path: 'empty' })).toMatchObject({
      content: '',
      total_lines: 0,
      lines_shown: { start: 0, end: 0 },
      truncated: false,
    })
    await given().files.write('one', '\ufeffone\ntwo')
    expect(await read({ path: 'one' })).toMatchObject({ content: '1|one\n2|two', total_lines: 2 })
  })

  test('BOX-1: a page has 2000 lines and an offset to continue', async () => {
    await given().files.write('long.txt', numbers(1, 2500))
    const first = await read({ path: 'long.txt' })
    expect(first).toMatchObject({
      total_lines: 2500,
      lines_shown: { start: 1, end: 2000 },
      truncated: true,
      truncation: {
        truncated: true,
        next_offset: 2000,
        resume_hint: 'Call read_file with offset 2000 to read on at line 2001.',
        reason: 'line_cap',
      },
    })
    const next = await read({ path: 'long.txt', offset: first.truncation.next_offset })
    expect(next).toMatchObject({ lines_shown: { start: 2001, end: 2500 }, truncated: false })
    expect(next.truncation).not.toHaveProperty('next_offset')
    expect(next.truncation).not.toHaveProperty('resume_hint')
    expect(next.content.split('\n')[0]).toBe('2001|line 2001')
    expect(await read({ path: 'long.txt', offset: 10, limit: 2 })).toMatchObject({
      content: '11|line 11\n12|line 12',
      truncated: true,
    })
    expect(await given().failure('read_file', { path: 'long.txt', offset: 2500 })).toEqual({
      code: 'offset_past_end',
      class: 'invalid_request',
      message: "offset 2500 is past the end: 'long.txt' has 2500 lines.",
    })
  })

  test('BOX-1: a page has at most 50 KB in whole lines, and every line can be reached', async () => {
    const lines = Array.from({ length: 700 }, (_, at) => `${at} ${'ä€😀'.repeat(20)}`)
    await given().files.write('wide.txt', `${lines.join('\n')}\n`)
    const got: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: Read = await read({ path: 'wide.txt', offset })
      expect(Buffer.byteLength(page.content)).toBeLessThanOrEqual(50 * 1024)
      if (page.truncated) expect(page.truncation.reason).toBe('size_cap')
      got.push(...page.content.split('\n').map((line) => line.slice(line.indexOf('|') + 1)))
      offset = page.truncation.next_offset
    }
    expect(got).toEqual(lines)
  })

  test('BOX-1: a line that is too long is cut at a character boundary, with a note', async () => {
    for (const shift of ['', 'x', 'xx', 'xxx']) {
      await given().files.write('one-line.txt', `${shift}${'😀'.repeat(20_000)}\nnext\n`)
      const page = await read({ path: 'one-line.txt' })
      expect(page.content.isWellFormed()).toBe(true)
      expect(page.content).not.toContain('\ufffd')
      expect(Buffer.byteLength(page.content)).toBeLessThanOrEqual(50 * 1024)
      expect(Buffer.byteLength(page.content)).toBeGreaterThan(50 * 1024 - 8)
      expect(page).toMatchObject({
        read_mode: 'minified',
        note: 'Line 1 is longer than what is shown at once: only its beginning is here.',
        truncation: { reason: 'size_cap', next_offset: 1 },
      })
    }
  })

  test('BOX-1: the last 500 lines of a log are read unless an offset is given', async () => {
    await given().files.write('run.log', `${numbers(1, 1200)}\n`)
    const tail = await read({ path: 'run.log' })
    expect(tail).toMatchObject({
      read_mode: 'tail',
      lines_shown: { start: 701, end: 1200 },
      truncated: true,
      truncation: { next_offset: 0, reason: 'line_cap' },
    })
    expect(tail.content.startsWith('701|line 701\n')).toBe(true)
    expect(await read({ path: 'run.log', limit: 1 })).toMatchObject({ content: '1200|line 1200' })
    expect(await read({ path: 'run.log', offset: 0, limit: 1 })).toMatchObject({
      content: '1|line 1',
      read_mode: 'text',
    })
    await given().files.write('big.out', `${'y'.repeat(400)}\n`.repeat(1000))
    const big = await read({ path: 'big.out' })
    expect(big.lines_shown.end).toBe(1000)
    expect(big.lines_shown.start).toBeGreaterThan(850)
    expect(big.truncation.reason).toBe('size_cap')
    await given().files.write('short.log', 'a\nb\n')
    expect(await read({ path: 'short.log' })).toMatchObject({ content: '1|a\n2|b', truncated: false })
    await given().files.write('huge-line.log', `first\n${'z'.repeat(60_000)}`)
    expect(await read({ path: 'huge-line.log' })).toMatchObject({
      lines_shown: { start: 2, end: 2 },
      note: expect.stringContaining('Line 2') as string,
    })
  })

  test('BOX-1: a table is read in pages of 100 rows, each with the header', async () => {
    await given().files.write('t.csv', `name,age\n${numbers(1, 300)}\n`)
    const first = await read({ path: 't.csv' })
    expect(first).toMatchObject({
      read_mode: 'rows',
      lines_shown: { start: 1, end: 101 },
      truncation: { reason: 'row_cap', next_offset: 101 },
    })
    const second = await read({ path: 't.csv', offset: 101 })
    expect(second.content.split('\n').slice(0, 2)).toEqual(['1|name,age', '102|line 101'])
    expect(second.lines_shown).toEqual({ start: 102, end: 201 })
  })

  test('BOX-1: a page of a minified file has 20 lines', async () => {
    await given().files.write('app.min.js', numbers(1, 50))
    expect(await read({ path: 'app.min.js' })).toMatchObject({
      read_mode: 'minified',
      lines_shown: { end: 20 },
      truncation: { next_offset: 20 },
    })
  })

  test('BOX-1: a binary file returns its metadata without content', async () => {
    for (const [name, bytes] of [
      ['a.bin', Buffer.from('text all the same')],
      ['b', Buffer.from([0xff, 0xfe, 0x80])],
      ['c.txt', Buffer.from('a\0b')],
      ['d.pdf', Buffer.from('%PDF-1.7')],
    ] as const) {
      await given().files.write(name, bytes)
      const value = await read({ path: name })
      expect(value).toMatchObject({
        size_bytes: bytes.length,
        read_mode: 'binary',
        content_hash: expect.stringMatching(/^sha256:/) as string,
      })
      expect(value).not.toHaveProperty('content')
    }
  })

  test.for([
    ['image/png', png],
    ['image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image/gif', Buffer.from('GIF89a\x01\x00')],
    ['image/webp', Buffer.from('RIFF\x24\x00\x00\x00WEBPVP8 ')],
  ] as const)('BOX-1, VAL-5: %s is detected by its bytes and returned as an image', async ([mediaType, bytes]) => {
    await given().files.write('picture.txt', bytes)
    const outcome = await given().ask('read_file', { path: 'picture.txt' })
    if (outcome.status !== 'success') throw new Error(JSON.stringify(outcome))
    const value = outcome.value as Record<string, unknown>
    expect(value).toMatchObject({
      path: '/picture.txt',
      media_type: mediaType,
      size_bytes: bytes.length,
      read_mode: 'image',
    })
    expect(isAttachment(value.image)).toBe(true)
    expect(outcome.parts.filter(({ type }) => type !== 'text')).toHaveLength(1)
    expect(outcome.parts).toContainEqual(expect.objectContaining({ type: 'attachment' }))
    expect(JSON.stringify(outcome.parts)).not.toContain(bytes.toString('base64'))
  })

  test('BOX-1: an image too large for providers is only described', async () => {
    await given().files.write('large.png', Buffer.concat([png, Buffer.alloc(5 * 1024 * 1024)]))
    const value = await read({ path: 'large.png' })
    expect(value).not.toHaveProperty('image')
    expect(value.note).toBe('An image of more than 5242880 bytes is not shown.')
  })

  test('BOX-1: missing files, directories and invalid arguments fail with a specific message', async () => {
    await given().files.write('d/x', '')
    expect(await given().failure('read_file', { path: 'nothing.md' })).toEqual({
      code: 'file_not_found',
      class: 'execution',
      message: 'File not found: nothing.md',
    })
    expect(await given().failure('read_file', { path: 'd' })).toMatchObject({
      code: 'file_is_directory',
      message: "Path 'd' is a directory, not a file. Use list_directory instead.",
    })
    expect(await given().failure('read_file', { path: 'a\0b' })).toMatchObject({
      code: 'file_path_invalid',
      class: 'invalid_request',
    })
    for (const input of [{}, { path: '' }, { path: 'x', offset: -1 }, { path: 'x', limit: 0 }, { path: 'x', lines: 3 }])
      expect((await given().failure('read_file', input)).code).toBe('invalid_arguments')
  })

  test('BOX-1: a page near the end of a very large text is read', async () => {
    await given().files.write('huge.txt', 'some words on a line\n'.repeat(700_000))
    expect(await read({ path: 'huge.txt', offset: 699_999 })).toMatchObject({
      content: '700000|some words on a line',
      total_lines: 700_000,
    })
  })
})
