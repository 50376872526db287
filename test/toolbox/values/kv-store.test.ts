// The kv_store tool.

import { type CallOutcome, createRuntime, type Runtime } from 'pawl'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { toolbox } from '../../../src/toolbox/toolbox.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { outcomesOf } from '../read-outcomes.ts'
import { hasForm } from '../tool-conventions.ts'

for (const each of toolbox.values()) hasForm(each)

let runtime: Runtime
let calls = 0
beforeEach(async () => {
  runtime = await createRuntime({
    store: 'memory:',
    tools: toolbox.values(),
    logger: quiet,
    values: { keys: 5, valueBytes: 1_000 },
  })
})
afterEach(() => runtime.close({ grace: 0 }))
const ask = async (input: unknown): Promise<CallOutcome> =>
  (await runtime.session('s').run([{ id: `c${++calls}`, name: 'kv_store', input }]))[0] as CallOutcome
const { value, codeOf } = outcomesOf(ask)
const failure = async (input: unknown): Promise<unknown> => {
  const outcome = await ask(input)
  return outcome.status === 'failure' ? [outcome.failure.code, outcome.failure.class, outcome.failure.message] : outcome
}

test('BOX-1: kv_store sets, gets, deletes and lists the values that the program sees', async () => {
  expect(await value({ operation: 'set', key: 'a/1', value: { n: [1, null] } })).toEqual({
    operation: 'set',
    key: 'a/1',
    revision: 1,
  })
  expect(await value({ operation: 'get', key: 'a/1' })).toEqual({
    operation: 'get',
    key: 'a/1',
    found: true,
    value: { n: [1, null] },
    revision: 1,
  })
  expect((await runtime.session('s').values.get('a/1'))?.value).toEqual({ n: [1, null] })
  await runtime.session('s').values.set('a/2', '')
  expect(await value({ operation: 'set', key: 'b', value: null })).toMatchObject({ revision: 3 })
  expect(await value({ operation: 'list' })).toEqual({ operation: 'list', keys: ['a/1', 'a/2', 'b'], more: false })
  expect(await value({ operation: 'list', prefix: 'a/', limit: 1 })).toEqual({
    operation: 'list',
    keys: ['a/1'],
    more: true,
  })
  expect(await value({ operation: 'list', prefix: 'a/', after: 'a/1' })).toEqual({
    operation: 'list',
    keys: ['a/2'],
    more: false,
  })
  expect(await value({ operation: 'delete', key: 'a/1' })).toEqual({ operation: 'delete', key: 'a/1', deleted: true })
  expect(await value({ operation: 'delete', key: 'a/1' })).toEqual({ operation: 'delete', key: 'a/1', deleted: false })
  expect(await value({ operation: 'get', key: 'a/1' })).toEqual({
    operation: 'get',
    key: 'a/1',
    found: false,
    value: null,
  })
})

test('BOX-1: kv_store supports compare-and-set with if_revision', async () => {
  await value({ operation: 'set', key: 'k', value: 1, if_revision: 0 })
  expect(await failure({ operation: 'set', key: 'k', value: 2, if_revision: 0 })).toEqual([
    'value_changed',
    'execution',
    'The value has changed since you read it. Get it again and make the change anew. Nothing was changed.',
  ])
  expect(await value({ operation: 'set', key: 'k', value: 2, if_revision: 1 })).toMatchObject({ revision: 2 })
  expect(await codeOf({ operation: 'delete', key: 'k', if_revision: 1 })).toBe('value_changed')
  expect(await value({ operation: 'delete', key: 'k', if_revision: 2 })).toMatchObject({ deleted: true })
})

test('BOX-1: kv_store failures tell the model how to fix the call', async () => {
  expect(await failure({ operation: 'get' })).toEqual([
    'invalid_arguments',
    'invalid_request',
    'Missing required parameter: key',
  ])
  expect(await failure({ operation: 'set', key: 'k' })).toEqual([
    'invalid_arguments',
    'invalid_request',
    'Missing required parameter: value',
  ])
  expect(await codeOf({ operation: 'delete', key: ' ' })).toBe('invalid_arguments')
  expect(await codeOf({ operation: 'put', key: 'k' })).toBe('invalid_arguments')
  expect(await codeOf({ operation: 'set', key: 'x'.repeat(256), value: 1 })).toBe('invalid_arguments')
  expect(await codeOf({ operation: 'delete', key: 'k', if_revision: 0 })).toBe('invalid_arguments')
  expect(await failure({ operation: 'list', prefix: 'a', after: 'b' })).toEqual([
    'invalid_arguments',
    'invalid_request',
    'after must begin with prefix',
  ])
  expect(await codeOf({ operation: 'set', key: 'k', value: 'x'.repeat(1_000) })).toBe('value_too_large')
  for (let n = 0; n < 5; n++) await value({ operation: 'set', key: `k${n}`, value: n })
  expect(await failure({ operation: 'set', key: 'more', value: 1 })).toEqual([
    'values_full',
    'resource_limit',
    'There is no room for more values. Delete what is not needed. Nothing was changed.',
  ])
  expect(await codeOf({ operation: 'get', key: 'a\0b' })).toBe('value_key_invalid')
})
