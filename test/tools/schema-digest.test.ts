// The digest that says whether the input schema of a tool has changed: what it covers and what it leaves out.

import { type } from 'arktype'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type AnySchema, compileSchema } from '../../src/tools/schema.ts'
import { schemaDigest } from '../../src/tools/schema-digest.ts'

const digest = (schema: AnySchema): string => schemaDigest(compileSchema(schema, 'test'))

describe('schema digest', () => {
  let count = 0
  const same: Record<string, [AnySchema, AnySchema]> = {
    'the same schema': [z.object({ a: z.string() }), z.object({ a: z.string() })],
    'a description': [z.object({ a: z.string() }), z.object({ a: z.string().describe('Text') }).describe('All')],
    'a title': [{ type: 'object' }, { type: 'object', title: 'T', $comment: 'c', examples: [{}] }],
    'the order of fields': [z.object({ a: z.string(), b: z.null() }), z.object({ b: z.null(), a: z.string() })],
    'a computed default': [
      z.object({ a: z.string().default(() => `${++count}`) }),
      z.object({ a: z.string().default(() => `${++count}`) }),
    ],
    'the code of a refinement': [z.string().refine(() => true), z.string().refine(() => false)],
    'the description of a nested schema': [
      { type: 'object', properties: { a: { description: 'x' } } },
      { type: 'object', properties: { a: {} } },
    ],
  }
  test.for(Object.entries(same))('DUR-15: %s does not count as a change', ([, [one, other]]) => {
    expect(digest(one)).toBe(digest(other))
    expect(digest(one)).toMatch(/^[\w-]{16}$/)
  })

  const different: Record<string, [AnySchema, AnySchema]> = {
    'a renamed field': [z.object({ a: z.string() }), z.object({ b: z.string() })],
    'a field that is named like an annotation': [
      z.object({ description: z.string(), default: z.string() }),
      z.object({ description: z.number(), default: z.string() }),
    ],
    'a literal that looks like an annotation': [
      { const: { title: 'a', required: ['b', 'a'] } },
      { const: { title: 'b', required: ['b', 'a'] } },
    ],
    ...Object.fromEntries(
      ['dependentRequired', 'dependentSchemas', 'dependencies', 'patternProperties', '$defs', 'components'].map(
        (keyword): [string, [AnySchema, AnySchema]] => [
          `\`${keyword}\` for a name that is also an annotation`,
          [{ [keyword]: {} }, { [keyword]: { title: keyword.endsWith('Required') ? ['author'] : { type: 'null' } } }],
        ],
      ),
    ),
    'an enum of objects with a title': [{ enum: [{ title: 'a' }] }, { enum: [{ title: 'b' }] }],
    'a required field that is named like an annotation': [{ required: ['title'] }, { required: [] }],
    'a required field': [z.object({ a: z.string() }), z.object({ a: z.string().optional() })],
    'a coerced type': [z.object({ a: z.coerce.number() }), z.object({ a: z.coerce.string() })],
    'a constraint behind a transform': [
      z.string().transform(Number).pipe(z.number()),
      z.string().transform(Number).pipe(z.number().max(5)),
    ],
    'a transform': [z.object({ a: z.string() }), z.object({ a: z.string().transform(Number) })],
    'an arktype type': [type({ a: 'string' }), type({ a: 'number' })],
  }
  test.for(Object.entries(different))('DUR-15: %s counts as a change', ([, [one, other]]) => {
    expect(digest(one)).not.toBe(digest(other))
  })

  test('DUR-15: the digest is computed once per schema and not before it is used', () => {
    const compiled = compileSchema(z.object({ a: z.string() }), 'test')
    let computed = 0
    const counted = { ...compiled, outputJson: () => (computed++, compiled.outputJson?.()) }
    expect(computed).toBe(0)
    expect(schemaDigest(counted)).toBe(schemaDigest(counted))
    expect(computed).toBe(1)
  })
})
