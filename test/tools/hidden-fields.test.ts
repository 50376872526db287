import { expect, test } from 'vitest'
import { type JsonSchema, tool } from '../../src/index.ts'
import { mayHideFields, maskArgs } from '../../src/tools/hidden-arguments.ts'

const given = (properties: JsonSchema) =>
  tool({ name: 'x', description: 'X.', input: { type: 'object', properties }, execute: () => null })
const secret = { type: 'string', writeOnly: true }

test('DUR-12: writeOnly fields are masked at any depth, and the other fields stay unchanged', () => {
  const logs = given({
    user: { type: 'object', properties: { name: { type: 'string' }, password: secret } },
    keys: { type: 'array', items: secret },
  })
  const args = { user: { name: 'ada', password: 'hunter2' }, keys: ['a', 'b'], other: ['c'] }
  expect(maskArgs(logs, args)).toEqual({
    user: { name: 'ada', password: '[hidden]' },
    keys: ['[hidden]', '[hidden]'],
    other: ['c'],
  })
  expect(args.user.password).toBe('hunter2')
  const plain = { user: { name: 'ada' } }
  expect(maskArgs(logs, plain)).toBe(plain)
  for (const odd of [null, 'text', [1], { user: 'text' }, { user: [] }]) expect(maskArgs(logs, odd)).toBe(odd)
})

test('DUR-12: writeOnly fields behind references, unions, tuples and extra keys are masked', () => {
  const input = {
    type: 'object',
    $defs: {
      key: secret,
      node: { type: 'object', properties: { key: { $ref: '#/$defs/key' }, next: { $ref: '#/$defs/node' } } },
    },
    properties: {
      node: { $ref: '#/$defs/node' },
      either: { anyOf: [{ type: 'object', properties: { key: secret } }, { type: 'null' }] },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, secret] },
      more: { type: 'object', additionalProperties: secret },
    },
  } satisfies JsonSchema
  const logs = tool({ name: 'x', description: 'X.', input, execute: () => null })
  const given = {
    node: { key: 'a', next: { key: 'b' } },
    either: { key: 'c', n: 1 },
    pair: ['d', 'e'],
    more: { f: 'g' },
  }
  expect(maskArgs(logs, given)).toEqual({
    node: { key: '[hidden]', next: { key: '[hidden]' } },
    either: { key: '[hidden]', n: 1 },
    pair: ['d', '[hidden]'],
    more: { f: '[hidden]' },
  })
})

test('DUR-12: a tool without writeOnly fields returns its arguments unchanged', () => {
  const plain = given({ name: { type: 'string' } })
  const args = { name: 'ada' }
  expect([mayHideFields(plain), mayHideFields(given({ key: secret }))]).toEqual([false, true])
  expect(maskArgs(plain, args)).toBe(args)
})

test('DUR-12: writeOnly fields behind patterns, conditions, contains and anchors are masked', () => {
  const input = {
    type: 'object',
    $defs: { key: { $anchor: 'key', ...secret } },
    properties: {
      byName: { $ref: '#key' },
      pair: { type: 'array', contains: secret },
      mode: { type: 'string' },
      text: { type: 'object', properties: { key: secret } },
    },
    patternProperties: { '^x-': secret },
    if: { properties: { mode: { const: 'a' } } },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of schemas
    then: { properties: { more: secret } },
    dependentSchemas: { mode: { properties: { other: secret } } },
  } satisfies JsonSchema
  const logs = tool({ name: 'x', description: 'X.', input, execute: () => null })
  const all = { byName: 'a', pair: ['b'], mode: 'a', 'x-1': 'c', more: 'd', other: 'e', y: 'f', text: '{"key":"g"}' }
  expect(maskArgs(logs, all)).toEqual({
    byName: '[hidden]',
    pair: ['[hidden]'],
    mode: 'a',
    'x-1': '[hidden]',
    more: '[hidden]',
    other: '[hidden]',
    y: 'f',
    text: '[hidden]',
  })
})
