import { expect, test } from 'vitest'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import type { Json } from '../../src/core/tool-value.ts'
import { differenceOf } from '../../src/tools/definition-difference.ts'

const between = (was: Json, now: Json): string[] => differenceOf(canonicalJson(was), canonicalJson(now)).split('\n')

test('POL-9: the difference is listed line by line, with description and hints first', () => {
  const was = {
    description: 'One\nTwo\nThree',
    hints: { readOnly: true },
    input: { properties: { a: { type: 'string' } }, required: ['a'] },
  }
  const now = {
    description: 'One\n2\nThree',
    hints: {},
    input: { properties: { a: { type: 'number' }, b: true }, required: ['a', 'b'] },
    examples: [{ a: 1 }],
    title: 'New',
  }
  expect(between(was, now)).toEqual([
    '+ title: "New"',
    '- description: "Two"',
    '+ description: "2"',
    '+ hints: {}',
    '- hints.readOnly: true',
    '+ examples[0].a: 1',
    '- input.properties.a.type: "string"',
    '+ input.properties.a.type: "number"',
    '+ input.properties.b: true',
    '+ input.required[]: "b"',
  ])
  expect(between({ a: 'true', b: 'x' }, { a: true, b: ['x'] })).toEqual([
    '- a: "true"',
    '+ a: true',
    '- b: "x"',
    '+ b[]: "x"',
  ])
})

test('POL-9: the difference makes invisible characters visible', () => {
  const hidden = [
    0x202e, 0x2066, 0x200b, 0x200d, 0xfeff, 0x00ad, 0x0007, 0x001b, 0x0085, 0x2028, 0x00a0, 0x3000, 0x3164, 0x2800,
    0xfe0f, 0xe0041, 0xe000, 0xd800, 0x034f, 0x000d, 0x0009,
  ]
  for (const each of hidden) {
    const code = each.toString(16).toUpperCase().padStart(4, '0')
    const [, line] = between({ description: 'Sends' }, { description: `Sen${String.fromCodePoint(each)}ds` })
    expect(line?.startsWith(`+ description: "Sen<U+${code}>ds"`), code).toBe(true)
    const [key] = between({}, { input: { [`a${String.fromCodePoint(each)}b`]: 1 } })
    // JSON escapes some of them itself.
    expect(key, code).toMatch(/^\+ input\."a(?:<U\+[0-9A-F]+>|\\u?[0-9a-z]+)b": 1/)
  }
  expect(between({ description: 'admin' }, { description: '\u0430dmin' })).toEqual([
    '- description: "admin"',
    '+ description: "\u0430dmin" (not Latin: U+0430)',
  ])
  expect(between({ description: 'caf\u00e9' }, { description: 'cafe\u0301' })[1]).toContain('(not Latin: U+0301)')
  expect(between({ description: 'x ' }, { description: 'x' })).toEqual(['- description: "x "', '+ description: "x"'])
})

test('POL-9: text from a provider cannot imitate a line of the difference', () => {
  const lines = between(
    { description: 'a' },
    { description: 'a\n- hints.destructive: true', input: { 'x: 1\n+ hints': { 'a.b': '\r+ y' } } },
  )
  expect(lines).toEqual(['+ description: "- hints.destructive: true"', '+ input."x: 1\\n+ hints"."a.b": "<U+000D>+ y"'])
})

test('POL-9: the difference is bounded, counts omissions and skips common prefixes', () => {
  const long = 'x'.repeat(10_000)
  const same = `…${'x'.repeat(59)} `
  expect(between({ description: `${long} good` }, { description: `${long} evil` })).toEqual([
    `- description: ${same}good"`,
    `+ description: ${same}evil"`,
  ])
  const [cut] = between({}, { description: long })
  expect(cut).toMatch(/… \(8002 more characters not shown\)$/)
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, 'y'.repeat(50)]))
  const all = between({}, { input: many })
  expect(all.join('\n').length).toBeLessThan(34_000)
  expect(all.at(-1)).toBe(
    `… ${5_000 - (all.length - 1)} more lines of changes not shown: read the definition at its source before you accept it.`,
  )
})
