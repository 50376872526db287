import type { ElicitRequestFormParams } from '@modelcontextprotocol/client'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { expect, test, vi } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { type AnyClient, atEnd, connect, type Era, freshFolder, httpServer } from '../../kit/mcp/server-clients.ts'
import { rawClient } from '../../kit/mcp/server-raw-client.ts'
import { effectsIn } from '../../kit/mcp/server-tools.ts'

type FormAnswer = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> }

/** Declares forms, and answers each with the next answer. */
function answering(era: Era, ...answers: FormAnswer[]) {
  const forms: ElicitRequestFormParams[] = []
  const answer = async (request: { params: unknown }): Promise<FormAnswer> => {
    forms.push(request.params as ElicitRequestFormParams)
    return answers.shift() ?? { action: 'cancel' }
  }
  const prepare = (client: AnyClient): void =>
    era === 'legacy'
      ? client.setRequestHandler(ElicitRequestSchema as never, answer as never)
      : client.setRequestHandler('elicitation/create', answer as never)
  return { forms, prepare, options: { capabilities: { elicitation: { form: {} } } } }
}

/** A safety net. */
const patient = { timeout: 30_000, interval: 10 }

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? ''

test.each([
  ['modern', 'stdio'],
  ['modern', 'http'],
  ['legacy', 'stdio'],
] as const)(
  'MCP-1: a %s client over %s asks its user with a form of all arguments',
  async (era, way) => {
    const { forms, prepare, options } = answering(
      era,
      { action: 'accept', content: { decision: 'approve' } },
      { action: 'accept', content: { decision: 'deny', reason: 'not today' } },
      { action: 'decline' },
      { action: 'cancel' },
    )
    const running = way === 'http' ? await httpServer() : undefined
    const folder = running?.folder ?? freshFolder()
    const client = await connect(era, running ? { url: running.url } : { folder }, options, prepare)
    const ask = (text: string) => client.callTool({ name: 'asked', arguments: { text } })

    expect(textOf(await ask('one <b>`x`</b> [a](http://evil)\u202e'))).toBe('written after approval')
    const shown = forms[0]?.message ?? ''
    expect(shown).toContain(
      '"text": "one \\u003cb\\u003e\\u0060x\\u0060\\u003c/b\\u003e [a\\u005d(http://evil)\\u202e"',
    )
    expect(shown).toContain('Why you are asked')
    expect(await ask('two')).toMatchObject({ isError: true })
    expect(await ask('three')).toMatchObject({ isError: true })
    expect(textOf(await ask('four'))).toMatch(/^\[Pending\]/)
    expect(effectsIn(folder)).toEqual(['one <b>`x`</b> [a](http://evil)\u202e'])
    if (running) {
      const [left, ...more] = await running.runtime.inbox()
      expect(left?.args).toEqual({ text: 'four' })
      expect(more).toEqual([])
      const decisions: string[] = []
      for await (const event of running.runtime.events({ until: 'now' }))
        if (event.type === 'decision.made') decisions.push(`${event.body.decision} ${event.body.by} ${event.body.door}`)
      expect(decisions).toEqual(['approve user:ada mcp', 'deny user:ada mcp', 'deny user:ada mcp'])
    }
  },
  60_000,
)

test.each(['modern', 'legacy'] as const)(
  'MCP-1: a %s client asks its user the question of a tool',
  async (era) => {
    const { prepare, options } = answering(era, { action: 'accept', content: { answer: 'blue' } })
    const client = await connect(era, { folder: freshFolder() }, options, prepare)
    expect(textOf(await client.callTool({ name: 'question', arguments: {} }))).toBe('answered: "blue"')
  },
  60_000,
)

test('MCP-1: with a progress token the request is held until a person decides in the inbox', async () => {
  const { runtime, url } = await httpServer()
  for (const era of ['modern', 'legacy'] as const) {
    const client = await connect(era, { url })
    const seen: number[] = []
    const result = client.callTool(
      { name: 'asked', arguments: { text: era } },
      ...((era === 'legacy' ? [undefined] : []) as []),
      { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) },
    )
    const [item] = await vi.waitUntil(async () => {
      const items = await runtime.inbox()
      return seen.length > 0 && items.length > 0 && items
    }, patient)
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:boss' })
    expect(textOf(await result)).toBe('written after approval')
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b))
  }
}, 60_000)

test('MCP-1: without any of these the result is pending, and pawl_wait and pawl_cancel continue the call', async () => {
  const { runtime, url, folder } = await httpServer()
  const client = await connect('legacy', { url })
  const pending = async (text: string): Promise<string> => {
    const shown = textOf(await client.callTool({ name: 'asked', arguments: { text } }))
    return /call_[\w-]+/.exec(shown)?.[0] ?? ''
  }
  const first = await pending('one')
  expect(await pending('one')).toBe(first) // the result was never delivered
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:boss' })
  expect(textOf(await client.callTool({ name: 'pawl_wait', arguments: { call: first } }))).toBe(
    'written after approval',
  )
  const second = await pending('one')
  expect(second).not.toBe(first)
  await client.callTool({ name: 'pawl_cancel', arguments: { call: second } })
  expect(await client.callTool({ name: 'pawl_wait', arguments: { call: second } })).toMatchObject({ isError: true })
  expect(await runtime.inbox()).toEqual([])
  expect(effectsIn(folder)).toEqual(['one'])

  const other = await connect('legacy', { url, principal: 'user:bob' })
  for (const name of ['pawl_wait', 'pawl_cancel'])
    expect(textOf(await other.callTool({ name, arguments: { call: first } }))).toMatch(/no call with this id/)
}, 60_000)

test('MCP-1: a client with the tasks extension polls a task, answers its form and gets its result', async () => {
  const { url, folder } = await httpServer()
  const client = rawClient(url, {
    capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } },
  })
  const created = await client.request('tools/call', { name: 'asked', arguments: { text: 'task' } })
  expect(created.result).toMatchObject({
    resultType: 'task',
    status: 'working',
    taskId: expect.stringMatching(/^call_/),
  })
  const taskId = String(created.result?.taskId)
  const asked = await client.request('tasks/get', { taskId })
  expect(asked.result).toMatchObject({ status: 'input_required' })
  const [key = ''] = Object.keys(asked.result?.inputRequests as object)
  for (const principal of ['user:bob', 'user:eve']) {
    const stranger = rawClient(url, {
      principal,
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    })
    for (const method of ['tasks/get', 'tasks/cancel'])
      expect((await stranger.request(method, { taskId })).error).toEqual(
        (await stranger.request(method, { taskId: 'call_absent' })).error,
      )
    const inputResponses = { [key]: { action: 'accept', content: { decision: 'approve' } } }
    expect((await stranger.request('tasks/update', { taskId, inputResponses })).error).toMatchObject({ code: -32_602 })
  }
  expect(effectsIn(folder)).toEqual([])
  const inputResponses = { [key]: { action: 'accept', content: { decision: 'approve' } } }
  expect((await client.request('tasks/update', { taskId, inputResponses })).error).toBeUndefined()
  const ended = await vi.waitUntil(async () => {
    const { result } = await client.request('tasks/get', { taskId })
    return result?.status === 'completed' && result
  }, patient)
  expect(ended).toMatchObject({ result: { content: [{ type: 'text', text: 'written after approval' }] } })

  const again = await client.request('tools/call', { name: 'asked', arguments: { text: 'task' } })
  expect(again.result?.taskId).not.toBe(taskId)
  expect((await client.request('tasks/cancel', { taskId: again.result?.taskId })).error).toBeUndefined()
  await vi.waitUntil(
    async () => (await client.request('tasks/get', { taskId: again.result?.taskId })).result?.status === 'cancelled',
    patient,
  )
  expect(effectsIn(folder)).toEqual(['task'])
}, 60_000)

test('MCP-1: a legacy client that cancels while its form is open cancels the call', async () => {
  const folder = freshFolder()
  const opened = Promise.withResolvers<void>()
  const never = async (): Promise<FormAnswer> => {
    opened.resolve()
    return new Promise(() => {})
  }
  const prepare = (client: AnyClient): void => client.setRequestHandler(ElicitRequestSchema as never, never as never)
  const options = { capabilities: { elicitation: { form: {} } } }
  const beats: number[] = []
  const client = await connect('legacy', { folder, options: { heartbeat: '50ms' } }, options, prepare)
  const stop = new AbortController()
  const onprogress = ({ progress }: { progress: number }): void => void beats.push(progress)
  const asked = client.callTool({ name: 'asked', arguments: { text: 'x' } }, ...([undefined] as never as []), {
    signal: stop.signal,
    onprogress,
  })
  asked.catch(() => {})
  await opened.promise
  // The client must not give up while its user reads.
  await vi.waitUntil(() => beats.length >= 3, patient)
  stop.abort('enough')
  await expect(asked).rejects.toThrow()
  const runtime = await createRuntime({ store: `sqlite:${join(folder, 'store.db')}`, worker: false, logger: quiet })
  atEnd(() => runtime.close({ grace: 0 }))
  const { calls } = runtime.session('mcp:user:ada')
  await vi.waitUntil(async () => (await calls.list())[0]?.outcome?.status === 'cancelled', patient)
  expect(await runtime.inbox()).toEqual([])
}, 60_000)
