// edit_file: exact, unique, non-overlapping edits of the version that was read, and a valid unified diff.

import { fc } from '../../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { applyEdits, unifiedDiff, type Edit } from '../../../src/toolbox/files/diff.ts'
import { applyReplacements } from '../../../src/toolbox/files/apply-edits.ts'
import { wherever } from '../toolbox-session.ts'

const edit = (old_text: string, new_text: string) => ({ old_text, new_text })

wherever('edit_file', (given) => {
  const make = async (text: string | Uint8Array, path = 'f.txt'): Promise<string> =>
    (await given().files.write(path, text)).hash as string
  const textOf = async (path = 'f.txt'): Promise<string | null> => (await given().files.read(path)).text

  test('BOX-2: replaces text and returns hash, line and diff of the change', async () => {
    const hash = await make('one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n')
    const value = await given().value('edit_file', {
      path: '/workspace/f.txt',
      expected_hash: hash,
      edits: [edit('nine\n', ''), edit('two', 'zwei')],
    })
    const text = 'one\nzwei\nthree\nfour\nfive\nsix\nseven\neight\nten\n'
    expect(await textOf()).toBe(text)
    expect(value).toEqual({
      path: '/f.txt',
      size_bytes: text.length,
      content_hash: (await given().files.read('f.txt')).stat.hash,
      previous_content_hash: hash,
      applied_edits: 2,
      first_changed_line: 2,
      diff: [
        '--- a/f.txt',
        '+++ b/f.txt',
        '@@ -1,10 +1,9 @@',
        ' one',
        '-two',
        '+zwei',
        ' three',
        ' four',
        ' five',
        ' six',
        ' seven',
        ' eight',
        '-nine',
        ' ten',
        '',
      ].join('\n'),
      diff_truncated: false,
    })
    // The returned hash is valid for the next edit.
    const { content_hash: next } = value as { content_hash: string }
    expect(
      await given().value('edit_file', { path: 'f.txt', expected_hash: next, edits: [edit('ten', 'zehn')] }),
    ).toMatchObject({
      previous_content_hash: next,
    })
  })

  test('BOX-2: all edits are matched against the original, not against each other', async () => {
    const hash = await make('a b c')
    await given().value('edit_file', {
      path: 'f.txt',
      expected_hash: hash,
      edits: [edit('a', 'b'), edit('b', 'c'), edit('c', 'a')],
    })
    expect(await textOf()).toBe('b c a')
  })

  test('BOX-2: an edit of an outdated version is rejected', async () => {
    const hash = await make('old')
    const now = await make('new')
    expect(
      await given().failure('edit_file', { path: 'f.txt', expected_hash: hash, edits: [edit('new', 'x')] }),
    ).toEqual({
      code: 'file_changed',
      class: 'execution',
      message: `File 'f.txt' changed since the last read. Expected ${hash}, found ${now}. Read the file again before editing.`,
    })
    expect(await textOf()).toBe('new')
  })

  test('BOX-2: missing, ambiguous or overlapping texts are rejected and nothing is written', async () => {
    const hash = await make('aaa bcd bcd')
    const refused = (...edits: object[]) => given().failure('edit_file', { path: 'f.txt', expected_hash: hash, edits })
    expect(await refused(edit('xyz', '1'))).toEqual({
      code: 'old_text_not_found',
      class: 'invalid_request',
      message: "Could not find an exact match for old_text: 'xyz'",
    })
    for (const twice of ['bcd', 'aa', 'a'])
      expect(await refused(edit(twice, '1'))).toMatchObject({
        code: 'old_text_ambiguous',
        message: `old_text is ambiguous and matched multiple locations: '${twice}'. Give more of the text around it.`,
      })
    expect(await refused(edit('aaa b', '1'), edit(' bcd b', '2'))).toMatchObject({
      code: 'edits_overlap',
      message: 'Edits overlap in the target file',
    })
    expect(await refused(edit('aaa', '1'), edit('aaa', '2'))).toMatchObject({ code: 'edits_overlap' })
    expect(await refused(edit('aaa', 'aaa'))).toMatchObject({ code: 'nothing_to_change' })
    // A valid edit is not applied if another one in the same call is invalid.
    expect(await refused(edit('aaa', '1'), edit('xyz', '2'))).toMatchObject({ code: 'old_text_not_found' })
    for (const edits of [[], [edit('', 'x')], [{ old_text: 'a' }], undefined])
      expect((await given().failure('edit_file', { path: 'f.txt', expected_hash: hash, edits })).code).toBe(
        'invalid_arguments',
      )
    expect(
      (await given().failure('edit_file', { path: 'f.txt', expected_hash: 'abc', edits: [edit('a', 'b')] })).code,
    ).toBe('invalid_arguments')
    expect(await textOf()).toBe('aaa bcd bcd')
  })

  test('BOX-2: line endings and a byte order mark are preserved', async () => {
    const hash = await make('\ufeffone\r\ntwo\r\nthree\r\nfour\nfive\r\n')
    await given().value('edit_file', {
      path: 'f.txt',
      expected_hash: hash,
      edits: [edit('one\ntwo', 'eins\nzwei\nzweieinhalb'), edit('four\r\nfive', 'vier\nfünf')],
    })
    expect(await textOf()).toBe('\ufeffeins\r\nzwei\r\nzweieinhalb\r\nthree\r\nvier\r\nfünf\r\n')
    const plain = await make('a\nb\n')
    await given().value('edit_file', { path: 'f.txt', expected_hash: plain, edits: [edit('b', 'b\r\nc')] })
    expect(await textOf()).toBe('a\nb\nc\n')
  })

  test('BOX-2: only text files can be edited', async () => {
    const hash = await make(Buffer.from([0xff, 0xfe]))
    expect(await given().failure('edit_file', { path: 'f.txt', expected_hash: hash, edits: [edit('a', 'b')] })).toEqual(
      {
        code: 'not_text',
        class: 'execution',
        message:
          "File 'f.txt' is not a text file. edit_file only supports text files; use write_file for binary/base64 content.",
      },
    )
    expect(
      await given().failure('edit_file', { path: 'none', expected_hash: hash, edits: [edit('a', 'b')] }),
    ).toMatchObject({
      code: 'file_not_found',
    })
  })

  test('BOX-2: exactly one of several concurrent edits of one version is applied', async () => {
    const hash = await make('start')
    const calls = ['x', 'y', 'z'].map((letter) => ({
      id: letter,
      name: 'edit_file',
      input: { path: 'f.txt', expected_hash: hash, edits: [edit('start', letter)] },
    }))
    const outcomes = (await Promise.all(calls.map((call) => given().runtime.session('s').run([call])))).flat()
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['failure', 'failure', 'success'])
    expect(outcomes.find(({ status }) => status === 'success')?.callId).toBe(await textOf())
  })

  test('BOX-1: a long diff is truncated and marked as truncated', async () => {
    const lines = Array.from({ length: 2000 }, (_, at) => `line ${at} of many`)
    const hash = await make(lines.join('\n'))
    const value = await given().value<{ diff: string; diff_truncated: boolean }>('edit_file', {
      path: 'f.txt',
      expected_hash: hash,
      edits: [edit(lines.join('\n'), lines.map((line) => `${line}!`).join('\n'))],
    })
    expect(value.diff_truncated).toBe(true)
    expect(value.diff.length).toBeLessThanOrEqual(16_000)
    expect(value.diff.length).toBeGreaterThan(15_900)
  })
})

describe('unified diff', () => {
  const line = fc.constantFrom('a', 'b', '', 'c d', 'ü😀')
  const text = fc
    .tuple(fc.array(line, { maxLength: 25 }), fc.boolean())
    .map(([lines, ended]) => lines.join('\n') + (ended ? '\n' : ''))
  const case_ = text.chain((before) =>
    fc.record({
      before: fc.constant(before),
      cuts: fc.uniqueArray(fc.nat(before.length), { maxLength: 8 }).map((each) => each.toSorted((a, b) => a - b)),
      texts: fc.array(fc.constantFrom('', 'x', '\n', 'y\n', '\nz', 'p\nq\n'), { minLength: 4, maxLength: 4 }),
    }),
  )

  test('BOX-2: transforms the old text into the new one for any edits', () => {
    fc.assert(
      fc.property(case_, ({ before, cuts, texts }) => {
        const edits: Edit[] = []
        for (let at = 0; at + 1 < cuts.length; at += 2)
          edits.push({ start: cuts[at] as number, end: cuts[at + 1] as number, text: texts[at / 2] ?? '' })
        const after = applyEdits(before, edits)
        const { diff, firstLine, truncated } = unifiedDiff('/f', before, edits)
        expect(truncated).toBe(false)
        expect(patched(before, diff)).toBe(after)
        if (before !== after) {
          const [old, now] = [before.split('\n'), after.split('\n')]
          expect(old.slice(0, firstLine - 1)).toEqual(now.slice(0, firstLine - 1))
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('BOX-2: text outside the edits stays byte for byte the same for any line endings', () => {
    const mixed = fc.array(fc.tuple(fc.constantFrom('a', 'bb', ''), fc.constantFrom('\n', '\r\n', '\r')), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(mixed, mixed, (head, tail) => {
        const [start, end] = [head, tail].map((part) => part.map((each) => each.join('')).join('')) as [string, string]
        const { text } = applyReplacements('/f', `${start}<X>${end}`, [edit('<X>', '<Y>')])
        expect(text).toBe(`${start}<Y>${end}`)
      }),
    )
  })
})

/** Applies a unified diff strictly. */
function patched(before: string, diff: string): string {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const out: string[] = []
  const lines = diff.split('\n').slice(2, -1)
  let at = 0
  for (let index = 0; index < lines.length; index++) {
    const row = lines[index] as string
    const hunk = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(row)
    if (hunk) {
      const [, from, count] = hunk.map(Number) as [number, number, number]
      const start = count === 0 ? from : from - 1
      out.push(...old.slice(at, start))
      at = start
      const [, , , to, added] = hunk.map(Number) as [number, number, number, number, number]
      expect(out.length).toBe(added === 0 ? to : to - 1)
      continue
    }
    const isLast = lines[index + 1] === '\\ No newline at end of file'
    const content = `${row.slice(1)}${isLast ? '' : '\n'}`
    if (row[0] !== '+') expect(old[at++]).toBe(content)
    if (row[0] !== '-') out.push(content)
    if (isLast) index++
  }
  return [...out, ...old.slice(at)].join('')
}
