// Schemas made to be expensive. They are refused when the tool is defined, or their check ends at the step budget; both
// count work, not time.

import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/tool-value.ts'
import { patternCost } from '../../src/tools/json-schema/pattern-cost.ts'
import { type CheckResult, compileSchema, type JsonSchema } from '../../src/tools/schema.ts'

const list = <T>(length: number, item: (index: number) => T): T[] => Array.from({ length }, (_, index) => item(index))
const record = (length: number, entry: (index: number) => [string, unknown]): Record<string, unknown> =>
  Object.fromEntries(list(length, entry))
const nested = (depth: number, wrap: (inner: object) => object): object =>
  list(depth, () => wrap).reduce<object>((inner, each) => each(inner), {})
/** Definitions of which each leads twice to the next. */
const doubling = (keyword: string, last: object): object => ({
  $ref: '#/$defs/d0',
  $defs: record(31, (index) => {
    const next = { $ref: `#/$defs/d${index + 1}` }
    return [`d${index}`, index === 30 ? last : { [keyword]: [next, next] }]
  }),
})
const wideObject = record(2_000, (index) => [`k${index}`, index])
const wideList = list(2_000, (index) => index)

describe('schemas refused when the tool is defined', () => {
  test.each<[string, object, RegExp]>([
    ['101 levels of allOf', nested(101, (inner) => ({ allOf: [inner] })), /deeper than 64 levels/],
    ['101 levels of items', nested(101, (items) => ({ items })), /deeper than 64 levels/],
    [
      'a chain of 101 references',
      { $defs: record(102, (n) => [`d${n}`, n === 101 ? {} : { $ref: `#/$defs/d${n + 1}` }]) },
      /more than 100 references/,
    ],
    ['2,000 patterns', { patternProperties: record(2_000, (n) => [`^a${n}$`, {}]) }, /patterns are too many or repeat/],
    ['100 long repetitions', { patternProperties: record(100, (n) => [`a{0,900}${n}`, {}]) }, /patterns are too many/],
    ['a repetition of repetitions', { pattern: '((a{1,50}){1,50}){1,50}' }, /patterns are too many or repeat/],
    [
      'a million dynamic references',
      {
        $dynamicAnchor: 'n',
        $defs: record(1_000, (n) => [`r${n}`, { $id: `https://x.invalid/${n}`, $dynamicAnchor: 'n' }]),
        properties: record(1_000, (n) => [`p${n}`, { $dynamicRef: '#n' }]),
      },
      /more than 50000 references/,
    ],
  ])('TOOL-6: %s is refused', (_, schema, message) => {
    expect(() => compileSchema(schema as JsonSchema, 'Tool x')).toThrow(message)
  })

  test('TOOL-6: 100 usual patterns, and a chain of 90 references, are accepted', () => {
    const usual = '^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}\\.[A-Za-z]{2,}$'
    compileSchema({ patternProperties: record(100, (n) => [usual + n, {}]) } as JsonSchema, 'Tool x')
    const chain = record(90, (n) => [`d${n}`, n === 89 ? {} : { $ref: `#/$defs/d${n + 1}` }])
    compileSchema({ $defs: chain } as JsonSchema, 'Tool x')
  })

  test.each<[string, number]>([
    ['abc', 63],
    ['a{3}', 63],
    ['(ab){10}', 90],
    ['(a{1,50}){1,20}', 1_080],
    ['[a-z{9}]{2,}', 62],
    ['\\{{4}', 64],
    ['a{b}', 64],
  ])('TOOL-6: the pattern %s is estimated at %d states', (source, cost) => {
    expect(patternCost(source)).toBe(cost)
  })
})

describe('checks that end at the step budget', () => {
  test.each<[string, object, unknown]>([
    ['references that double (allOf)', doubling('allOf', {}), 1],
    ['references that double (anyOf)', doubling('anyOf', { type: 'string' }), 1],
    ['references that double (oneOf)', doubling('oneOf', { type: 'string' }), 1],
    [
      'evaluated keys that are merged again and again',
      { unevaluatedProperties: false, ...doubling('anyOf', { additionalProperties: true }) },
      wideObject,
    ],
    ['4,900 counts of keys', { allOf: list(4_900, () => ({ maxProperties: 9_999 })) }, wideObject],
    [
      '20,000 required keys of 1,000 items',
      { items: { required: list(20_000, (n) => `r${n}`) } },
      list(1_000, () => ({})),
    ],
    [
      '20,000 dependent keys of 1,000 items',
      { items: { dependentRequired: { a: list(20_000, (n) => `r${n}`) } } },
      list(1_000, () => ({ a: 1 })),
    ],
    ['2,000 constants that are objects', { allOf: list(2_000, () => ({ enum: [{}] })) }, wideObject],
    ['2,000 times unique items', { allOf: list(2_000, () => ({ uniqueItems: true })) }, wideList],
    ['2,000 times contains', { allOf: list(2_000, () => ({ contains: { const: 1 }, minContains: 0 })) }, wideList],
    ['2,000 times property names', { allOf: list(2_000, () => ({ propertyNames: { maxLength: 9 } })) }, wideObject],
    ['200 patterns on 2,000 keys', { patternProperties: record(200, (n) => [`^a${n}b*$`, {}]) }, wideObject],
    [
      '4,000 formats of a long text',
      { allOf: list(4_000, () => ({ format: 'iri' })) },
      `https://${'éa'.repeat(5_000)}`,
    ],
    ['4,000 lengths of a long text', { allOf: list(4_000, () => ({ maxLength: 20_000 })) }, '😀'.repeat(15_000)],
    ['4,000 multiples of a tiny number', { allOf: list(4_000, () => ({ multipleOf: 1e-300 })) }, 1e300],
  ])('CALL-4 VAL-8: %s', (_, schema, value) => {
    const checked = compileSchema(schema as JsonSchema, 'Tool x').check(value as Json) as CheckResult
    expect(checked.ok ? [] : checked.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('too large or too intricate to be checked'),
    ])
  })
})
