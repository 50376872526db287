import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Progress } from '@modelcontextprotocol/client'
import { createRuntime, tool } from 'pawl'
import { createMcpServer } from 'pawl/mcp'
import { expect, test, vi } from 'vitest'
import { atEnd, connect, type Era, freshFolder, httpServer, toolRequest } from '../../kit/mcp/server-clients.ts'
import { childServer, rawClient } from '../../kit/mcp/server-raw-client.ts'
import { effectsIn, mcpServerTools } from '../../kit/mcp/server-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

/** A safety net. */
const patient = { timeout: 30_000, interval: 10 }

const info = { name: 'raw', version: '1' }
/** The legacy client takes a schema of the result before the options. */
const options = (era: Era): [] => (era === 'legacy' ? [undefined] : []) as []

const numbered = { description: 'One of many', input: { type: 'object' }, execute: () => 1 }

const slow = (text: string) => ({ name: 'slow', arguments: { text } })
const write = (text: string) => ({ name: 'write', arguments: { text } })

test('MCP-3: a request that is re-issued after its stream was broken does not run twice', async () => {
  const { folder, url, runtime } = await httpServer()
  const broken = new AbortController()
  const lost = rawClient(url, { signal: broken.signal }).request('tools/call', slow('once'), { progressToken: 1 })
  await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
  broken.abort()
  await expect(lost).rejects.toThrow()
  const again = rawClient(url).request('tools/call', slow('once'))
  writeFileSync(join(folder, 'release.txt'), '')
  expect((await again).result).toMatchObject({ content: [{ text: 'released' }] })
  expect(effectsIn(folder)).toEqual(['once'])

  // This result was delivered, so the same request is a new call; other arguments and principals always are.
  await rawClient(url).request('tools/call', slow('once'))
  expect(effectsIn(folder)).toEqual(['once', 'once'])
  await rawClient(url, { principal: 'user:bob' }).request('tools/call', slow('once'))
  expect(effectsIn(folder)).toEqual(['once', 'once', 'once'])
  expect((await runtime.session('mcp:user:ada').calls.list()).length).toBe(2)
}, 60_000)

test('MCP-3: a result that ended while the client was away is delivered to the re-issued request', async () => {
  const { folder, url, runtime } = await httpServer()
  const broken = new AbortController()
  const lost = rawClient(url, { signal: broken.signal }).request('tools/call', slow('once'))
  await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
  broken.abort()
  await expect(lost).rejects.toThrow()
  writeFileSync(join(folder, 'release.txt'), '')
  const { calls } = runtime.session('mcp:user:ada')
  await vi.waitUntil(async () => (await calls.list())[0]?.state === 'settled', patient)
  expect((await rawClient(url).request('tools/call', slow('once'))).result).toMatchObject({
    content: [{ text: 'released' }],
  })
  expect(effectsIn(folder)).toEqual(['once'])
}, 60_000)

test('MCP-3: an idempotency key identifies the call, also after its delivery', async () => {
  const { folder, url } = await httpServer()
  const key = { 'dev.pawl/idempotencyKey': 'order-7' }
  const client = rawClient(url)
  for (let count = 0; count < 2; count++)
    expect((await client.request('tools/call', write('keyed'), key)).result).toMatchObject({
      content: [{ text: 'written' }],
    })
  expect((await client.request('tools/call', write('other'), key)).result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('Nothing was started. Use a new key') }],
  })
  await rawClient(url, { principal: 'user:bob' }).request('tools/call', write('keyed'), key)
  await rawClient(url, { principal: 'user:eve' }).request('tools/call', write('keyed'), key)
  expect(effectsIn(folder)).toEqual(['keyed', 'keyed', 'keyed'])
  for (const wrong of ['', 7, 'x'.repeat(513)])
    expect((await client.request('tools/call', write('x'), { 'dev.pawl/idempotencyKey': wrong })).error).toMatchObject({
      code: -32_602,
    })
}, 60_000)

test('MCP-3: equal requests that are open at the same time are one call', async () => {
  const { folder, url } = await httpServer()
  const client = await connect('modern', { url })
  const waiting = new Set<number>()
  const results = Array.from({ length: 8 }, (_, at) =>
    client.callTool(slow('parallel'), { onprogress: () => void waiting.add(at) }),
  )
  // All of them wait for the call.
  await vi.waitUntil(() => waiting.size === 8, patient)
  writeFileSync(join(folder, 'release.txt'), '')
  for (const result of await Promise.all(results)) expect(result).toMatchObject({ content: [{ text: 'released' }] })
  expect(effectsIn(folder)).toEqual(['parallel'])
}, 60_000)

test('MCP-3: a delivered call is joined within the time that the tool declares with dedupe', async () => {
  const { folder, url } = await httpServer({}, {}, '1h')
  for (let count = 0; count < 2; count++)
    expect((await rawClient(url).request('tools/call', write('deduped'))).result).toMatchObject({
      content: [{ text: 'written' }],
    })
  await rawClient(url).request('tools/call', write('other'))
  expect(effectsIn(folder)).toEqual(['deduped', 'other'])
}, 60_000)

test('MCP-3: a call is not run twice when the server is killed in mid-call', async () => {
  const folder = freshFolder()
  const killed = await connect('modern', { folder })
  const lost = killed.callTool({ name: 'slow', arguments: { text: 'killed' } })
  lost.catch(() => {})
  await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
  process.kill(killed.pid as number, 'SIGKILL')
  await expect(lost).rejects.toThrow()
  writeFileSync(join(folder, 'release.txt'), '')
  const next = await connect('legacy', { folder })
  // The tool is neither read-only nor idempotent: its effect is not known, and it is not run again.
  const again = await next.callTool({ name: 'slow', arguments: { text: 'killed' } })
  expect(again).toMatchObject({ isError: true })
  expect(JSON.stringify(again)).toContain('unknown')
  expect(effectsIn(folder)).toEqual(['killed'])
  // That was delivered.
  await next.callTool({ name: 'slow', arguments: { text: 'killed' } })
  expect(effectsIn(folder)).toEqual(['killed', 'killed'])
}, 120_000)

test.each(['modern', 'legacy'] as const)(
  'MCP-1: a %s client that cancels a request cancels its call',
  async (era) => {
    const folder = freshFolder()
    const client = await connect(era, { folder })
    const call = (text: string, stop: AbortController) => {
      const made = client.callTool(slow(text), ...options(era), { signal: stop.signal })
      made.catch(() => {})
      return made
    }
    const stop = new AbortController()
    const running = call('running', stop)
    await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
    stop.abort('enough')
    await expect(running).rejects.toThrow()
    const runtime = await createRuntime({ store: `sqlite:${join(folder, 'store.db')}`, worker: false, logger: quiet })
    atEnd(() => runtime.close({ grace: 0 }))
    const { calls } = runtime.session('mcp:user:ada')
    await vi.waitUntil(async () => (await calls.list())[0]?.outcome?.status === 'cancelled', patient)
    // The same request is a new call, and not the cancelled one.
    writeFileSync(join(folder, 'release.txt'), '')
    expect(await client.callTool(slow('running'))).toMatchObject({ content: [{ text: 'released' }] })
  },
  60_000,
)

test('MCP-1: a call that is cancelled before it starts never runs', async () => {
  const folder = freshFolder()
  const child = childServer(folder)
  child.send({
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info },
  })
  await child.answerTo(0)
  child.send({ method: 'notifications/initialized' })
  const exclusive = (id: number, text: string) => ({
    id,
    method: 'tools/call',
    params: { name: 'alone', arguments: { text } },
  })
  const cancelled = (requestId: number) => ({ method: 'notifications/cancelled', params: { requestId } })
  child.send(exclusive(1, 'first'))
  await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
  // The second waits for the first; the third and its cancellation arrive together.
  child.send(exclusive(2, 'queued'))
  const runtime = await createRuntime({ store: `sqlite:${join(folder, 'store.db')}`, worker: false, logger: quiet })
  atEnd(() => runtime.close({ grace: 0 }))
  const { calls } = runtime.session('mcp:user:ada')
  await vi.waitUntil(async () => (await calls.list()).length === 2, patient)
  child.send(cancelled(2))
  child.send(exclusive(3, 'together'), cancelled(3))
  await vi.waitUntil(async () => (await calls.list())[1]?.outcome?.status === 'cancelled', patient)
  writeFileSync(join(folder, 'release.txt'), '')
  child.send(exclusive(4, 'last'))
  expect(await child.answerTo(4)).toMatchObject({ result: { content: [{ text: 'released' }] } })
  expect(effectsIn(folder)).toEqual(['first', 'last'])
}, 60_000)

test('MCP-1: a closed connection cancels nothing', async () => {
  const { folder, url, runtime } = await httpServer()
  const client = await connect('modern', { url })
  const lost = client.callTool(slow('continues'))
  lost.catch(() => {})
  await vi.waitUntil(() => effectsIn(folder).length === 1, patient)
  await client.close()
  writeFileSync(join(folder, 'release.txt'), '')
  const { calls } = runtime.session('mcp:user:ada')
  await vi.waitUntil(async () => (await calls.list())[0]?.outcome?.status === 'success', patient)
}, 60_000)

test('MCP-1: progress of a tool is reported, and it increases', async () => {
  for (const era of ['modern', 'legacy'] as const) {
    const { folder, url } = await httpServer()
    const client = await connect(era, { url })
    const seen: Progress[] = []
    const onprogress = (each: Progress): void => {
      if (seen.push(each) === 5) writeFileSync(join(folder, 'release.txt'), '')
    }
    await client.callTool(slow(era), ...options(era), { onprogress })
    expect(existsSync(join(folder, 'release.txt'))).toBe(true)
    expect(seen).toContainEqual(expect.objectContaining({ total: 1_000, message: 'step' }))
    const values = seen.map(({ progress }) => progress)
    expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b))
  }
}, 60_000)

test('MCP-3: a response that was not read to its end was not delivered', async () => {
  const folder = freshFolder()
  const runtime = await createRuntime({ store: 'memory:', tools: mcpServerTools(folder), logger: quiet })
  const mcp = createMcpServer(runtime)
  atEnd(async () => {
    await mcp.close()
    await runtime.close({ grace: 0 })
  })
  const caller = { principal: 'user:ada', tenant: 'default' }
  const call = (signal?: AbortSignal) => mcp.fetch(toolRequest('write', { text: 'once' }, signal), caller)
  const unread = await call()
  expect(unread.status).toBe(200)
  const cut = await call()
  await cut.body?.cancel()
  const gone = new AbortController()
  const late = await call(gone.signal)
  gone.abort()
  await late.text()
  expect(await (await call()).text()).toContain('written')
  expect(effectsIn(folder)).toEqual(['once'])
  expect(await (await call()).text()).toContain('written')
  expect(effectsIn(folder)).toEqual(['once', 'once'])
}, 60_000)

test('MCP-1: a waiting request sends signs of life until its patience is over', async () => {
  const client = await connect('modern', { folder: freshFolder(), options: { patience: '2s', heartbeat: '50ms' } })
  const waits = async (name: string): Promise<void> => {
    const seen: number[] = []
    const onprogress = ({ progress }: Progress): void => void seen.push(progress)
    const result = await client.callTool({ name, arguments: { text: name } }, { onprogress })
    expect(JSON.stringify(result)).toContain('[Pending]')
    expect(seen.length).toBeGreaterThan(2)
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b))
  }
  await Promise.all(['asked', 'slow'].map(waits))
}, 60_000)

test('MCP-1: a call that takes long becomes a task', async () => {
  const { folder, url } = await httpServer()
  const client = rawClient(url, { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } })
  expect((await client.request('tools/call', { name: 'add', arguments: { a: 1, b: 2 } })).result).toMatchObject({
    structuredContent: { sum: 3 },
  })
  const { result } = await client.request('tools/call', slow('long'))
  expect(result).toMatchObject({ resultType: 'task' })
  const taskId = String(result?.taskId)
  expect((await client.request('tasks/get', { taskId })).result).toMatchObject({ status: 'working' })
  writeFileSync(join(folder, 'release.txt'), '')
  await vi.waitUntil(
    async () => (await client.request('tasks/get', { taskId })).result?.status === 'completed',
    patient,
  )
  expect(effectsIn(folder)).toEqual(['long'])
}, 60_000)

test('MCP-1: long lists of tools come in pages, with the time for which they may be kept', async () => {
  const { url, runtime } = await httpServer()
  for (let at = 0; at < 250; at++) runtime.tools.add(tool({ ...numbered, name: `tool_${at}` }))
  const names: string[] = []
  let cursor: string | undefined
  do {
    const { result } = await rawClient(url).request('tools/list', cursor === undefined ? {} : { cursor })
    expect(result).toMatchObject({ ttlMs: expect.any(Number), cacheScope: 'private' })
    names.push(...((result?.tools ?? []) as { name: string }[]).map(({ name }) => name))
    cursor = result?.nextCursor as string | undefined
  } while (cursor !== undefined)
  expect(names.length).toBeGreaterThan(250)
  expect(names).toEqual([...new Set(names)].toSorted())
  for (const wrong of ['', '!', 'x'.repeat(1_000)])
    expect((await rawClient(url).request('tools/list', { cursor: wrong })).error).toMatchObject({ code: -32_602 })
}, 60_000)

test('MCP-1: clients hear of a changed list of tools', async () => {
  const { url, runtime } = await httpServer()
  const client = await connect('modern', { url })
  const changed = vi.fn()
  client.setNotificationHandler('notifications/tools/list_changed', changed)
  const listening = await client.listen({ toolsListChanged: true })
  const before = (await client.listTools()).tools.length
  runtime.tools.remove('write')
  await vi.waitUntil(() => changed.mock.calls.length > 0, patient)
  expect((await client.listTools(undefined, { cacheMode: 'refresh' } as never)).tools.length).toBe(before - 1)
  await listening.close()
}, 60_000)
