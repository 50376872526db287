// The terminal-text cleaner: each of its rules, and linear time for hostile input.

import { fc } from '../../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { cleanTerminal, cleanValue, hasTerminalCodes } from '../../../src/calls/output/clean-terminal-text.ts'
import { type Json, mintAttachment } from '../../../src/core/tool-value.ts'

const esc = '\u001b'

describe('cleaned terminal text', () => {
  test.for([
    ['plain text, tabs and newlines stay', 'a\tb\nc 日本 👍\n', 'a\tb\nc 日本 👍\n'],
    ['colours', `${esc}[1;31mred${esc}[0m and ${esc}[38;5;200mpink${esc}[m`, 'red and pink'],
    ['private and odd CSI', `${esc}[?25lhidden${esc}[?25h${esc}[2 q${esc}[>4;1m`, 'hidden'],
    [
      'a title ended by BEL, a link ended by ST',
      `${esc}]0;title\u0007a${esc}]8;;http://x${esc}\\link${esc}]8;;${esc}\\`,
      'alink',
    ],
    ['DCS, SOS, PM, APC', `${esc}P1$r${esc}\\a${esc}Xsos${esc}\\b${esc}^pm${esc}\\c${esc}_apc${esc}\\d`, 'abcd'],
    ['8-bit forms', '\u009b31mred\u009b0m\u009d0;t\u009cx\u0090q\u009cy\u0085z', 'redxyz'],
    ['charset and two-character escapes', `${esc}(Ba${esc}7b${esc}=c${esc}cd`, 'abcd'],
    ['bells, nulls, form feeds, DEL', 'a\u0007b\u0000c\u000cd\u007fe', 'abcde'],
    ['a redraw keeps what came last', '10%\r50%\r100%\nnext', '100%\nnext'],
    ['shorter text replaces longer', 'downloading\rdone', 'done'],
    ['a return that nothing follows changes nothing', 'kept\r', 'kept'],
    ['a return before a colour and text still redraws', `old\r${esc}[32mnew`, 'new'],
    ['Windows newlines are newlines', 'a\r\nb\r\r\nc', 'a\nb\nc'],
    ['only the redrawn line is redrawn', 'one\ntwo\r2\nthree', 'one\n2\nthree'],
    ['cursor to column 1 redraws like a return', `old${esc}[1Gnew ${esc}[0K${esc}[Gnewer${esc}[5G!`, 'newer!'],
    ['backspaces', 'abc\b\bXY', 'aXY'],
    ['a backspace takes a whole character and stops at the line', 'a👍\bb\n\b\bc', 'ab\nc'],
    ['a backspace right after a return does nothing', 'ab\r\bc', 'c'],
    ['nor does it after a return that nothing follows', 'ab\r\b\nc', 'ab\nc'],
    ['overstruck bold', 'N\bNA\bAM\bME\bE', 'NAME'],
    ['a string that never ends hides its line only', `a${esc}]0;title\nb${esc}Pdcs\nc`, 'a\nb\nc'],
    ['another escape ends a string', `${esc}]0;title${esc}[31mred`, 'red'],
    ['a CSI that is none is dropped up to what does not belong', `a${esc}[31\nb${esc}[日`, 'a\nb日'],
    ['an escape at the end', `a${esc}`, 'a'],
    ['a CSI at the end', `a${esc}[1;`, 'a'],
  ] as const)('VAL-7: %s', ([, given, read]) => {
    expect(cleanTerminal(given)).toBe(read)
  })

  test('VAL-7: any input: no control characters remain, cleaning is idempotent, nothing grows', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        esc,
        `${esc}[`,
        `${esc}]`,
        `${esc}P`,
        '\r',
        '\n',
        '\b',
        '\t',
        '\u0007',
        `${esc}\\`,
        '\u009b',
        '\u009c',
        '1;',
        'm',
        'G',
      ),
      fc.string({ unit: 'binary', maxLength: 5 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const given = pieces.join('')
        const read = cleanTerminal(given)
        const codes = Array.from(read, (character) => character.codePointAt(0) ?? 0)
        expect(codes.filter((code) => (code < 32 && code !== 9 && code !== 10) || (code >= 127 && code < 160))).toEqual(
          [],
        )
        expect(cleanTerminal(read)).toBe(read)
        expect(read.length).toBeLessThanOrEqual(given.length)
        expect(read.match(/\n/g)?.length ?? 0).toBe(given.match(/\n/g)?.length ?? 0)
      }),
      { numRuns: 500 },
    )
  })

  // Four times the input may take eight times as long; quadratic would be sixteen. CPU time, because the machine is
  // shared.
  test.for([
    ['escapes', esc],
    ['open strings', `${esc}]`],
    ['open sequences', `${esc}[`],
    ['endless parameters', '1;'],
    ['returns', 'a\r'],
    ['backspaces', 'ab\b\b'],
  ] as const)('VAL-7: a long run of %s takes linear time', ([, piece]) => {
    const timed = (count: number): number => {
      const text = `${esc}[${piece.repeat(count)}`
      const before = process.cpuUsage()
      cleanTerminal(text)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    timed(100_000)
    expect(timed(2_000_000)).toBeLessThan(Math.max(400, timed(500_000) * 8))
  })
})

describe('values', () => {
  test('VAL-7: a value without terminal codes is returned unchanged', () => {
    const value: Json = { a: ['x\r\ny', { b: 'c\n' }], n: 1 }
    expect(cleanValue(value)).toBe(value)
    expect(hasTerminalCodes('x\r\ny')).toBe(false)
    expect(hasTerminalCodes('x\ry')).toBe(true)
  })

  test('VAL-7: only affected parts are copied; attachments and unusual keys are preserved', () => {
    const image = mintAttachment({ id: 'att_1', mediaType: 'image/png', bytes: 3 }) as unknown as Json
    const same: Json = { deep: ['kept'] }
    const value = JSON.parse(`{"__proto__":"a\\rb","list":["\\u001b[1mx"],"1":2}`) as { [key: string]: Json }
    Object.assign(value, { same, image })
    const cleaned = cleanValue(value) as { [key: string]: Json }
    expect(JSON.stringify({ ...cleaned, image: 0 })).toBe(
      '{"1":2,"__proto__":"b","list":["x"],"same":{"deep":["kept"]},"image":0}',
    )
    expect(cleaned.same).toBe(same)
    expect(cleaned.image).toBe(image)
    expect(value.list).toEqual([`${esc}[1mx`])
  })
})
