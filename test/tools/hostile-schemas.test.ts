// Schemas made to be expensive. They are refused when the tool is defined, or their check ends at the step budget; both
// count work, not time.

import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/tool-value.ts'
import { patternCost } from '../../src/tools/json-schema/pattern-cost.ts'
import { acceptedChecks, costlyChecks, record, refusedSchemas } from './hostile-schema-list.ts'
import { type CheckResult, compileSchema, type JsonSchema } from '../../src/tools/schema.ts'

describe('schemas refused when the tool is defined', () => {
  test.each(refusedSchemas)('TOOL-6: %s is refused', (_, schema, message) => {
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
    [String.raw`^\p{L}{1,10}$`, 622],
    ['[ä-ö]', 61],
    ['(?i:[ä-ö])', 3_265],
  ])('TOOL-6: the pattern %s is estimated at %d states', (source, cost) => {
    expect(patternCost(source)).toBe(cost)
  })
})

describe('checks that end at the step budget', () => {
  test.each(costlyChecks)('CALL-4 VAL-8: %s', (_, schema, value) => {
    const checked = compileSchema(schema as JsonSchema, 'Tool x').check(value as Json) as CheckResult
    expect(checked.ok ? [] : checked.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('too large or too intricate to be checked'),
    ])
  })
})

test.each(acceptedChecks)('CALL-4: %s are accepted', (_, schema, value) => {
  const checked = compileSchema(schema as JsonSchema, 'Tool x').check(value as Json)
  expect(checked).toMatchObject({ ok: true })
})
