import { expect, test } from 'vitest'
import { type JsonSchema, tool } from '../../src/index.ts'
import { hides, shownArgs } from '../../src/tools/hidden-fields.ts'

const given = (properties: JsonSchema) => tool({ name: 'x', description: 'X.', input: { type: 'object', properties }, execute: () => null })
const secret = { type: 'string', writeOnly: true }

test('DUR-12: what is only written is hidden, wherever in the arguments it is; the rest stays as it is', () => {
  const logs = given({
    user: { type: 'object', properties: { name: { type: 'string' }, password: secret } },
    keys: { type: 'array', items: secret },
  })
  const args = { user: { name: 'ada', password: 'hunter2' }, keys: ['a', 'b'], other: ['c'] }
  expect(shownArgs(logs, args)).toEqual({
    user: { name: 'ada', password: '[hidden]' },
    keys: ['[hidden]', '[hidden]'],
    other: ['c'],
  })
  expect(args.user.password).toBe('hunter2')
  const plain = { user: { name: 'ada' } }
  expect(shownArgs(logs, plain)).toBe(plain)
  for (const odd of [null, 'text', [1], { user: 'text' }, { user: [] }]) expect(shownArgs(logs, odd)).toBe(odd)
})

test('DUR-12: in what a schema says by reference, by choice and of others too', () => {
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
  expect(shownArgs(logs, given)).toEqual({
    node: { key: '[hidden]', next: { key: '[hidden]' } },
    either: { key: '[hidden]', n: 1 },
    pair: ['d', '[hidden]'],
    more: { f: '[hidden]' },
  })
})

test('DUR-12: a tool that hides nothing is not looked at', () => {
  const plain = given({ name: { type: 'string' } })
  const args = { name: 'ada' }
  expect([hides(plain), hides(given({ key: secret }))]).toEqual([false, true])
  expect(shownArgs(plain, args)).toBe(args)
})

test('DUR-12: by patterns, conditions, lists of the older kind, and by names that are not followed', () => {
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
  expect(shownArgs(logs, all)).toEqual({
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
