import { expect, test, vi } from 'vitest'
import { changed, Changing, mail } from '../../kit/changing-provider.ts'
import { connect, freshFolder, httpServer, tokenOf } from '../../kit/mcp/server-clients.ts'
import { childServer, rawClient } from '../../kit/mcp/server-raw-client.ts'
import { effectsIn } from '../../kit/mcp/server-tools.ts'

const forms = { elicitation: { form: {} } }
const approve = { action: 'accept', content: { decision: 'approve' } }

const stateOf = (result: Record<string, unknown> | undefined): { state: string; key: string } => ({
  state: String(result?.requestState),
  key: Object.keys(result?.inputRequests as object)[0] ?? '',
})

test('MCP-1: the state of a form is refused for other callers, arguments and texts', async () => {
  const { folder, url, runtime } = await httpServer()
  const ada = rawClient(url, { capabilities: forms })
  const args = { name: 'asked', arguments: { text: 'mine' } }
  const { state, key } = stateOf((await ada.request('tools/call', args)).result)
  const answer = (more: object = {}) => ({
    ...args,
    requestState: state,
    inputResponses: { [key]: approve },
    ...more,
  })
  const invalid = { code: -32_602, message: 'Invalid or expired requestState' }
  for (const principal of ['user:bob', 'user:eve'])
    expect(
      (await rawClient(url, { principal, capabilities: forms }).request('tools/call', answer())).error,
    ).toMatchObject(invalid)
  for (const more of [
    { arguments: { text: 'another' } },
    { name: 'slow' },
    { requestState: `${state}x` },
    { requestState: tokenOf('user:ada') },
    { requestState: state.replace('v1.', 'v2.') },
    { requestState: 'x'.repeat(100_000) },
  ])
    expect((await ada.request('tools/call', answer(more))).error).toMatchObject(invalid)
  expect(effectsIn(folder)).toEqual([])
  expect((await runtime.inbox()).length).toBe(1)
  // Answers that are none leave the approval open, and it is asked again.
  for (const given of [null, 'approve', { action: 'accept' }, { action: 'accept', content: { decision: 'yes' } }]) {
    const { result, error } = await ada.request('tools/call', answer({ inputResponses: { [key]: given } }))
    expect(error ?? result?.resultType).toBe('input_required')
  }
  expect((await ada.request('tools/call', answer())).result).toMatchObject({
    content: [{ text: 'written after approval' }],
  })
  expect(effectsIn(folder)).toEqual(['mine'])
}, 60_000)

test('MCP-1: a state of a call that was approved elsewhere returns its result and runs nothing again', async () => {
  const { folder, url, runtime } = await httpServer()
  const ada = rawClient(url, { capabilities: forms })
  const args = { name: 'asked', arguments: { text: 'once' } }
  const { state, key } = stateOf((await ada.request('tools/call', args)).result)
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:boss' })
  const retry = { ...args, requestState: state, inputResponses: { [key]: { action: 'decline' } } }
  for (let count = 0; count < 2; count++)
    expect((await ada.request('tools/call', retry)).result).toMatchObject({
      content: [{ text: 'written after approval' }],
    })
  expect(effectsIn(folder)).toEqual(['once'])
}, 60_000)

test('MCP-1: only a caller who may decide alone is asked by a form', async () => {
  const approvers = (list: string[]) => ({ rules: [{ tool: 'asked', then: 'ask' as const, approvers: list }] })
  for (const [policy, mayAsk] of [
    [approvers(['user:ada']), true],
    [approvers(['user:boss']), false],
    [{ rules: [{ tool: 'asked', then: 'ask' as const, separate: true }] }, false],
    [{ rules: [{ tool: 'asked', then: 'ask' as const, quorum: 2 }] }, false],
  ] as const) {
    const { url } = await httpServer({}, { policy: policy as never })
    const { result } = await rawClient(url, { capabilities: forms }).request('tools/call', {
      name: 'asked',
      arguments: { text: 'x' },
    })
    expect(result?.resultType, JSON.stringify(policy)).toBe(mayAsk ? 'input_required' : 'complete')
  }
  const token = { token: tokenOf('user:ada'), roles: ['caller'] as const, principal: 'user:ada' }
  const { url } = await httpServer({ tokens: [token] })
  const caller = await rawClient(url, { capabilities: forms }).request('tools/call', {
    name: 'asked',
    arguments: { text: 'x' },
  })
  expect(JSON.stringify(caller.result)).toContain('[Pending]')
}, 60_000)

test('MCP-1: arguments that no form can show go to the inbox', async () => {
  const { url, runtime } = await httpServer()
  const text = 'long '.repeat(10_000)
  const { result } = await rawClient(url, { capabilities: forms }).request('tools/call', {
    name: 'asked',
    arguments: { text },
  })
  expect(JSON.stringify(result)).toContain('[Pending]')
  expect((await runtime.inbox()).length).toBe(1)
}, 60_000)

test('MCP-1: malformed HTTP messages get errors, and the server goes on', async () => {
  const { url } = await httpServer()
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokenOf('user:ada')}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
    })
    return { status: response.status, text: await response.text() }
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add', arguments: { a: 1, b: 1 } } }
  const cases: readonly (readonly [string, Record<string, string>?])[] = [
    ['{'],
    ['null'],
    ['[]'],
    ['"text"'],
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    [JSON.stringify(Array.from({ length: 51 }, () => call))],
    [JSON.stringify({ ...call, method: 7 })],
    [JSON.stringify({ ...call, params: { name: 7 } })],
    [JSON.stringify({ ...call, params: { name: 'add', arguments: [1] } })],
    ['x'.repeat(5 * 1024 * 1024)],
    [JSON.stringify(call), { 'content-type': 'text/plain' }],
    [JSON.stringify(call), { 'mcp-protocol-version': '1999-01-01' }],
  ]
  for (const [body, headers] of cases) {
    const { status, text } = await post(body, headers)
    expect(`${status} ${text}`, body.slice(0, 100)).toMatch(/^(?:200|4\d\d) .*(?:"error"|"code")/s)
  }
  expect((await rawClient(url).request('tools/call', { name: 'add', arguments: { a: 1, b: 2 } })).result).toMatchObject(
    {
      structuredContent: { sum: 3 },
    },
  )
}, 60_000)

test('MCP-1: malformed lines on stdio and too many requests get errors, and the server goes on', async () => {
  const folder = freshFolder()
  const child = childServer(folder)
  const clientInfo = { name: 'raw', version: '1' }
  child.send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })
  await child.answerTo(0)
  child.send(
    '{',
    'null',
    '[]',
    '{"jsonrpc":"2.0"}',
    { id: 1, method: 'nothing' },
    { method: 'notifications/cancelled' },
  )
  expect(await child.answerTo(1)).toMatchObject({ error: { code: -32_601 } })
  const slow = Array.from({ length: 300 }, (_, at) => ({
    id: 1_000 + at,
    method: 'tools/call',
    params: { name: 'slow', arguments: { text: `flood ${at}` } },
  }))
  child.send(...slow)
  expect(await child.answerTo(1_299)).toMatchObject({ error: { code: -32_000 } })
  for (const { id } of slow) child.send({ method: 'notifications/cancelled', params: { requestId: id } })
  await vi.waitUntil(
    async () => {
      child.send({ id: 2, method: 'tools/call', params: { name: 'add', arguments: { a: 1, b: 1 } } })
      return 'result' in (await child.answerTo(2))
    },
    { timeout: 60_000, interval: 50 },
  )
}, 120_000)

test('MCP-1: tenants and principals never see the calls of each other', async () => {
  const { url, runtime } = await httpServer()
  const answers = await Promise.all(
    ['user:ada', 'user:bob', 'user:eve'].map((principal) =>
      rawClient(url, { principal }).request('tools/call', { name: 'write', arguments: { text: 'same' } }),
    ),
  )
  for (const { result } of answers) expect(result).toMatchObject({ content: [{ text: 'written' }] })
  for (const [tenant, principal] of [
    ['default', 'user:ada'],
    ['default', 'user:bob'],
    ['other', 'user:eve'],
  ] as const) {
    const calls = await runtime.session(`mcp:${principal}`, { tenant }).calls.list()
    expect(calls.map((each) => each.principal)).toEqual([principal])
  }
  const eve = await connect('modern', { url, principal: 'user:eve' })
  const [call] = await runtime.session('mcp:user:ada').calls.list()
  const waited = await eve.callTool({ name: 'pawl_wait', arguments: { call: call?.idempotencyKey ?? '' } })
  expect(waited).toMatchObject({ isError: true })
}, 60_000)

test('POL-9: a tool whose definition has changed is not listed, and calls of it start nothing', async () => {
  const { url, runtime } = await httpServer()
  await runtime.tools.provide(new Changing([mail({ hints: { readOnly: true } })]))
  const client = rawClient(url)
  const listed = async () => JSON.stringify((await client.request('tools/list', {})).result)
  expect(await listed()).toContain('Sends a mail')
  await runtime.tools.withdraw('post')
  await runtime.tools.provide(new Changing([mail(changed)]))
  const sent = await client.request('tools/call', { name: 'mail', arguments: { to: 'Ada' } })
  expect(sent.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('does not run until a person accepts it') }],
  })
  expect(await listed()).not.toContain('mail')
  expect(await runtime.session('mcp:user:ada').calls.list()).toEqual([])
}, 60_000)
