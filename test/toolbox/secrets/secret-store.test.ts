// The secret_store tool. Disk, feed and turns are covered by test/storage/values/secrets.test.ts.

import { type CallOutcome, createRuntime, type FeedEvent, PawlError, result, type Runtime, tool } from 'pawl'
import { afterEach, expect, test, vi } from 'vitest'
import { toolbox } from '../../../src/toolbox/toolbox.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { outcomesOf } from '../read-outcomes.ts'
import { hasForm } from '../tool-conventions.ts'

for (const each of toolbox.secrets({ reveal: true })) hasForm(each)

const secret = 'hunter2-and-more'
let runtime: Runtime
let calls = 0
afterEach(() => (runtime as Runtime | undefined)?.close({ grace: 0 }))
const open = async (options: Parameters<typeof toolbox.secrets>[0] = {}): Promise<void> => {
  runtime = await createRuntime({ store: 'memory:', tools: toolbox.secrets(options), logger: quiet })
}
const ask = async (input: unknown): Promise<CallOutcome> =>
  (await runtime.session('s').run([{ id: `c${++calls}`, name: 'secret_store', input }]))[0] as CallOutcome
const { value, codeOf, failure } = outcomesOf(ask)

test('BOX-5: secret_store sets, lists, has and deletes secrets, and returns references', async () => {
  await open()
  const set = await ask({ operation: 'set', name: 'shop.key', value: secret })
  expect(set).toMatchObject({ value: { operation: 'set', name: 'shop.key', reference: 'secret:shop.key' } })
  expect(JSON.stringify(set)).not.toContain(secret)
  expect(await value({ operation: 'has', name: 'shop.key' })).toEqual({
    operation: 'has',
    name: 'shop.key',
    found: true,
  })
  expect(await value({ operation: 'list' })).toEqual({
    operation: 'list',
    secrets: [{ name: 'shop.key', reference: 'secret:shop.key' }],
  })
  expect(await runtime.session('s').secrets.list()).toMatchObject([{ name: 'shop.key', by: 'body', tools: null }])
  expect(await codeOf({ operation: 'get', name: 'shop.key' })).toBe('invalid_arguments')
  expect(await value({ operation: 'delete', name: 'shop.key' })).toEqual({
    operation: 'delete',
    name: 'shop.key',
    deleted: true,
  })
  expect(await value({ operation: 'has', name: 'shop.key' })).toMatchObject({ found: false })
})

test('BOX-5: with reveal the model can read a secret, while the feed redacts it', async () => {
  await open({ reveal: true })
  const session = runtime.session('s')
  await session.secrets.set('key', secret)
  await session.secrets.set('paid', secret, { tools: ['pay'] })
  const [outcome] = await session.run([{ id: 'g', name: 'secret_store', input: { operation: 'get', name: 'key' } }])
  expect(outcome).toMatchObject({ status: 'success', value: { operation: 'get', name: 'key', value: secret } })
  expect(JSON.stringify(outcome?.parts)).toContain(secret)
  expect(await failure({ operation: 'get', name: 'none' })).toEqual(['secret_unknown', "There is no secret 'none'."])
  expect(await codeOf({ operation: 'get', name: 'paid' })).toBe('secret_unknown')
  const events: FeedEvent[] = []
  for await (const event of session.events()) {
    events.push(event)
    if (events.filter(({ type }) => type === 'call.settled').length === 3) break
  }
  expect(events.find(({ outcome: each }) => each?.status === 'success')?.outcome).toEqual({
    status: 'success',
    value: '[redacted]',
  })
  expect(JSON.stringify(events)).not.toContain(secret)
})

test('BOX-5: a tool that is not sensitive cannot reveal a secret', async () => {
  const leaks = tool({
    name: 'leaks',
    description: 'Leaks.',
    input: { type: 'object' },
    execute: async (_, ctx) => result({ got: await ctx.secrets.get('key') }, { reveals: true }),
  })
  runtime = await createRuntime({ store: 'memory:', tools: [leaks], logger: quiet })
  await runtime.session('s').secrets.set('key', secret)
  const [outcome] = await runtime.session('s').run([{ id: 'x', name: 'leaks' }])
  expect(outcome).toMatchObject({
    status: 'success',
    value: { got: '[redacted]' },
    parts: [{ text: '{"got":"[redacted]"}' }],
  })
  expect(outcome).not.toHaveProperty('reveals')
})

test('BOX-5: secrets of the program and reserved names cannot be changed', async () => {
  await open({ reserved: ['admin'] })
  await runtime.session('s').secrets.set('key', secret)
  await runtime.session('s').secrets.set('admin', secret)
  const reserved = [
    'secret_reserved',
    'Secret name is reserved for internal system use. Choose another name. Nothing was changed.',
  ]
  for (const name of ['key', 'admin', 'pawl.x'])
    expect(await failure({ operation: 'set', name, value: 'other-value' })).toEqual(reserved)
  for (const name of ['key', 'admin']) expect(await failure({ operation: 'delete', name })).toEqual(reserved)
  expect(await value({ operation: 'list' })).toMatchObject({ secrets: [{ name: 'key' }] })
})

test('BOX-5: failures for invalid arguments do not contain the secret', async () => {
  await open()
  const asked = [
    { operation: 'set', name: 'a b', value: secret },
    { operation: 'set', name: 'x', value: secret, tools: ['x'] },
    { operation: 'set', name: 'x', vlaue: secret },
    { operation: 'set', value: secret },
    { operation: 'set', name: 'x', value: { secret } },
    { operation: 'sett', name: 'x', value: secret },
    { operation: 'set', name: 'x', value: [secret] },
    `{"operation":"set","name":"x","value":"${secret}"`,
    `{"operation":"set","name":"x",value:"${secret}"}`,
    secret,
  ]
  for (const input of asked) {
    const outcome = await ask(input)
    expect(outcome.status).toBe('failure')
    expect([input, JSON.stringify(outcome)]).toEqual([input, expect.not.stringContaining(secret) as string])
  }
  expect(await runtime.session('s').secrets.list()).toEqual([])
})

test('BOX-5: approvers see no value, and a value they edit is hidden from the model', async () => {
  runtime = await createRuntime({
    store: 'memory:',
    tools: toolbox.secrets(),
    logger: quiet,
    policy: { rules: [{ tool: 'secret_store', then: 'ask' }] },
  })
  const asked = ask({ operation: 'set', name: 'key', value: secret })
  await vi.waitUntil(async () => (await runtime.inbox()).length === 1, { interval: 1 })
  const [item] = await runtime.inbox()
  expect(item).toMatchObject({
    args: { operation: 'set', name: 'key', value: '[hidden]' },
    preview: { summary: "Secrets: set 'key'" },
  })
  expect(JSON.stringify(item)).not.toContain(secret)
  const edited = { operation: 'set', name: 'key', value: 'another-one-of-theirs' }
  expect(await runtime.decide(item?.id as string, { edit: edited, by: 'user:bea' })).toMatchObject({
    answer: 'accepted',
  })
  const outcome = await asked
  expect(outcome).toMatchObject({ status: 'success', note: expect.stringContaining('"value":"[hidden]"') as string })
  expect(JSON.stringify(outcome)).not.toContain('another-one')
})

test('BOX-5: unknown options are rejected', async () => {
  await open()
  for (const options of [{ reveals: true }, { reveal: 'yes' }, { reserved: 'admin' }])
    expect(() => toolbox.secrets(options as never)).toThrow(PawlError)
})
