// Malformed and hostile messages to the MCP server: each gets a JSON-RPC error, none runs a tool, and the server goes on.

import { createRuntime, jsonSchema, type Runtime, tool } from 'pawl'
import { createMcpServer, type McpServer } from 'pawl/mcp'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { legacy, metaOf, modern, request, send } from '../../kit/mcp/raw-requests.ts'
import { fc } from '../../kit/seeded-fast-check.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const alice = { principal: 'user:alice', tenant: 'acme' }
const bob = { principal: 'user:bob', tenant: 'acme' }
const abroad = { principal: 'user:alice', tenant: 'rival' }
const elicitation = { elicitation: { form: {} } }

let runtime: Runtime
let server: McpServer
let ran: unknown[]

beforeEach(async () => {
  ran = []
  const record = (input: unknown): string => (ran.push(input), 'done')
  const note = jsonSchema<{ text: string }>({
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  })
  const routed = jsonSchema({
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      'x-mcp-header': { type: 'string', description: 'a parameter of that name' },
    },
  })
  runtime = await createRuntime({
    store: 'memory:',
    logger: quiet,
    tools: [
      tool({ name: 'note', description: 'Notes a text', input: note, execute: record }),
      tool({ name: 'routed', description: 'Has an argument with a header', input: routed, execute: record }),
      tool({ name: 'approve_me', description: 'Needs approval', input: note, approval: 'always', execute: record }),
    ],
    policy: { rules: [{ tool: 'note', then: 'allow' }] },
  })
  server = createMcpServer(runtime)
})

afterEach(async () => {
  await server.close()
  await runtime.close({ grace: 0 })
})

const callNote = (text: string, id: unknown = 1): ReturnType<typeof request> =>
  request(server, alice, { id, method: 'tools/call', params: { name: 'note', arguments: { text } } })

/** The server still answers, and nothing has run before. */
async function worksStill(): Promise<void> {
  expect(ran).toEqual([])
  const { message } = await callNote('after')
  expect(message?.result).toMatchObject({ content: [{ type: 'text', text: 'done' }] })
  expect(ran).toEqual([{ text: 'after' }])
}

const modernHeaders = { 'mcp-protocol-version': modern }

describe('MCP-1: a body that is no request is refused', () => {
  it.each([
    ['no JSON', '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"', -32700],
    ['an empty body', '', -32700],
    ['a number', '7', -32600],
    ['null', 'null', -32600],
    ['an empty batch', '[]', -32600],
    ['an object without a method', '{"jsonrpc":"2.0","id":1}', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":{"a":1}}', -32600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}', -32600],
  ])('%s', async (_, body, code) => {
    const { status, message } = await send(server, alice, { headers: modernHeaders, body })
    expect(status).toBe(400)
    expect(message?.error?.code).toBe(code)
    await worksStill()
  })
})

describe('MCP-1: a request that no revision allows is refused', () => {
  it('an unknown method', async () => {
    const { status, message } = await request(server, alice, { id: 9, method: 'tools/delete' })
    expect({ status, id: message?.id, code: message?.error?.code }).toEqual({ status: 404, id: 9, code: -32601 })
    await worksStill()
  })

  it('an unknown revision, with the supported ones in the error', async () => {
    const meta = { ...metaOf(), 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }
    const headers = { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' }
    const { status, message } = await send(server, alice, { headers, body: JSON.stringify(body) })
    expect(status).toBe(400)
    expect(message?.error?.data).toMatchObject({ supported: expect.arrayContaining([modern]) as unknown })
    await worksStill()
  })

  it('a header that names another tool than the body', async () => {
    const params = { _meta: metaOf(), name: 'note', arguments: { text: 'a' } }
    const { status, message } = await send(server, alice, {
      headers: { ...modernHeaders, 'mcp-method': 'tools/call', 'mcp-name': 'approve_me' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    expect({ status, code: message?.error?.code }).toEqual({ status: 400, code: -32020 })
    await worksStill()
  })

  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])('HTTP %s', async (method) => {
    const { status } = await send(server, alice, { method })
    expect(status).toBe(405)
    await worksStill()
  })

  it('another content type', async () => {
    const { status } = await send(server, alice, { headers: { 'content-type': 'text/plain' }, body: '{}' })
    expect(status).toBe(415)
    await worksStill()
  })
})

describe('MCP-1: a call with invalid parameters runs nothing', () => {
  it.each([
    ['without a name', { arguments: { text: 'a' } }],
    ['with a name that is no text', { name: 7, arguments: { text: 'a' } }],
    ['of an unknown tool', { name: 'nothing', arguments: {} }],
    ['of a name on the prototype of objects', { name: 'constructor', arguments: {} }],
    ['of __proto__', { name: '__proto__', arguments: {} }],
    ['with arguments that are a list', { name: 'note', arguments: [{ text: 'a' }] }],
    ['with arguments that are a text', { name: 'note', arguments: '{"text":"a"}' }],
  ])('%s', async (_, params) => {
    const { message } = await request(server, alice, { method: 'tools/call', params })
    expect(message?.error?.code).toBe(-32602)
    await worksStill()
  })

  it('with arguments that the schema refuses: the model reads why', async () => {
    const { message } = await request(server, alice, {
      method: 'tools/call',
      params: { name: 'note', arguments: { text: 'a', more: 1 } },
    })
    expect(message?.result).toMatchObject({ isError: true })
    await worksStill()
  })

  it('with __proto__ as an argument', async () => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${JSON.stringify(metaOf())},"name":"note","arguments":{"__proto__":{"text":"polluted"}}}}`
    const headers = { ...modernHeaders, 'mcp-method': 'tools/call', 'mcp-name': 'note' }
    const { message } = await send(server, alice, { headers, body })
    expect(message?.error ?? message?.result).toMatchObject(
      message?.error ? { code: expect.any(Number) as unknown } : { isError: true },
    )
    expect(({} as { text?: string }).text).toBeUndefined()
    await worksStill()
  })
})

describe('MCP-1: ids', () => {
  it('equal ids at the same time belong to two calls', async () => {
    const [first, second] = await Promise.all([callNote('a', 5), callNote('b', 5)])
    expect([first.message?.id, second.message?.id]).toEqual([5, 5])
    expect(new Set(ran)).toEqual(new Set([{ text: 'a' }, { text: 'b' }]))
  })

  it.each([
    ['a long text', 'x'.repeat(10_000)],
    ['the largest number', Number.MAX_SAFE_INTEGER],
    ['zero', 0],
    ['', ''],
  ])('%s comes back unchanged', async (_, id) => {
    const { message } = await request(server, alice, { id, method: 'tools/list' })
    expect(message?.id).toBe(id)
    expect(message?.error).toBeUndefined()
  })

  it('a cancellation of an unknown request changes nothing', async () => {
    const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 404, reason: 'late' } }
    const { status } = await send(server, alice, { headers: modernHeaders, body: JSON.stringify(body) })
    expect(status).toBeLessThan(500)
    await worksStill()
  })
})

describe('MCP-1: the state of a waiting call', () => {
  const params = { name: 'approve_me', arguments: { text: 'a' } }
  const waiting = async (): Promise<{ state: string; key: string }> => {
    const { message } = await request(server, alice, { method: 'tools/call', params, capabilities: elicitation })
    expect(message?.result).toMatchObject({ resultType: 'input_required' })
    const { requestState, inputRequests } = (message?.result ?? {}) as {
      requestState: string
      inputRequests: object
    }
    return { state: requestState, key: Object.keys(inputRequests)[0] as string }
  }
  const consent = { action: 'accept', content: { decision: 'approve' } }

  it('lets the answer through for its own call', async () => {
    const { state, key } = await waiting()
    const { message } = await request(server, alice, {
      method: 'tools/call',
      params: { ...params, requestState: state, inputResponses: { [key]: consent } },
      capabilities: elicitation,
    })
    expect(message?.result).toMatchObject({ content: [{ text: 'done' }] })
    expect(ran).toEqual([{ text: 'a' }])
  })

  it('is refused from another principal and from another tenant', async () => {
    const { state, key } = await waiting()
    for (const caller of [bob, abroad]) {
      const { message } = await request(server, caller, {
        method: 'tools/call',
        params: { ...params, requestState: state, inputResponses: { [key]: consent } },
        capabilities: elicitation,
      })
      expect(message?.error?.code).toBe(-32602)
    }
    expect(ran).toEqual([])
  })

  it.each([
    ['with one more letter', (state: string) => `${state}x`],
    ['cut in half', (state: string) => state.slice(0, state.length / 2)],
    ['empty', () => ''],
    ['of zeros', (state: string) => '0'.repeat(state.length)],
    ['with a changed letter', (state: string) => `${state.startsWith('A') ? 'B' : 'A'}${state.slice(1)}`],
  ])('is refused %s', async (_, change) => {
    const { state, key } = await waiting()
    const { message } = await request(server, alice, {
      method: 'tools/call',
      params: { ...params, requestState: change(state), inputResponses: { [key]: consent } },
      capabilities: elicitation,
    })
    expect(message?.error?.code).toBe(-32602)
    expect(ran).toEqual([])
  })

  it.each([
    ['other arguments', { name: 'approve_me', arguments: { text: 'b' } }],
    ['another tool', { name: 'note', arguments: { text: 'a' } }],
  ])('is refused for %s', async (_, other) => {
    const { state, key } = await waiting()
    const { message } = await request(server, alice, {
      method: 'tools/call',
      params: { ...other, requestState: state, inputResponses: { [key]: consent } },
      capabilities: elicitation,
    })
    expect(message?.error?.code).toBe(-32602)
    expect(ran).toEqual([])
  })

  it.each([
    ['a number', 7],
    ['a list', [1]],
    ['an answer without an action', { content: {} }],
    ['null', null],
  ])('stays open when the answer is %s', async (_, answer) => {
    const { state, key } = await waiting()
    const { message } = await request(server, alice, {
      method: 'tools/call',
      params: { ...params, requestState: state, inputResponses: { [key]: answer } },
      capabilities: elicitation,
    })
    expect(message?.error?.code === -32602 || message?.result?.resultType === 'input_required').toBe(true)
    expect(ran).toEqual([])
    expect((await runtime.inbox({ tenant: alice.tenant })).length).toBe(1)
  })
})

it('MCP-1: clients are not asked to repeat arguments in headers, which nothing would check', async () => {
  const { message } = await request(server, alice, { method: 'tools/list' })
  const listed = message?.result?.tools as { name: string; inputSchema: object }[]
  expect(listed.find(({ name }) => name === 'routed')?.inputSchema).toMatchObject({
    properties: {
      region: expect.not.objectContaining({ 'x-mcp-header': expect.anything() as unknown }) as unknown,
      'x-mcp-header': { description: 'a parameter of that name' },
    },
  })
})

it('MCP-1: whatever JSON arrives, the server answers without an internal error', async () => {
  const key = fc.constantFrom('name', 'arguments', '_meta', 'requestState', 'inputResponses', 'cursor', 'uri', 'taskId')
  const method = fc.constantFrom(
    'tools/list',
    'tools/call',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
    'prompts/get',
    'resources/read',
    'initialize',
    'server/discover',
  )
  const params = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.constant(metaOf())), { maxKeys: 5 }),
  )
  const message = fc.record({ jsonrpc: fc.constant('2.0'), id: fc.jsonValue(), method, params })
  await fc.assert(
    fc.asyncProperty(message, fc.constantFrom(modern, legacy), async (body, revision) => {
      const headers = { 'mcp-protocol-version': revision, 'mcp-method': body.method }
      const { status, message: answered } = await send(server, alice, { headers, body: JSON.stringify(body) })
      expect(status).toBeLessThan(500)
      expect(answered?.error?.code).not.toBe(-32603)
    }),
    { numRuns: 150 },
  )
  expect(ran).toEqual([])
})
