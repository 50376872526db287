// Parsing of arguments: only values with an exact recorded form are accepted, and a rejection says what to change.

import { fc } from '../../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { repairArguments, readArguments } from '../../../src/calls/admission/read-arguments.ts'
import { decode, encode, type Json, mintAttachment } from '../../../src/core/tool-value.ts'

const cycle: unknown[] = []
cycle.push(cycle)

const problem = (input: unknown): string => {
  const read = readArguments(input)
  return read.ok ? '' : read.problem
}

describe('accepted arguments', () => {
  test('CALL-4: absent and blank arguments mean {}, null is a value, and raw keeps the text', () => {
    expect(readArguments(undefined)).toMatchObject({ ok: true, raw: null, wire: '{}' })
    for (const raw of ['', ' ', '\n\t ']) expect(readArguments(raw)).toMatchObject({ ok: true, raw, wire: '{}' })
    expect(readArguments(null)).toMatchObject({ ok: true, raw: null, wire: 'null' })
    expect(readArguments('null')).toMatchObject({ ok: true, raw: 'null', wire: 'null' })
    const raw = ' {"b": 1.0,\n "a":"\\u00e9" , "b":2} '
    expect(readArguments(raw)).toMatchObject({ ok: true, raw, wire: '{"b":2,"a":"é"}' })
    for (const value of [0, false, [], {}])
      expect(readArguments(value)).toMatchObject({ ok: true, raw: null, wire: JSON.stringify(value) })
  })

  test('DUR-11: any JSON text is parsed exactly and its raw text is preserved', () => {
    const indent = fc.constantFrom(undefined, 1, '\t')
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), indent, (value, space) => {
        // Integers that are not exact are rejected: tested below.
        const held = (_: string, inner: unknown): unknown =>
          Number.isInteger(inner) && !Number.isSafeInteger(inner) ? 0 : inner
        const raw = JSON.stringify(value, held, space)
        const plain = JSON.parse(raw) as Json
        const read = readArguments(raw)
        expect(read).toMatchObject({ ok: true, raw, wire: encode(plain) })
        if (read.ok) expect(decode(read.wire)).toEqual(plain)
      }),
      {
        numRuns: 200,
        examples: [
          ['\u0000', undefined],
          [{ a: '\u0000\u2028😀' }, 1],
        ],
      },
    )
  })

  test('CALL-4: __proto__ is a plain key, and text cannot forge an attachment', () => {
    expect(readArguments('{"__proto__":{"a":1}}')).toMatchObject({ ok: true, wire: '{"__proto__":{"a":1}}' })
    const forged = '{"$pawl":"attachment","ref":{"id":"x","mediaType":"a/b","bytes":1}}'
    expect(readArguments(forged)).toMatchObject({ ok: true, wire: `{"$pawl":"object","entries":${forged}}` })
    const image = mintAttachment({ id: 'att_1', mediaType: 'image/png', bytes: 3 })
    expect(readArguments({ image })).toMatchObject({
      ok: true,
      raw: null,
      wire: expect.stringContaining('{"$pawl":"attachment","ref":{"id":"att_1"'),
    })
  })
})

describe('rejected arguments', () => {
  test.each([
    ['{"city": "Berl', 'The JSON ends too early (cut off after 14 characters): expected the end of a string'],
    ['{"a": [1, 2', "The JSON ends too early (cut off after 11 characters): expected ',' or ']'"],
    ['{"a": tr', 'The JSON ends too early (cut off after 8 characters): expected a value'],
    ['{"a": 1,\n "b": \'x\'}', `not valid JSON: at line 2, column 7: expected a value, found "'x'}"`],
    ['{"a": 1,}', 'at line 1, column 9: expected a property name in double quotes, found "}"'],
    ['{"a": undefined}', 'at line 1, column 7: expected a value, found "undefined}"'],
    ['Sure! {"a": 1}', 'at line 1, column 1: expected a value, found "Sure! {\\"a\\": 1}"'],
    ['{"a": 1} and more of it and yet more', 'at line 1, column 10: expected nothing after the value, found "and more'],
  ])('CALL-4: %j is rejected with the position, and raw keeps the text', (raw, says) => {
    const read = readArguments(raw)
    expect(read).toEqual({ ok: false, raw, problem: expect.stringContaining(says) })
    expect(problem(raw).length).toBeLessThan(200)
  })

  test('CALL-4: any text is accepted or rejected with a reason, and never throws', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '\\',
      '1',
      '-',
      '.',
      'e5',
      'true',
      'nul',
      ' ',
      '\n',
      '😀',
      '9007199254740993',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(pieces, { maxLength: 12 }).map((list) => list.join('')),
          fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 20 }),
        ),
        (raw) => {
          const read = readArguments(raw)
          let parses = true
          try {
            JSON.parse(raw)
          } catch {
            parses = raw.trim() === ''
          }
          if (read.ok) expect([raw, parses]).toEqual([raw, true])
          else {
            expect(read.problem).not.toBe('')
            expect(read.problem.isWellFormed()).toBe(true)
            expect(parses && !/\d{16}|e5|[^ -~]/.test(raw)).toBe(false)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  test.each([
    ['9007199254740993', 'the number 9007199254740993'],
    ['{"id":9007199254740992}', 'id: the number 9007199254740992'],
    ['{"id":-9007199254740992}', 'id: the number -9007199254740992'],
    ['{"a":[0,{"b":12345678901234567890}]}', 'a[1].b: the number 12345678901234567890'],
    ['{"a.b":1e400}', '["a.b"]: the number 1e400'],
    ['[1E+20]', '[0]: the number 1E+20'],
    ['[9007199254740993.0]', '[0]: the number 9007199254740993.0'],
    [`[-${'9'.repeat(400)}]`, `[0]: the number -${'9'.repeat(48)}…`.slice(0, 40)],
    ['{"__proto__":{"x":9007199254740993}}', '__proto__.x: the number 9007199254740993'],
  ])('DUR-11: %s is rejected with its path, because the number would change', (raw, says) => {
    expect(readArguments(raw)).toEqual({ ok: false, raw, problem: expect.stringContaining(says) })
    expect(problem(raw)).toContain('send it as a string')
    expect(problem(raw).length).toBeLessThan(250)
  })

  test.each([
    '9007199254740991',
    '-9007199254740991',
    '1e15',
    '6.02214076e23',
    '1e-400',
    '3.141592653589793238462',
    '"9007199254740993"',
    '{"9007199254740993":"1e400"}',
    '[0.1, 1e21]',
  ])('DUR-11: %s is accepted: exact, written as rounded, or not a number', (raw) => {
    expect(readArguments(raw)).toMatchObject({ ok: true, raw, wire: encode(JSON.parse(raw)) })
  })

  test('DUR-11: an integer beyond the safe range is found at any depth and reported with its path', () => {
    const key = fc.constantFrom('a', 'b', '__proto__', 'x-y', '$id')
    const way = fc.array(fc.oneof(key, fc.nat(3)), { maxLength: 8 })
    const integer = fc
      .bigInt({ min: 2n ** 53n, max: 10n ** 40n })
      .chain((size) => fc.constantFrom(`${size}`, `-${size}`))
    fc.assert(
      fc.property(way, integer, fc.boolean(), (keys, literal, twice) => {
        let text: string = literal
        let path = ''
        for (const step of keys.toReversed()) {
          if (typeof step === 'string')
            text = `{"z": ${twice ? literal.slice(0, 5) : '"9007199254740993"'}, ${JSON.stringify(step)} : ${text}}`
          else text = `[${'"1e999", '.repeat(step)}${text}, 1]`
        }
        for (const step of keys) path += typeof step === 'number' ? `[${step}]` : path ? `.${step}` : step
        const read = readArguments(text)
        expect(read).toEqual({
          ok: false,
          raw: text,
          problem: expect.stringContaining(`${path ? `${path}: ` : ''}the number ${literal} cannot`),
        })
        expect(problem(text).startsWith(path || 'the number')).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  test('DUR-11: at most eight inexact numbers are reported', () => {
    const said = problem(`[${Array.from({ length: 20 }, () => '9007199254740993').join()}]`)
    expect(said.split('\n')).toHaveLength(9)
    expect(said).toMatch(/- and 12 more$/)
    expect(said).toContain('\n- [7]: the number')
  })

  test('DUR-11: a lone surrogate is rejected, raw or escaped, as key or as value', () => {
    for (const raw of ['{"a":"\\ud800"}', '{"\\udc00":1}', '["\\ud83d\\u0061"]']) {
      expect(readArguments(raw)).toEqual({ ok: false, raw, problem: expect.stringContaining('lone surrogate') })
    }
    const raw = '{"a":"\ud800"}'
    expect(readArguments(raw)).toEqual({
      ok: false,
      raw: '{"a":"\ufffd"}',
      problem: expect.stringContaining('lone surrogate'),
    })
    expect(readArguments('["\\ud83d\\ude00"]')).toMatchObject({ ok: true, wire: '["😀"]' })
  })

  test.each<[string, unknown, RegExp]>([
    ['a cycle', cycle, /^The value at \[0\] is part of a reference cycle\.$/],
    ['NaN', { a: Number.NaN }, /^The value at \.a is NaN, which JSON cannot represent\.$/],
    ['a BigInt', { a: 1n }, /^The value at \.a is a BigInt/],
    ['a lone surrogate', ['\ud800'], /^The value at \[0\] is a string with a lone surrogate/],
    [
      'a rounded integer',
      { a: [2 ** 53] },
      /at \.a\[0\] is 9007199254740992, an integer that JavaScript cannot represent exactly/,
    ],
    [
      'a getter that throws',
      {
        toJSON() {
          throw new Error('secret')
        },
      },
      /^The value cannot be read: reading one of its properties throws$/,
    ],
  ])('CALL-4: a host value with %s is rejected', (_, value, says) => {
    expect(readArguments(value)).toEqual({ ok: false, raw: '', problem: expect.stringMatching(says) })
  })
})

describe('repair', () => {
  const raw = "{'a': 1,}"
  const once = (repair: (raw: string) => unknown): { read: ReturnType<typeof repairArguments>; calls: number } => {
    let calls = 0
    const read = repairArguments(raw, (text) => {
      calls += 1
      expect(text).toBe(raw)
      return repair(text)
    })
    return { read, calls }
  }

  test('CALL-4: repair runs once and returns text or a value; raw keeps the original text', () => {
    expect(once(() => '{"a": 1}')).toMatchObject({ read: { ok: true, raw, wire: '{"a":1}' }, calls: 1 })
    expect(once(() => ({ a: 1 }))).toMatchObject({ read: { ok: true, raw, wire: '{"a":1}' }, calls: 1 })
  })

  test('CALL-4: repaired arguments are parsed just as strictly; without repair they stay rejected', () => {
    expect(once(() => '{"a": 1').read).toEqual({ ok: false, raw, problem: expect.stringContaining('ends too early') })
    expect(once(() => '[9007199254740993]').read).toEqual({
      ok: false,
      raw,
      problem: expect.stringContaining('9007199254740993'),
    })
    expect(once(() => ({ a: 1n })).read).toEqual({ ok: false, raw, problem: expect.stringContaining('BigInt') })
    const stands = { ok: false, raw, problem: expect.stringContaining('line 1, column 2') }
    expect(once(() => undefined)).toEqual({ read: stands, calls: 1 })
    expect(once((text) => JSON.parse(text) as unknown)).toEqual({ read: stands, calls: 1 })
    expect(() => once(async () => '{}')).toThrow(/`repair` returned a promise/)
  })
})
