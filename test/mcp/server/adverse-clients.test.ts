import { setTimeout as pause } from 'node:timers/promises'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tool } from 'pawl'
import { expect, test, vi } from 'vitest'
import { freshFolder, httpServer, tokenOf } from '../../kit/mcp/server-clients.ts'
import { childServer, rawClient } from '../../kit/mcp/server-raw-client.ts'
import { effectsIn } from '../../kit/mcp/server-tools.ts'

/** A safety net. */
const patient = { timeout: 30_000, interval: 10 }
const forms = { elicitation: { form: {} } }
const approve = { action: 'accept', content: { decision: 'approve' } }

test('MCP-1: a token without the right to decide cannot use the form of another token', async () => {
  const token = (name: string, roles: readonly ['operator'] | readonly ['caller']) =>
    ({ token: tokenOf(name), roles, principal: 'user:ada' }) as const
  const { folder, url, runtime } = await httpServer({
    tokens: [token('full', ['operator']), token('less', ['caller'])],
  })
  const args = { name: 'asked', arguments: { text: 'mine' } }
  const { result } = await rawClient(url, { principal: 'full', capabilities: forms }).request('tools/call', args)
  const key = Object.keys(result?.inputRequests as object)[0] ?? ''
  const answer = { ...args, requestState: result?.requestState, inputResponses: { [key]: approve } }
  const less = await rawClient(url, { principal: 'less', capabilities: forms }).request('tools/call', answer)
  expect(JSON.stringify(less.result)).toContain('[Pending]')
  expect((await runtime.inbox()).length).toBe(1)
  expect(effectsIn(folder)).toEqual([])
}, 60_000)

test('MCP-1: two requests that share a call cancel it when both are cancelled', async () => {
  const folder = freshFolder()
  const child = childServer(folder)
  const clientInfo = { name: 'raw', version: '1' }
  child.send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })
  await child.answerTo(0)
  const call = { method: 'tools/call', params: { name: 'slow', arguments: { text: 'shared' } } }
  child.send({ id: 1, ...call }, { id: 2, ...call })
  await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
  // Long enough for the second request to join; the result is the same if it does not.
  await pause(500)
  const cancel = (requestId: number) => ({ method: 'notifications/cancelled', params: { requestId } })
  child.send(cancel(1), cancel(2))
  // An equal request is a new call, because the first one was cancelled.
  await vi.waitUntil(async () => {
    child.send({ id: 3, ...call })
    return effectsIn(folder).length > 1
  }, patient)
  writeFileSync(join(folder, 'release.txt'), '')
}, 60_000)

test('MCP-1: a second request with an open id is refused, and both ids are free afterwards', async () => {
  const folder = freshFolder()
  const child = childServer(folder)
  const clientInfo = { name: 'raw', version: '1' }
  child.send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })
  await child.answerTo(0)
  const call = (text: string) => ({ id: 1, method: 'tools/call', params: { name: 'slow', arguments: { text } } })
  child.send(call('first'))
  await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
  child.send(call('second'))
  expect(await child.answerTo(1)).toMatchObject({ error: { code: -32_600 } })
  writeFileSync(join(folder, 'release.txt'), '')
  await vi.waitUntil(async () => 'result' in (await child.answerTo(1)), patient)
  expect(effectsIn(folder)).toEqual(['first'])
}, 60_000)

test('MCP-3: read-only calls leave no entries behind, so that equal ones run again', async () => {
  const { url, runtime } = await httpServer()
  const client = rawClient(url)
  const round = () =>
    Promise.all(
      Array.from({ length: 200 }, (_, a) => client.request('tools/call', { name: 'add', arguments: { a, b: 0 } })),
    )
  const session = (part: number) => runtime.session(`pawl:mcp-undelivered:user:ada:${part}`)
  const entries = async () => {
    const lists = await Promise.all(Array.from({ length: 16 }, (_, part) => session(part).values.list()))
    return lists.flatMap((each) => each.entries)
  }
  await round()
  await vi.waitUntil(async () => (await entries()).length === 0, patient)
  await round()
  await vi.waitUntil(async () => (await entries()).length === 0, patient)
}, 120_000)

test('MCP-1: details of a preview cannot pass for lines of the form', async () => {
  const edit = tool({
    name: 'edit',
    description: 'Edits',
    input: { type: 'object' },
    approval: 'always',
    preview: () => ({ summary: 'Edit &#x202e;a', details: 'a\n\nWhy you are asked: routine' }),
    execute: () => 'done',
  })
  const { url } = await httpServer({}, { tools: [edit] })
  const { result } = await rawClient(url, { capabilities: forms }).request('tools/call', {
    name: 'edit',
    arguments: {},
  })
  const text = JSON.stringify(result)
  const [form] = Object.values(result?.inputRequests as Record<string, { params: { message: string } }>)
  const lines = form?.params.message.split('\n') ?? []
  expect(lines.filter((line) => line.startsWith('Why you are asked:'))).toHaveLength(1)
  expect(text).not.toContain('&#x202e;')
}, 60_000)

test('MCP-3: a call that its client cancelled is not joined, also within the time of dedupe', async () => {
  const buy = tool({
    name: 'buy',
    description: 'Buys',
    input: { type: 'object' },
    approval: 'always',
    dedupe: '1h',
    execute: () => 'bought',
  })
  const { url, runtime } = await httpServer({}, { tools: [buy] })
  const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const plain = rawClient(url)
  const polling = rawClient(url, { capabilities: tasks })
  const pending = async (): Promise<string> =>
    /call_[\w-]+/.exec(JSON.stringify(await plain.request('tools/call', { name: 'buy', arguments: {} })))?.[0] ?? ''
  const first = await pending()
  expect(await pending()).toBe(first)
  await plain.request('tools/call', { name: 'pawl_cancel', arguments: { call: first } })
  const second = await pending()
  expect(second).not.toBe(first)
  expect((await polling.request('tasks/cancel', { taskId: second })).error).toBeUndefined()
  const third = await pending()
  expect([first, second]).not.toContain(third)
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:boss' })
  // Delivered, and joined: `dedupe`.
  for (let count = 0; count < 2; count++)
    expect(JSON.stringify(await plain.request('tools/call', { name: 'buy', arguments: {} }))).toContain('bought')
  expect((await runtime.session('mcp:user:ada').calls.list()).length).toBe(3)
}, 60_000)
