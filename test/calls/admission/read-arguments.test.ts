// Unit tests of argument parsing: the position of a JSON error, similar names, and problem texts.

import { describe, expect, test } from 'vitest'
import { argumentLimits, describeProblems, readArguments } from '../../../src/calls/admission/read-arguments.ts'
import { similarNames } from '../../../src/core/similar-names.ts'
import { findJsonError } from '../../../src/calls/admission/json-error-position.ts'

/** CPU time of this process; wall time would measure the load of the machine. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

describe('texts without visible content', () => {
  test.each(['', ' ', '\n', ' \t\r\n '])('CALL-4: %j means {}', (text) => {
    expect(readArguments(text)).toMatchObject({ ok: true, wire: '{}', raw: text })
  })

  test.each(['\ufeff', '\ufeff{}', ' \ufeff', '\u00a0', '\u3000', '\u2028', '\v', '\f', '\0', '\u200b'])(
    'CALL-4: %j is refused as unparseable JSON, with the raw text',
    (text) => {
      const problem = expect.stringMatching(/^The text is not valid JSON: .*, found "\\[\w\\{}]+"$/) as string
      expect(readArguments(text)).toEqual({ ok: false, raw: text, problem })
    },
  )
})

describe('position of a JSON error', () => {
  test.each([
    ['{"a":}', 5, 'a value'],
    ['{a:1}', 1, "a property name in double quotes or '}'"],
    ["{'a':1}", 1, "a property name in double quotes or '}'"],
    ['{"a" 1}', 5, "':' after the property name"],
    ['{"a":1,}', 7, 'a property name in double quotes'],
    ['[1,]', 3, 'a value'],
    ['[1 2]', 3, "',' or ']'"],
    ['[1}', 2, "',' or ']'"],
    ['{"a":1]', 6, "',' or '}'"],
    ['{}{}', 2, 'nothing after the value'],
    ['```json\n{}', 0, 'a value'],
    ['hello', 0, 'a value'],
    ['[True]', 1, 'a value'],
    ['[truex]', 5, "',' or ']'"],
    ['[nul, 1]', 1, 'a value'],
    ['[NaN]', 1, 'a value'],
    ['[01]', 2, "',' or ']'"],
    ['[1.]', 2, "',' or ']'"],
    ['[+1]', 1, 'a value'],
    ['["\\x"]', 2, 'a valid escape'],
    ['["\\u12g4"]', 2, 'a valid escape'],
    ['["a\nb"]', 3, 'no raw control character'],
    ['{"a\tb":1}', 3, 'no raw control character'],
    ['\ufeff{}', 0, 'a value'],
    ['[1] // done', 4, 'nothing after the value'],
  ])('CALL-4: %j breaks at offset %d', (text, at, expected) => {
    expect(() => JSON.parse(text)).toThrow()
    expect(findJsonError(text)).toEqual({ at, atEnd: false, expected: expect.stringContaining(expected) })
  })

  test('CALL-4: every prefix of a JSON text is reported as cut off, or is JSON itself', () => {
    const text = ' {"a": [1, -2.5e+10, true, false, null, "x\\n\\u00e9\\"", {}], "b": {"c": []}, "d": 0} '
    for (let length = 1; length <= text.length; length += 1) {
      const part = text.slice(0, length)
      const found = findJsonError(part)
      if (text.trimEnd().length <= length) expect(found).toBeUndefined()
      else if (part.trim() !== '')
        expect([part, found]).toEqual([part, { at: part.length, atEnd: true, expected: expect.any(String) }])
    }
    for (const part of [
      '-',
      '1.',
      '1e',
      '1e-',
      't',
      'nul',
      '"',
      '"\\',
      '"\\u',
      '"\\u12',
      '[',
      '{',
      '{"a"',
      '{"a":',
      '[1,',
    ]) {
      expect([part, findJsonError(part)?.atEnd]).toEqual([part, true])
    }
  })

  test('CALL-4: the search is linear and not recursive', () => {
    const begun = cpuMs()
    expect(findJsonError('['.repeat(200_000))).toMatchObject({ atEnd: true })
    expect(findJsonError(`"${'a\\n'.repeat(300_000)}`)).toMatchObject({ atEnd: true })
    expect(findJsonError(`[${'1,'.repeat(200_000)}`)).toMatchObject({ atEnd: true })
    expect(cpuMs() - begun).toBeLessThan(3000)
  })
})

describe('similar names', () => {
  const known = [
    'get_weather',
    'get_forecast',
    'send_email',
    'read_file',
    'write_file',
    'delete_file',
    'list_directory',
    '__proto__',
    'add',
    'echo',
  ]

  test.each([
    ['getWeather', ['get_weather']],
    ['get-weather', ['get_weather']],
    ['GET_WEATHER', ['get_weather']],
    ['weather_get', ['get_weather']],
    ['get_wether', ['get_weather']],
    ['get_waether', ['get_weather']],
    ['weather', ['get_weather']],
    ['functions.get_weather', ['get_weather']],
    ['readfile', ['read_file']],
    ['__proto_', ['__proto__']],
    ['sned_email', ['send_email']],
    ['ehco', ['echo']],
  ])('CALL-5: %s is similar to %o', (name, first) => {
    expect(similarNames(name, known).slice(0, 1)).toEqual(first)
  })

  test('CALL-5: the most similar names come first, at most three, none for an unrelated name', () => {
    expect(similarNames('file', known)).toEqual(['read_file', 'write_file', 'delete_file'])
    expect(similarNames('file', known, 1)).toEqual(['read_file'])
    expect(similarNames('file', known, 0)).toEqual([])
    expect(similarNames('launch_rocket', known)).toEqual([])
    expect(similarNames('constructor', known)).toEqual([])
    expect(similarNames('', known)).toEqual([])
    expect(similarNames('___', known)).toEqual([])
    expect(similarNames('a', [])).toEqual([])
    expect(similarNames('add', ['add', 'add'])).toEqual(['add'])
    expect(similarNames('\ud800', known)).toEqual([])
  })

  test('CALL-5: ten thousand names, or a name of ten thousand characters, are fast', () => {
    const many = Array.from(
      { length: 10_000 },
      (_, index) => `tool_with_a_rather_long_name_to_compare_${index.toString(36)}_suffix`,
    )
    const begun = cpuMs()
    expect(similarNames('tool_with_a_rather_long_name_to_compare_5zz_sufix', many)).toHaveLength(3)
    similarNames('x_'.repeat(5000), many)
    // Only the first characters are compared, so these two are equal.
    expect(similarNames(`${'x'.repeat(96)}${'a'.repeat(9000)}`, [`${'x'.repeat(96)}${'b'.repeat(5000)}`])).toHaveLength(
      1,
    )
    similarNames('get_weather', ['a'.repeat(10_000), `get_weather${'_'.repeat(10_000)}`])
    expect(cpuMs() - begun).toBeLessThan(3000)
  })
})

describe('problem texts', () => {
  test('CALL-4: each problem has its path; at most eight are listed, then the count of the rest', () => {
    const problem = (index: number) => ({ path: `a[${index}]`, message: 'expected string (got 1)' })
    expect(describeProblems([problem(0), { path: '', message: 'expected object (got 5)' }])).toBe(
      'The arguments are not valid:\n- a[0]: expected string (got 1)\n- expected object (got 5)\nFix the arguments and call again.',
    )
    const lines = describeProblems(Array.from({ length: 20 }, (_, index) => problem(index))).split('\n')
    expect(lines).toHaveLength(11)
    expect(lines.at(-2)).toBe('- and 12 more')
    expect(describeProblems([{ path: 'x'.repeat(5000), message: 'y'.repeat(5000) }]).length).toBeLessThan(1000)
  })
})

describe('limits', () => {
  test('CALL-4: inputs at the limits are accepted, inputs above are rejected', () => {
    expect(argumentLimits).toEqual({ bytes: 1_048_576, depth: 512 })
    const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    expect(readArguments(deep(512)).ok).toBe(true)
    expect(readArguments(deep(513))).toMatchObject({
      ok: false,
      problem: expect.stringContaining('deeper than 512 levels'),
    })
    expect(readArguments('{"a":[1]}', { bytes: 9, depth: 2 }).ok).toBe(true)
    expect(readArguments('{"a":[1]}', { bytes: 8, depth: 2 })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('too large (9 bytes; at most 8)'),
    })
    expect(readArguments('{"a":[1]}', { bytes: 9, depth: 1 })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('deeper than 1 levels'),
    })
    expect(readArguments('"é€"', { bytes: 7, depth: 1 }).ok).toBe(true)
    expect(readArguments('"é€"', { bytes: 6, depth: 1 }).ok).toBe(false)
    expect(readArguments('"[[[[\\"[[["', { bytes: 99, depth: 1 }).ok).toBe(true)
    expect(readArguments({ a: [1] }, { bytes: 8, depth: 9 })).toMatchObject({
      ok: false,
      raw: '',
      problem: expect.stringContaining('too large'),
    })
    expect(readArguments({ a: [1] }, { bytes: 99, depth: 1 })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('deeper'),
    })
  })

  test('CALL-4: arguments that are too large or too deep are rejected before parsing', () => {
    const begun = cpuMs()
    const large = readArguments(`"${'x'.repeat(50_000_000)}"`)
    expect(large).toMatchObject({ ok: false, problem: expect.stringContaining('50,000,002 bytes') })
    expect(large.raw?.length).toBe(1_048_576)
    for (const bomb of [
      '['.repeat(1_000_000),
      '{"a":'.repeat(200_000),
      `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    ]) {
      expect(readArguments(bomb)).toMatchObject({ ok: false, problem: expect.stringContaining('deeper than 512') })
    }
    expect(cpuMs() - begun).toBeLessThan(3000)
  })
})
