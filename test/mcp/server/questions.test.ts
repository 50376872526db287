// Questions of a call: several at the same time by its task, and an answer that is not one of the choices.

import { createRuntime, type Runtime, tool } from 'pawl'
import { createMcpServer, type McpServer } from 'pawl/mcp'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Answer, request } from '../../kit/mcp/raw-requests.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const caller = { principal: 'user:alice', tenant: 'acme' }
const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }

let runtime: Runtime
let server: McpServer

beforeEach(async () => {
  const order = tool({
    name: 'order',
    description: 'Asks for a size and a colour',
    input: { type: 'object', properties: {}, additionalProperties: false },
    onCrash: 'rerun',
    execute: async (_, ctx) => {
      const size = await ctx.ask({ name: 'size', text: 'Which size?', choices: ['S', 'M'] })
      const colour = await ctx.ask({ name: 'colour', text: 'Which colour?' })
      const answers = await Promise.all([size.value, colour.value])
      return JSON.stringify(answers.map(({ answer }) => answer))
    },
  })
  const policy = { rules: [{ tool: '*', then: 'allow' as const }] }
  runtime = await createRuntime({ store: 'memory:', logger: quiet, tools: [order], policy })
  server = createMcpServer(runtime, { taskAfter: '50ms' })
})

afterEach(async () => {
  await server.close()
  await runtime.close({ grace: 0 })
})

const ask = (method: string, params: Readonly<Record<string, unknown>>): Promise<Answer> =>
  request(server, caller, { method, params, capabilities })

async function askedKeys(taskId: unknown): Promise<readonly string[]> {
  const { message } = await ask('tasks/get', { taskId })
  return Object.keys(message?.result?.inputRequests ?? {})
}

it('MCP-1: a task asks all open questions of its call, and each is answered on its own', async () => {
  const { message } = await ask('tools/call', { name: 'order', arguments: {} })
  expect(message?.result).toMatchObject({ resultType: 'task' })
  const taskId = message?.result?.taskId
  await vi.waitUntil(async () => (await askedKeys(taskId)).length === 2, { timeout: 30_000 })
  const answer = (key: string, value: string): Promise<Answer> =>
    ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content: { answer: value } } } })
  await answer('colour', 'red')
  expect(await askedKeys(taskId)).toEqual(['size'])
  // Not one of the choices, then a question that is already answered: neither changes anything.
  await answer('size', 'XXL')
  await answer('colour', 'blue')
  expect(await askedKeys(taskId)).toEqual(['size'])
  await answer('size', 'M')
  const ended = await vi.waitUntil(
    async () => {
      const got = (await ask('tasks/get', { taskId })).message?.result
      return got?.status === 'completed' ? got : undefined
    },
    { timeout: 30_000 },
  )
  expect(ended.result).toMatchObject({ content: [{ type: 'text', text: '["M","red"]' }] })
})

it('MCP-1: an answer that is not one of the choices asks again', async () => {
  const forms = { elicitation: { form: {} } }
  const call = async (more: object = {}): Promise<Readonly<Record<string, unknown>>> => {
    const params = { name: 'order', arguments: {}, ...more }
    const { message } = await request(server, caller, { method: 'tools/call', params, capabilities: forms })
    return message?.result ?? {}
  }
  const answer = (asked: Readonly<Record<string, unknown>>, value: string): ReturnType<typeof call> => {
    const [key = ''] = Object.keys(asked.inputRequests as object)
    const inputResponses = { [key]: { action: 'accept', content: { answer: value } } }
    return call({ requestState: asked.requestState, inputResponses })
  }
  const first = await call()
  const again = await answer(first, 'XXL')
  expect(again).toMatchObject({ resultType: 'input_required', inputRequests: { size: {} } })
  const second = await answer(again, 'S')
  expect(second).toMatchObject({ resultType: 'input_required', inputRequests: { colour: {} } })
  expect(await answer(second, 'red')).toMatchObject({ content: [{ type: 'text', text: '["S","red"]' }] })
})
