/* oxlint-disable unicorn/no-thenable -- `then` is a keyword of JSON Schema */
// JSON Schema validation: meaning of the keywords, rejected schemas, and cost limits. The table follows the standard.

import { type as ark } from 'arktype'
import { Validator } from '@cfworker/json-schema'
import { fc } from '../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { PawlError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/tool-value.ts'
import { type CheckResult, compileSchema, type JsonSchema } from '../../src/tools/schema.ts'

const check = (schema: object, value: unknown): CheckResult =>
  compileSchema(schema as JsonSchema, 'Tool x').check(value as Json) as CheckResult
const problems = (schema: object, value: unknown): string[] => {
  const checked = check(schema, value)
  return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path}: ${message}`)
}
const json = (text: string): Json => JSON.parse(text) as Json

const draft07 = 'http://json-schema.org/draft-07/schema#'
const draft2020 = 'https://json-schema.org/draft/2020-12/schema'

/** Schema, accepted values, rejected values. */
type Row = readonly [schema: object, takes: readonly unknown[], refuses: readonly unknown[]]

const inBothDrafts: readonly Row[] = [
  [{}, [null, 1, 'a', [], {}], []],
  [{ type: 'null' }, [null], [0, '', false, [], {}]],
  [{ type: 'boolean' }, [true, false], [0, 'true', null]],
  [{ type: 'string' }, ['', 'a'], [1, null, ['a']]],
  [{ type: 'number' }, [0, -1.5, 1e300], ['1', true]],
  [{ type: 'integer' }, [0, -3, 1.0, 1e20], [1.5, '1']],
  [{ type: 'array' }, [[], [1]], [{}, 'a', null]],
  [{ type: 'object' }, [{}, { a: 1 }], [[], null]],
  [{ type: ['string', 'null'] }, ['a', null], [1, []]],
  [{ type: ['integer', 'array'] }, [1, []], [1.5, {}]],
  [
    { enum: [1, 'a', null, [1], { a: 1, b: 2 }] },
    [1, 'a', null, [1], { b: 2, a: 1 }],
    [2, 'b', [], [1, 2], { a: 1 }, false],
  ],
  [{ enum: [] }, [], [null, 1]],
  [{ enum: [0, false] }, [0, -0, false], ['', null, '0']],
  [{ const: { a: [1, { b: null }] } }, [{ a: [1, { b: null }] }], [{ a: [1, {}] }, { a: [{ b: null }, 1] }, null]],
  [{ const: null }, [null], [0, {}, false]],
  [{ const: [1, 2] }, [[1, 2]], [[2, 1], [1]]],
  [{ const: 'toString' }, ['toString'], [{}, 'x']],
  [{ minimum: 2 }, [2, 3, '1', null], [1.9, -5]],
  [{ maximum: 2 }, [2, -1, 'x'], [2.1]],
  [{ exclusiveMinimum: 0 }, [0.1, 'x'], [0, -1]],
  [{ exclusiveMaximum: 0 }, [-1], [0, 1]],
  [{ multipleOf: 3 }, [0, 9, -3, 'x'], [1, 10]],
  [{ multipleOf: 0.01 }, [0.07, 19.99, 4.35, 1.1], [0.075, 0.001]],
  [{ multipleOf: 1e-8 }, [12391239.12], [1e-9]],
  [{ minLength: 2 }, ['ab', '😀😀', 1], ['a', '😀', '']],
  [{ maxLength: 2 }, ['ab', '😀😀', ''], ['abc', '😀😀😀']],
  [{ maxLength: 0 }, [''], ['a']],
  [{ pattern: '^a+$' }, ['a', 'aaa', 5], ['', 'ab', 'ba']],
  [{ pattern: 'b' }, ['abc'], ['ac']],
  [{ pattern: '^\\p{L}\\d$' }, ['é1'], ['11']],
  [{ pattern: '^[\\w.\\-]+@x\\/y$' }, ['a-b@x/y'], ['a b@x/y']],
  [{ allOf: [{ type: 'string' }, { pattern: 'a' }], pattern: 'b' }, ['ab'], ['a', 'b', 1]],
  [{ minItems: 1 }, [[1], 'x'], [[]]],
  [{ maxItems: 1 }, [[], [1], {}], [[1, 2]]],
  [
    { uniqueItems: true },
    [[], [1, '1', true, null, [1]], [{ a: 1 }, { a: 2 }], 'aa'],
    [
      [1, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [[1], [1]],
    ],
  ],
  [
    { uniqueItems: true },
    [
      [0, false],
      [1, true],
      ['a', 'A'],
      [{}, []],
    ],
    [
      [1, 1.0],
      [null, null],
      [0, -0],
    ],
  ],
  [{ uniqueItems: false }, [[1, 1]], []],
  [{ contains: { type: 'integer' } }, [['a', 1], 'x', {}], [[], ['a']]],
  [{ contains: false }, ['x'], [[], [1]]],
  [{ items: { type: 'integer' } }, [[], [1, 2], 'x', { 0: 'a' }], [['a'], [1, 'a']]],
  [{ items: false }, [[], 1], [[1]]],
  [{ required: ['a', 'b'] }, [{ a: 1, b: null }, [], 'x'], [{}, { a: 1 }]],
  [{ required: ['__proto__'] }, [json('{"__proto__":1}'), 1], [{}, { proto: 1 }]],
  [{ required: ['toString', 'constructor'] }, [{ toString: 1, constructor: 2 }], [{}, { toString: 1 }]],
  [{ properties: { a: { type: 'string' } } }, [{ a: 'x' }, {}, { b: 1 }, [], null], [{ a: 1 }]],
  [{ properties: { a: false } }, [{}, { b: 1 }], [{ a: 1 }]],
  [
    { properties: { toString: { type: 'string' }, constructor: { type: 'number' } } },
    [{}, { toString: 'a' }],
    [{ toString: 1 }, { constructor: 'x' }],
  ],
  [
    json('{"properties":{"__proto__":{"type":"string"}}}') as object,
    [{}, json('{"__proto__":"a"}')],
    [json('{"__proto__":1}')],
  ],
  [
    { properties: { $ref: { type: 'string' }, pattern: { type: 'integer' } } },
    [{ $ref: 'a', pattern: 1 }],
    [{ $ref: 1 }, { pattern: 'x' }],
  ],
  [
    { properties: { type: { const: 1 }, required: { type: 'array' }, $id: { type: 'null' } } },
    [{ type: 1, required: [], $id: null }],
    [{ type: 2 }, { $id: 'x' }],
  ],
  [
    { properties: { properties: { properties: { a: { type: 'null' } } } } },
    [{ properties: { a: null } }],
    [{ properties: { a: 1 } }],
  ],
  [{ patternProperties: { '^x-': { type: 'string' } } }, [{ 'x-a': 'b', y: 1 }], [{ 'x-a': 1 }]],
  [{ patternProperties: { a: { minimum: 2 }, b: { maximum: 5 } } }, [{ ab: 3, a: 9, b: 0 }], [{ ab: 1 }, { ab: 6 }]],
  [{ properties: { a: {} }, additionalProperties: false }, [{ a: 1 }, {}, []], [{ b: 1 }, { a: 1, b: 2 }]],
  [
    { properties: { a: {} }, patternProperties: { '^b': {} }, additionalProperties: { type: 'integer' } },
    [{ a: 'x', bb: 'y', c: 1 }],
    [{ c: 'x' }],
  ],
  [{ additionalProperties: false }, [{}, 'x'], [{ a: 1 }, json('{"__proto__":1}'), { constructor: 1 }]],
  [{ allOf: [{ properties: { a: {} } }], additionalProperties: false }, [{}], [{ a: 1 }]],
  [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }, {}, []], [{ abc: 1 }]],
  [{ propertyNames: { enum: ['a', '__proto__'] } }, [{ a: 1 }, json('{"__proto__":1}')], [{ b: 1 }]],
  [{ propertyNames: false }, [{}], [{ a: 1 }]],
  [{ minProperties: 1 }, [{ a: 1 }, []], [{}]],
  [{ maxProperties: 1 }, [{ a: 1 }, {}], [{ a: 1, b: 2 }]],
  [
    { dependencies: { a: ['b'], c: { required: ['d'] }, e: false } },
    [{}, { b: 1 }, { a: 1, b: 1 }, { c: 1, d: 1 }],
    [{ a: 1 }, { c: 1 }, { e: 1 }],
  ],
  [{ dependencies: { toString: ['x'] } }, [{}], [{ toString: 1 }]],
  [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, [2, 'x'], [0, 4]],
  [{ allOf: [true, false] }, [], [1, null]],
  [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, ['a', 3, null], [1]],
  [{ anyOf: [false, true] }, [1], []],
  [{ oneOf: [{ type: 'integer' }, { minimum: 2 }] }, [1, 2.5], [3, 1.5]],
  [{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, [{ a: 1 }, { b: 1 }], [{}, { a: 1, b: 1 }]],
  [{ not: { type: 'string' } }, [1, null], ['a']],
  [{ not: {} }, [], [1, {}]],
  [{ not: { not: { type: 'string' } } }, ['a'], [1]],
  [{ properties: { a: { not: true } } }, [{}], [{ a: 1 }]],
  [{ if: { type: 'string' }, then: { minLength: 2 }, else: { type: 'integer' } }, ['ab', 1], ['a', 1.5]],
  [
    { if: { properties: { k: { const: 1 } }, required: ['k'] }, then: { required: ['v'] } },
    [{ k: 1, v: 1 }, { k: 2 }, {}],
    [{ k: 1 }],
  ],
  [{ then: { type: 'string' }, else: { type: 'string' } }, [1, 'a'], []],
  [{ if: false, else: { const: 1 } }, [1], [2]],
  [{ definitions: { pos: { exclusiveMinimum: 0 } }, items: { $ref: '#/definitions/pos' } }, [[1]], [[0]]],
  [{ $defs: { 'a/b~c%d': { type: 'null' } }, items: { $ref: '#/$defs/a~1b~0c%25d' } }, [[null]], [[1]]],
  [
    { properties: { next: { $ref: '#' }, v: { type: 'integer' } }, required: ['v'] },
    [{ v: 1, next: { v: 2 } }],
    [
      { v: 1, next: {} },
      { v: 1, next: { v: 'x' } },
    ],
  ],
  [{ items: { $ref: '#' }, type: 'array' }, [[], [[], [[]]]], [[1], [[[1]]]]],
  [
    {
      $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { properties: { a: { $ref: '#/$defs/a' } }, type: 'object' } },
      allOf: [{ $ref: '#/$defs/a' }],
    },
    [[{ a: [{}] }]],
    [[1], [{ a: [1] }]],
  ],
  [{ components: { s: { type: 'string' } }, items: { $ref: '#/components/s' } }, [['a']], [[1]]],
  [{ properties: { a: { type: 'integer' }, b: { $ref: '#/properties/a' } } }, [{ b: 1 }], [{ b: 'x' }]],
  [
    {
      $id: 'https://example.com/root.json',
      definitions: { s: { type: 'string' } },
      items: { $ref: 'root.json#/definitions/s' },
    },
    [['a']],
    [[1]],
  ],
  [
    {
      $id: 'https://example.com/root',
      definitions: { o: { $id: 'other', type: 'null', items: { $ref: '#' } } },
      items: { $ref: 'https://example.com/other' },
    },
    [[null]],
    [[1]],
  ],
  [{ items: { enum: [{ $ref: '#/nowhere' }, { pattern: '(' }] } }, [[{ $ref: '#/nowhere' }, { pattern: '(' }]], [[{}]]],
  [{ default: { type: 5 }, examples: [{ $ref: 'x' }], title: 'T', unknown: { type: 5 } }, [1], []],
]

const in2020: readonly Row[] = [
  [{ prefixItems: [{ type: 'integer' }, { type: 'string' }] }, [[], [1], [1, 'a', null], 'x'], [['a'], [1, 2]]],
  [{ prefixItems: [true], items: { type: 'integer' } }, [['a', 1], ['a']], [['a', 'b']]],
  [{ prefixItems: [{}, {}], items: false }, [[1, 2], [1]], [[1, 2, 3]]],
  [
    { contains: { const: 1 }, minContains: 2 },
    [
      [1, 1],
      [1, 2, 1],
    ],
    [[1], []],
  ],
  [{ contains: { const: 1 }, maxContains: 1 }, [[1, 2]], [[1, 1], []]],
  [{ contains: { const: 1 }, minContains: 0 }, [[], [2]], []],
  [{ minContains: 2 }, [[]], []],
  [{ dependentRequired: { a: ['b', '__proto__'] } }, [{}, json('{"a":1,"b":1,"__proto__":1}')], [{ a: 1, b: 1 }]],
  [
    { dependentSchemas: { a: { properties: { b: { type: 'null' } } } } },
    [{ b: 1 }, { a: 1, b: null }],
    [{ a: 1, b: 1 }],
  ],
  [{ $defs: { s: { $anchor: 'text', type: 'string' } }, items: { $ref: '#text' } }, [['a']], [[1]]],
  [{ $ref: '#/$defs/s', maxLength: 2, $defs: { s: { type: 'string' } } }, ['ab'], ['abc', 1]],
  [{ properties: { a: {} }, unevaluatedProperties: false }, [{ a: 1 }, []], [{ b: 1 }]],
  [{ allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, [{ a: 1 }], [{ a: 1, b: 1 }]],
  [
    {
      anyOf: [{ properties: { a: { const: 1 } }, required: ['a'] }, { properties: { b: {} } }],
      unevaluatedProperties: false,
    },
    [{ a: 1, b: 1 }, { b: 1 }],
    [{ a: 2 }, { a: 2, b: 1 }],
  ],
  [
    {
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      then: { properties: { b: {} } },
      unevaluatedProperties: false,
    },
    [{ a: 1, b: 1 }, {}],
    [{ a: 2 }, { b: 1 }],
  ],
  [{ not: { not: { properties: { a: {} } } }, unevaluatedProperties: false }, [{}], [{ a: 1 }]],
  [
    { $ref: '#/$defs/d', unevaluatedProperties: false, $defs: { d: { properties: { a: {} } } } },
    [{ a: 1 }],
    [{ b: 1 }],
  ],
  [{ allOf: [{ unevaluatedProperties: false }], properties: { a: {} } }, [{}], [{ a: 1 }]],
  [{ patternProperties: { '^x': {} }, unevaluatedProperties: { type: 'integer' } }, [{ x: 'a', y: 1 }], [{ y: 'a' }]],
  [
    { dependentSchemas: { a: { properties: { b: {} } } }, properties: { a: {} }, unevaluatedProperties: false },
    [{ a: 1, b: 1 }],
    [{ b: 1 }],
  ],
  [{ prefixItems: [{}], unevaluatedItems: false }, [[1], []], [[1, 2]]],
  [
    { allOf: [{ prefixItems: [{}, {}] }], prefixItems: [{}], unevaluatedItems: { type: 'null' } },
    [[1, 2, null]],
    [[1, 2, 3]],
  ],
  [{ contains: { type: 'string' }, unevaluatedItems: false }, [['a', 'b']], [['a', 1]]],
  [{ items: {}, unevaluatedItems: false }, [[1, 2]], []],
  [
    {
      $id: 'https://x.test/tree',
      $dynamicAnchor: 'node',
      properties: { kids: { items: { $dynamicRef: '#node' } }, v: { type: 'integer' } },
    },
    [{ kids: [{ v: 1, kids: [] }] }],
    [{ kids: [{ kids: [{ v: 'x' }] }] }],
  ],
  [
    {
      $id: 'https://x.test/strict',
      $dynamicAnchor: 'node',
      $ref: 'tree',
      unevaluatedProperties: false,
      $defs: {
        tree: {
          $id: 'tree',
          $dynamicAnchor: 'node',
          type: 'object',
          properties: { data: {}, kids: { items: { $dynamicRef: '#node' } } },
        },
      },
    },
    [{ kids: [{ data: 1 }] }],
    [{ kids: [{ daat: 1 }] }, { kidz: [] }],
  ],
  [{ additionalItems: false, items: {} }, [[1, 2]], []],
  [{ properties: { foo: { $anchor: 'a', type: 'null' } }, items: { $ref: '#a' } }, [[null]], [[0]]],
  [{ contentSchema: { type: 5 }, contentMediaType: 'x' }, ['a'], []],
]

const in07: readonly Row[] = [
  [{ items: [{ type: 'integer' }, { type: 'string' }] }, [[], [1], [1, 'a', null]], [['a'], [1, 2]]],
  [{ items: [true], additionalItems: { type: 'integer' } }, [['a', 1]], [['a', 'b']]],
  [{ items: [{}], additionalItems: false }, [[1]], [[1, 2]]],
  [{ items: {}, additionalItems: false }, [[1, 2]], []],
  [
    { properties: { a: { $ref: '#/definitions/s', maxLength: 1 } }, definitions: { s: { type: 'string' } } },
    [{ a: 'long' }],
    [{ a: 1 }],
  ],
  [{ definitions: { s: { $id: '#text', type: 'string' } }, items: { $ref: '#text' } }, [['a']], [[1]]],
  [
    { prefixItems: [false], minContains: 9, dependentRequired: { a: ['b'] }, unevaluatedProperties: false },
    [[1], { a: 1 }],
    [],
  ],
  [{ $ref: '#/definitions/o', definitions: { o: { type: 'object', required: ['a'] } } }, [{ a: 1 }], [{}, 1]],
]

const formats: readonly Row[] = [
  [{ format: 'date' }, ['2024-02-29', 5], ['2023-02-29', '2024-2-9', '2024-13-01', 'x']],
  [{ format: 'time' }, ['09:30:00Z', '23:59:60Z', '09:30:00.5+01:00'], ['09:30', '24:00:00Z', '09:30:00', '12:00:60Z']],
  [
    { format: 'date-time' },
    ['2024-01-31T09:30:00Z', '2024-01-31t09:30:00.123-05:00'],
    ['2024-01-31', '2024-01-31 09:30:00Z', '2024-02-30T00:00:00Z'],
  ],
  [{ format: 'duration' }, ['P3DT4H', 'PT1S', 'P2W', 'P1Y2M3D'], ['P', 'PT', '3D', 'P1W2D', 'P1YT']],
  [
    { format: 'email' },
    ['a@b.co', 'a.b+c@d-e.org', '"a b"@c.d', 'a@[127.0.0.1]'],
    ['a', 'a@', '@b', 'a..b@c.d', 'a b@c.d', 'a@[300.0.0.1]'],
  ],
  [{ format: 'hostname' }, ['a.example.com', 'localhost'], ['-a.com', 'a..b', 'a_b', `${'a'.repeat(64)}.com`]],
  [{ format: 'ipv4' }, ['192.0.2.1'], ['256.0.0.1', '1.2.3', '01.2.3.4x']],
  [{ format: 'ipv6' }, ['::1', '2001:db8::1'], ['::g', '1::2::3', 'fe80::1%eth0']],
  [
    { format: 'uri' },
    ['https://a.b/c?d=e#f', 'urn:x:y', 'mailto:a@b.c', 'http://[::1]:80/'],
    ['/a', 'a b:c', 'http://a b', 'http://a/%zz', 'http://[x]/'],
  ],
  [{ format: 'uri-reference' }, ['/a', '#f', '?q', 'a/b', '//h/p'], ['a b', '\\\\x', '#a#b']],
  [{ format: 'uuid' }, ['0190f5c2-7b1c-7def-8a12-1234567890ab'], ['0190f5c2', '0190f5c27b1c7def8a121234567890ab']],
  [{ format: 'regex' }, ['^a+$', '(?=a)b'], ['(', '[z-a]']],
  [{ format: 'json-pointer' }, ['', '/a/0', '/~0~1'], ['a', '/~2']],
  [{ format: 'relative-json-pointer' }, ['0', '1/a', '2#'], ['-1', '01', '/a']],
  [{ format: 'no-such-format' }, ['anything'], []],
]

describe('JSON Schema keywords', () => {
  const rows = (name: string, table: readonly Row[], base: object): void => {
    test.each(table.map(([schema, takes, refuses]) => [JSON.stringify(schema), schema, takes, refuses] as const))(
      `CALL-4: ${name}: %s`,
      (_, schema, takes, refuses) => {
        const compiled = compileSchema({ ...base, ...schema }, 'Tool x')
        // Rows that use __proto__ have it as an own key, which the spread preserves.
        for (const value of takes) expect([value, compiled.check(value as Json)]).toEqual([value, { ok: true, value }])
        for (const value of refuses) {
          const checked = compiled.check(value as Json) as CheckResult
          expect([value, checked.ok]).toEqual([value, false])
          expect(checked).toHaveProperty('problems.0.message')
        }
        expect(compiled.warnings).toEqual([])
      },
    )
  }
  rows('draft-07', [...inBothDrafts, ...in07], { $schema: draft07 })
  rows('2020-12', [...inBothDrafts, ...in2020], { $schema: draft2020 })
  rows('unstated', [...in2020.slice(0, 8), ...in07.slice(0, 4)], {})
  rows('formats', formats, {})

  test('CALL-4: the table has more than 120 cases', () => {
    const cases = [...inBothDrafts, ...inBothDrafts, ...in2020, ...in07, ...formats].reduce(
      (sum, row) => sum + row[1].length + row[2].length,
      0,
    )
    expect(cases).toBeGreaterThan(120)
  })

  test('CALL-4: random schemas get the same verdict as from another implementation', () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, 0, 1, 2, 1.5, '', 'a', 'ab'),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(key, tie('any'), { maxKeys: 3 }),
      ),
    })).any
    const schema = fc.letrec((tie) => {
      const sub = tie('any')
      const list = fc.array(sub, { minLength: 1, maxLength: 3 })
      const keywords = Object.entries({
        type: fc.constantFrom('string', 'integer', 'object', 'array', 'null'),
        enum: fc.array(value, { maxLength: 3 }),
        const: value,
        minimum: fc.nat(2),
        maxLength: fc.nat(2),
        pattern: fc.constantFrom('^a', 'b$'),
        required: fc.uniqueArray(key, { maxLength: 2 }),
        properties: fc.dictionary(key, sub, { maxKeys: 3 }),
        patternProperties: fc.dictionary(fc.constantFrom('^a', 'b'), sub, { maxKeys: 2 }),
        additionalProperties: sub,
        dependentSchemas: fc.dictionary(key, sub, { maxKeys: 2 }),
        prefixItems: list,
        items: sub,
        contains: sub,
        minContains: fc.nat(2),
        uniqueItems: fc.boolean(),
        allOf: list,
        anyOf: list,
        oneOf: list,
        not: sub,
        if: sub,
        then: sub,
        else: sub,
        unevaluatedProperties: sub,
        unevaluatedItems: sub,
        $ref: fc.constantFrom('#/$defs/x', '#/$defs/y'),
      })
      const object = fc
        .uniqueArray(fc.nat(keywords.length - 1), { minLength: 1, maxLength: 4 })
        .chain((chosen) =>
          fc.record(Object.fromEntries(chosen.map((index) => keywords[index] as [string, fc.Arbitrary<unknown>]))),
        )
      return {
        any: fc.oneof({ depthSize: 'small' }, { arbitrary: fc.boolean(), weight: 1 }, { arbitrary: object, weight: 6 }),
      }
    }).any as fc.Arbitrary<object | boolean>
    const isLoop = (error: unknown): boolean =>
      error instanceof PawlError && error.message.includes('refers to itself without end')
    let compared = 0
    fc.assert(
      fc.property(
        fc.record({ x: schema, y: schema }),
        schema,
        fc.array(value, { minLength: 3, maxLength: 8 }),
        ($defs, root, values) => {
          const text = JSON.stringify({ $defs, allOf: [root] })
          // Known difference: the other one lets `unevaluated…` see properties evaluated by a $ref next to its parent.
          if (text.includes('"$ref"') && text.includes('"unevaluated')) return
          const whole = JSON.parse(text) as JsonSchema
          let compiled
          try {
            compiled = compileSchema(whole, 'Tool x')
          } catch (error) {
            expect(isLoop(error)).toBe(true)
            return
          }
          const other = new Validator(structuredClone(whole), '2020-12', false)
          for (const given of values) {
            const plain = JSON.parse(JSON.stringify(given)) as Json
            compared += 1
            expect((compiled.check(plain) as CheckResult).ok).toBe(other.validate(plain).valid)
          }
        },
      ),
      { numRuns: 200 },
    )
    expect(compared).toBeGreaterThan(300)
  })
})

describe('schemas rejected when the tool is defined', () => {
  test.each<[object, RegExp]>([
    [{ type: 5 }, /at \/type: 'type' must be one of null, boolean.* not 5/],
    [{ type: 'strin' }, /at \/type: .* not "strin"/],
    [{ type: [] }, /\/type/],
    [{ required: 'x' }, /at \/required: 'required' must be a list of property names, not "x"/],
    [{ properties: { a: { required: true } } }, /at \/properties\/a\/required/],
    [{ pattern: 7 }, /at \/pattern: 'pattern' must be a string, not 7/],
    [{ pattern: '(' }, /at \/pattern: it is not a regular expression/],
    [{ patternProperties: { '[': {} } }, /at \/patternProperties: it is not a regular expression/],
    [{ properties: [] }, /at \/properties: 'properties' must be an object of schemas/],
    [{ properties: { a: 'string' } }, /at \/properties/],
    [{ items: { minLength: -1 } }, /at \/items\/minLength: .* whole number, 0 or more, not -1/],
    [{ maxItems: 1.5 }, /\/maxItems/],
    [{ multipleOf: 0 }, /\/multipleOf/],
    [{ exclusiveMinimum: true, minimum: 1 }, /\/exclusiveMinimum/],
    [{ anyOf: [] }, /\/anyOf/],
    [{ allOf: [{ oneOf: [1] }] }, /at \/allOf\/0\/oneOf/],
    [{ not: 'x' }, /\/not/],
    [{ enum: 'x' }, /\/enum/],
    [{ uniqueItems: 1 }, /\/uniqueItems/],
    [{ dependentRequired: { a: 'b' } }, /\/dependentRequired/],
    [{ dependencies: { a: 1 } }, /\/dependencies/],
    [{ $defs: { a: { $anchor: 'x y' } } }, /not a valid anchor name/],
    [{ $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } }, /used twice/],
    [{ $schema: draft2020, properties: { a: { items: [{}] } } }, /at \/properties\/a\/items/],
    [{ const: 1n }, /at \/const: a bigint is not JSON/],
    [{ default: () => 1 }, /at \/default: a function is not JSON/],
    [{ minimum: Number.NaN }, /at \/minimum: NaN is not JSON/],
  ])('TOOL-6: %o', (schema, says) => {
    expect(() => compileSchema(schema as JsonSchema, "Tool 'x', input")).toThrow(
      expect.objectContaining({ code: 'tool_invalid', message: expect.stringMatching(says) }),
    )
    expect(() => compileSchema(schema as JsonSchema, "Tool 'x', input")).toThrow(/Tool 'x', input/)
  })

  test('TOOL-6: a schema with a throwing getter is rejected without exposing its error', () => {
    const hostile = Object.defineProperty({}, 'type', {
      enumerable: true,
      get() {
        throw new Error('secret')
      },
    })
    expect(() => compileSchema(hostile as JsonSchema, 'Tool x')).toThrow(/cannot be read as JSON/)
    expect(() => compileSchema(hostile as JsonSchema, 'Tool x')).not.toThrow(/secret/)
  })

  test('TOOL-6: a value that is not a schema is rejected', () => {
    for (const schema of [null, 5, 'x', [], undefined]) {
      expect(() => compileSchema(schema as never, 'Tool x')).toThrow(expect.objectContaining({ code: 'tool_invalid' }))
    }
  })

  test.each([
    [{ $ref: 'http://169.254.169.254/latest/meta-data' }],
    [{ $ref: '//evil.test/x' }],
    [{ $ref: 'file:///etc/passwd' }],
    [{ $ref: 'other.json#/a' }],
    [{ $ref: draft2020 }],
    [{ $id: 'http://evil.test/a', items: { $ref: 'b' } }],
    [{ $id: 'http://evil.test/', $defs: { unused: { $ref: 'c' } } }],
    [{ items: { $dynamicRef: 'http://evil.test/#x' } }],
    [{ properties: { a: { items: { $ref: 'urn:x:y' } } } }],
    [{ $schema: draft07, $ref: 'http://evil.test/' }],
  ])('TOOL-6: an external reference is rejected and nothing is fetched: %o', (schema) => {
    expect(() => compileSchema(schema as unknown as JsonSchema, 'Tool x')).toThrow(
      /points outside the schema, and nothing is fetched/,
    )
  })

  test.each([
    [{ $ref: '#/$defs/none' }, /points to nothing/],
    [{ $ref: '#/__proto__' }, /points to nothing/],
    [{ $ref: '#/constructor/prototype' }, /points to nothing/],
    [{ allOf: [{}], items: { $ref: '#/allOf/length' } }, /points to nothing/],
    [{ $ref: '#none' }, /points to nothing/],
    [{ $ref: '#/%zz' }, /is not a reference/],
    [{ $ref: 'http://[' }, /is not a reference/],
    [{ $id: 'https://x.test/a#b' }, /must not have a fragment/],
    [{ $defs: { a: { $id: 'https://x.test/a' }, b: { $id: 'https://x.test/a' } } }, /used twice/],
    [{ $ref: '#' }, /refers to itself without end/],
    [{ allOf: [{ $ref: '#' }] }, /refers to itself without end/],
    [
      { $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' },
      /refers to itself without end/,
    ],
    [{ not: { if: true, then: { $ref: '#' } } }, /refers to itself without end/],
    [{ dependentSchemas: { a: { $ref: '#' } } }, /refers to itself without end/],
    [{ $dynamicAnchor: 'a', $dynamicRef: '#a' }, /refers to itself without end/],
    [{ $id: 'https://x.test/a', $ref: 'https://x.test/a' }, /refers to itself without end/],
  ])('TOOL-6: a dangling or endless reference is rejected: %o', (schema, says) => {
    expect(() => compileSchema(schema as unknown as JsonSchema, 'Tool x')).toThrow(says)
  })

  test('TOOL-6: the compiled schema is a copy that later changes do not affect', () => {
    const given = { type: 'object', properties: { a: { type: 'string' } } }
    const compiled = compileSchema(given, 'Tool x')
    given.properties.a.type = 'nonsense'
    expect(compiled.json).toEqual({ type: 'object', properties: { a: { type: 'string' } } })
    expect((compiled.check({ a: 'x' }) as CheckResult).ok).toBe(true)
  })

  test('TOOL-6: a pattern unsupported by the linear engine is shown with a warning, not enforced', () => {
    const of = (schema: object) => compileSchema(schema as JsonSchema, 'Tool x')
    const plain = of({ properties: { a: { type: 'string', pattern: '^(?!x)', maxLength: 3 } } })
    expect(plain.json).toMatchObject({ properties: { a: { pattern: '^(?!x)' } } })
    expect(plain.warnings).toEqual([
      expect.stringMatching(
        /^\/properties\/a\/pattern: the pattern "\^\(\?!x\)" cannot be enforced, because it uses look-around/,
      ),
    ])
    expect((plain.check({ a: 'xy' }) as CheckResult).ok).toBe(true)
    expect((plain.check({ a: 'long' }) as CheckResult).ok).toBe(false)
    const takes: [object, Json][] = [
      [{ not: { pattern: '(?=x)' } }, 'abc'],
      [{ not: { not: { pattern: '(?=x)' } } }, 'abc'],
      [{ oneOf: [{ pattern: '(?=x)' }, { type: 'string' }] }, 'abc'],
      [{ if: { pattern: '(?=x)' }, then: false }, 'abc'],
      [{ patternProperties: { '(?=x)': { type: 'null' } }, additionalProperties: false }, { a: 1 }],
      [{ patternProperties: { '(?=x)': { type: 'null' } }, unevaluatedProperties: false }, { a: 1 }],
      [{ contains: { pattern: '(?=x)' }, maxContains: 0, minContains: 0 }, ['b']],
      [{ pattern: '(a)\\1' }, 'abc'],
    ]
    for (const [schema, value] of takes) {
      expect(of(schema).warnings).toHaveLength(1)
      expect([schema, (of(schema).check(value) as CheckResult).ok]).toEqual([schema, true])
    }
    // A pattern does not apply to values other than strings, so the verdict is certain there.
    expect((of({ not: { pattern: '(?=x)' } }).check(5) as CheckResult).ok).toBe(false)
  })
})

describe('schemas and values of excessive size or cost', () => {
  const timed = <T>(work: () => T): [T, number] => {
    const begun = performance.now()
    return [work(), performance.now() - begun]
  }
  const nested = (depth: number, wrap: (inner: object) => object): object => {
    let value = {}
    for (let level = 0; level < depth; level += 1) value = wrap(value)
    return value
  }
  const cyclic: Record<string, unknown> = {}
  cyclic.a = cyclic
  cyclic.b = cyclic

  test.each<[string, object, RegExp]>([
    ['10,000 levels', nested(10_000, (items) => ({ items })), /deeper than 64 levels/],
    ['65 levels in a default', { default: nested(70, (a) => ({ a })) }, /deeper than 64 levels/],
    ['a cycle that doubles', { default: cyclic }, /deeper than 64 levels/],
    ['3,001 schemas', { anyOf: Array.from({ length: 3001 }, () => ({})) }, /more than 3000 schemas/],
    ['300 kB', { description: 'x'.repeat(300_000) }, /larger than 262144 bytes/],
    ['300 kB of three-byte characters', { description: '語'.repeat(100_000) }, /larger than 262144 bytes/],
    ['200,000 constants', { enum: Array.from({ length: 200_000 }, (_, index) => index) }, /larger than 262144 bytes/],
    [
      'a chain of 2,000 references',
      {
        $defs: Object.fromEntries(
          Array.from({ length: 2000 }, (_, index) => [
            `d${index}`,
            index === 1999 ? {} : { $ref: `#/$defs/d${index + 1}` },
          ]),
        ),
      },
      /a chain of more than 100 references/,
    ],
  ])('TOOL-6: %s is refused', (_, schema, says) => {
    const [, ms] = timed(() => expect(() => compileSchema(schema as JsonSchema, 'Tool x')).toThrow(says))
    expect(ms).toBeLessThan(2000)
  })

  const pairs = Object.fromEntries(
    Array.from({ length: 41 }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` }
      return [`d${index}`, index === 40 ? { type: 'string' } : { allOf: [next, next] }]
    }),
  )
  const twice = (key: string): object => ({ properties: { a: { $ref: '#' } }, required: [key] })
  const wide = (to: object): object => ({ anyOf: Array.from({ length: 900 }, () => to) })

  test.each<[string, object, unknown, RegExp]>([
    [
      '^(a+)+$',
      { pattern: '^(a+)+$' },
      `${'a'.repeat(50_000)}!`,
      /expected string matching the pattern \^\(a\+\)\+\$ \(got "a{20,60}"…\)/,
    ],
    [
      '(x+x+)+y as a key',
      { patternProperties: { '(x+x+)+y': false, '^(x+)+$': {} }, additionalProperties: false },
      { [`${'x'.repeat(50_000)}!`]: 1 },
      /not a known property/,
    ],
    [
      '(a?){400}a{400}',
      { items: { pattern: '(a?){400}a{400}b' } },
      Array.from({ length: 100 }, () => 'a'.repeat(5000)),
      /too large or too intricate/,
    ],
    ['40 doubling references', { $defs: pairs, $ref: '#/$defs/d0' }, 1, /too large or too intricate/],
    [
      'two branches into one child, 60 deep',
      { anyOf: [twice('x'), twice('y')] },
      nested(60, (a) => ({ a })),
      /too large or too intricate/,
    ],
    [
      '900^3 branches',
      { ...wide({ $ref: '#/$defs/a' }), $defs: { a: wide({ $ref: '#/$defs/b' }), b: wide({ const: { a: 1 } }) } },
      {},
      /too large or too intricate/,
    ],
    [
      'a value 100,000 deep',
      { properties: { a: { $ref: '#' } } },
      nested(100_000, (a) => ({ a })),
      /nested too deeply/,
    ],
    ['constants 100,000 deep', { enum: [{}, []] }, nested(100_000, (a) => ({ a })), /nested too deeply|too large/],
    [
      '100,000 faults',
      { items: { type: 'string' } },
      Array.from({ length: 100_000 }, () => 1),
      /expected string \(got 1\)/,
    ],
  ])('CALL-4: %s fails quickly with a problem', (_, schema, value, says) => {
    const compiled = compileSchema(schema as JsonSchema, 'Tool x')
    const [checked, ms] = timed(() => compiled.check(value as Json) as CheckResult)
    expect(checked.ok ? '' : checked.problems[0]?.message).toMatch(says)
    expect(ms).toBeLessThan(2000)
  })

  test('CALL-4: uniqueItems checks 4,000 objects in one pass', () => {
    const many = Array.from({ length: 4_000 }, (_, index) => ({ a: index, b: { c: 'x' } }))
    const compiled = compileSchema({ uniqueItems: true }, 'Tool x')
    const [same, ms] = timed(() => compiled.check([...many, { b: { c: 'x' }, a: 3_999 }]) as CheckResult)
    expect(ms).toBeLessThan(2000)
    expect(same).toEqual({
      ok: false,
      problems: [expect.objectContaining({ path: '[4000]', message: expect.stringContaining('equals item 3999') })],
    })
    expect((compiled.check(many) as CheckResult).ok).toBe(true)
  })

  test('CALL-4: a large valid value is accepted', () => {
    const row = { $ref: '#/$defs/row' }
    const compiled = compileSchema(
      {
        $defs: { row: { anyOf: [{ type: 'null' }, { type: 'integer', minimum: 0 }] } },
        type: 'object',
        properties: { rows: { type: 'array', items: row }, text: { pattern: '^[\\w ]*$' } },
      },
      'Tool x',
    )
    expect((compiled.check({ rows: Array.from({ length: 30_000 }, (_, index) => index) }) as CheckResult).ok).toBe(true)
    expect((compiled.check({ text: 'word '.repeat(200_000) }) as CheckResult).ok).toBe(true)
  })

  test('CALL-4: neither schema nor value can pollute a prototype', () => {
    const compiled = compileSchema(
      json(
        '{"properties":{"__proto__":{"properties":{"polluted":{"const":1}}}},"$defs":{"__proto__":{"type":"null"}}}',
      ) as JsonSchema,
      'x',
    )
    expect((compiled.check(json('{"__proto__":{"polluted":2}}')) as CheckResult).ok).toBe(false)
    expect(Object.getPrototypeOf(compiled.json.properties)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('problem messages', () => {
  const order = {
    type: 'object',
    required: ['items'],
    additionalProperties: false,
    properties: {
      items: {
        type: 'array',
        items: {
          type: 'object',
          required: ['sku', 'qty'],
          properties: { sku: { type: 'string', pattern: '^[A-Z]{3}$' }, qty: { type: 'integer', minimum: 1 } },
        },
      },
    },
  }

  test('CALL-4: every problem has its path, the expectation and the value', () => {
    const value = { items: [{ sku: 'ABC', qty: 1 }, { sku: 'x', qty: 0 }, { qty: 'three' }], note: 'hi' }
    expect(problems(order, value)).toEqual([
      'items[1].sku: expected string matching the pattern ^[A-Z]{3}$ (got "x")',
      'items[1].qty: expected integer >= 1 (got 0)',
      'items[2].sku: expected string matching the pattern ^[A-Z]{3}$ (got nothing, but it is required)',
      'items[2].qty: expected integer >= 1 (got "three")',
      'note: not a known property, expected only "items" (got "hi")',
    ])
    expect(problems(order, 'x')).toEqual([': expected object (got "x")'])
    expect(problems(order, {})).toEqual(['items: expected array of {sku, qty} (got nothing, but it is required)'])
  })

  test('CALL-4: a union reports one problem: for the intended branch, or with all branches', () => {
    const circle = {
      type: 'object',
      required: ['kind', 'r'],
      properties: { kind: { const: 'circle' }, r: { type: 'number', exclusiveMinimum: 0 } },
    }
    const square = {
      type: 'object',
      required: ['kind', 'w'],
      properties: { kind: { const: 'square' }, w: { type: 'number' } },
    }
    for (const keyword of ['anyOf', 'oneOf']) {
      const shape = { [keyword]: [circle, square, { type: 'null' }] }
      expect(problems(shape, { kind: 'circle', r: -1 })).toEqual(['r: expected number > 0 (got -1)'])
      expect(problems(shape, { kind: 'oval' })).toEqual([
        ': expected {kind: "circle", r} | {kind: "square", w} | null (got {"kind":"oval"})',
      ])
      expect(problems(shape, 5)).toEqual([': expected {kind: "circle", r} | {kind: "square", w} | null (got 5)'])
      expect(problems({ [keyword]: [{ type: 'string' }, { type: 'integer', minimum: 1 }] }, true)).toEqual([
        ': expected string | integer >= 1 (got true)',
      ])
      expect(
        problems(
          { [keyword]: [{ type: 'object', properties: { q: { type: 'integer' } } }, { type: 'null' }] },
          { q: 'x' },
        ),
      ).toEqual(['q: expected integer (got "x")'])
    }
    expect(problems({ oneOf: [{ type: 'integer' }, { type: 'number' }] }, 1)).toEqual([
      ': expected exactly one of these to fit, but more than one does: integer | number (got 1)',
    ])
  })

  test.each<[object, unknown, string]>([
    [{ enum: ['low', 'high'] }, 'mid', ': expected "low" | "high" (got "mid")'],
    [{ const: { a: 1 } }, [], ': expected {"a":1} (got [])'],
    [{ type: ['string', 'null'], maxLength: 1 }, 'ab', ': expected string with at most 1 character | null (got "ab")'],
    [
      { type: 'string', format: 'date' },
      'soon',
      ': expected string in the format date (such as 2026-01-31) (got "soon")',
    ],
    [{ minimum: 1, multipleOf: 5 }, 0, ': expected number >= 1 and a multiple of 5 (got 0)'],
    [{ minItems: 2 }, [1], ': expected at least 2 items (got [1])'],
    [{ maxProperties: 0 }, { a: 1 }, ': expected at most 0 keys (got {"a":1})'],
    [{ prefixItems: [{}], items: false }, [1, 2], ': expected at most 1 item (got [1,2])'],
    [{ contains: { type: 'null' } }, [1], ': expected at least 1 of the items to be: null (got [1])'],
    [{ not: { type: 'string' } }, 'a', ': expected anything but string (got "a")'],
    [{ properties: { a: false } }, { a: 1 }, 'a: expected nothing here (got 1)'],
    [
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      'ab: not a valid key, expected string with at most 1 character (got "ab")',
    ],
    [
      { dependentRequired: { a: ['b'] } },
      { a: 1 },
      'b: expected a value, as it goes with "a" (got nothing, but it is required)',
    ],
    [{ properties: { 'a.b': { type: 'null' } } }, { 'a.b': 1 }, '["a.b"]: expected null (got 1)'],
    [{ items: { type: 'null' } }, [{ big: 'x'.repeat(100) }], '[0]: expected null (got an object with 1 key)'],
    [{ type: 'null' }, Array.from({ length: 99 }, () => 'abc'), ': expected null (got an array of 99 items)'],
  ])('CALL-4: %o reports %o', (schema, value, says) => {
    expect(problems(schema, value)).toEqual([says])
  })

  test('CALL-4: messages stay short for any value and any schema', () => {
    const text = fc
      .string({ unit: fc.constantFrom('a', '"', '\n', '\u0000', '😀', '\u2028', 'é') })
      .map((some) => some.repeat(20))
    fc.assert(
      fc.property(text, text, (key, value) => {
        for (const schema of [
          { type: 'null' },
          { additionalProperties: { enum: [key] } },
          { properties: { [key]: { const: [key] } }, additionalProperties: false },
          { required: [`${key}!`] },
        ]) {
          for (const line of problems(schema, { [key]: value })) {
            expect(line.length).toBeLessThan(300)
            expect(line.isWellFormed()).toBe(true)
          }
        }
        expect(problems({ type: 'null' }, value)[0]?.length).toBeLessThanOrEqual(': expected null (got )'.length + 60)
      }),
      { numRuns: 60 },
    )
  })
})

describe('Standard Schemas', () => {
  test("CALL-4: the vendor's message is used, with the value added where it is missing", async () => {
    const zod = await compileSchema(z.object({ n: z.number().min(3), s: z.enum(['a']), t: z.string() }), 'x').check({
      n: 1,
      s: 'b',
    })
    expect(zod).toEqual({
      ok: false,
      problems: [
        { path: 'n', message: expect.stringMatching(/>=3 \(got 1\)$/) },
        { path: 's', message: expect.stringMatching(/\(got "b"\)$/) },
        { path: 't', message: expect.stringMatching(/received undefined$/) },
      ],
    })
    const arks = await compileSchema(ark({ n: 'number', list: 'string[]' }), 'x').check({ n: 'x', list: ['a', 1] })
    expect(arks.ok ? [] : arks.problems).toEqual(
      expect.arrayContaining([
        { path: 'n', message: expect.stringMatching(/was a string/) },
        { path: 'list[1]', message: expect.stringMatching(/was a number/) },
      ]),
    )
  })

  test("CALL-4: an asynchronous validator is awaited; a throwing one is not the model's fault", async () => {
    const slow = compileSchema(
      z.string().refine(async (text) => text === 'a', 'Not on the list'),
      'x',
    )
    expect(await slow.check('a')).toEqual({ ok: true, value: 'a' })
    expect(await slow.check('b')).toEqual({ ok: false, problems: [{ path: '', message: 'Not on the list (got "b")' }] })
    const broken = compileSchema(
      z.string().refine(() => {
        throw new TypeError('bug')
      }),
      'x',
    )
    await expect((async () => broken.check('a'))()).rejects.toThrow('bug')
  })

  test('TOOL-6: a Standard Schema is converted once, and rejected if it has no JSON Schema', () => {
    let described = 0
    const counting = {
      '~standard': {
        version: 1,
        vendor: 'own',
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: () => (described++, { type: 'object' }), output: () => ({}) },
      },
    } as const
    const compiled = compileSchema(counting, 'x')
    for (let call = 0; call < 5; call += 1) void compiled.check({})
    expect([described, compiled.warnings]).toEqual([1, []])
    expect(() => compileSchema(z.object({ at: z.date() }), 'Tool x')).toThrow(
      /Tool x: a part of it has no JSON Schema form/,
    )
  })
})
