import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions } from 'pawl'
import { mcpProvider } from 'pawl/mcp'
import { afterEach, expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'

const bin = (name: string): string => join(import.meta.dirname, '../../../node_modules/.bin', name)
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})
const open = async (options: Partial<RuntimeOptions>): Promise<Runtime> => {
  const runtime = await createRuntime({ store: 'memory:', keys: { secret: 'k'.repeat(40) }, logger: quiet, ...options })
  closers.push(() => runtime.close({ grace: 0 }))
  return runtime
}
const allowAll = { rules: [{ tool: '*', then: 'allow' }] } as const
const folder = (): string => {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-mcp-')))
  closers.push(() => rmSync(made, { recursive: true, force: true }))
  return made
}

test('MCP-2: the filesystem server writes and reads files as tools of a runtime', async () => {
  const root = folder()
  const files = mcpProvider('files', { command: bin('mcp-server-filesystem'), args: [root] })
  const runtime = await open({ providers: [files], policy: allowAll })
  const path = join(root, 'a.txt')
  const [written, read] = await runtime.session('s').run([
    { id: '1', name: 'files__write_file', input: { path, content: 'hello' } },
    { id: '2', name: 'files__read_text_file', input: { path } },
  ])
  expect(written).toMatchObject({ status: 'success' })
  expect(read).toMatchObject({ status: 'success', value: { content: 'hello' } })
  expect(readFileSync(path, 'utf8')).toBe('hello')
})

test('TOOL-2: only the read-only tools of a trusted server run without approval', async () => {
  const root = folder()
  writeFileSync(join(root, 'a.txt'), 'hello')
  const config = { command: bin('mcp-server-filesystem'), args: [root] }
  const providers = [mcpProvider('trusted', { ...config, trusted: true }), mcpProvider('other', config)]
  const runtime = await open({ providers })
  const path = join(root, 'a.txt')
  const calls = [
    { id: '1', name: 'trusted__read_text_file', input: { path } },
    { id: '2', name: 'trusted__write_file', input: { path, content: 'changed' } },
    { id: '3', name: 'other__read_text_file', input: { path } },
  ]
  const outcomes = await runtime.session('s').run(calls, { until: 'waiting' })
  expect(outcomes[0]).toMatchObject({ status: 'success', value: { content: 'hello' } })
  const waiting = await runtime.inbox()
  expect(waiting.map(({ tool }) => tool).toSorted()).toEqual(['other__read_text_file', 'trusted__write_file'])
  expect(readFileSync(path, 'utf8')).toBe('hello')
})

test('MCP-2: the everything server gives text, images, progress, resources and prompts', async () => {
  const provider = mcpProvider('all', { command: bin('mcp-server-everything') })
  const runtime = await open({ providers: [provider], policy: allowAll })
  const outcomes = await runtime.session('s').run([
    { id: '1', name: 'all__echo', input: { message: 'hi' } },
    { id: '2', name: 'all__get-tiny-image', input: {} },
    { id: '3', name: 'all__trigger-long-running-operation', input: { duration: 0.2, steps: 2 } },
    { id: '4', name: 'all__get-structured-content', input: { location: 'New York' } },
  ])
  expect(outcomes[0]).toMatchObject({ value: 'Echo: hi' })
  expect(outcomes[1]).toMatchObject({ attachments: [{ ref: { mediaType: 'image/png' } }] })
  expect(outcomes[2]).toMatchObject({ status: 'success' })
  expect(outcomes[3]).toMatchObject({ value: { temperature: expect.any(Number) } })
  const resources = await provider.content.listResources()
  expect(resources.length).toBeGreaterThan(0)
  const read = await provider.content.readResource(resources[0]?.uri ?? '')
  expect(read.contents).toHaveLength(1)
  expect((await provider.content.listPrompts()).map(({ name }) => name)).toContain('simple-prompt')
  expect(await provider.content.getPrompt('simple-prompt', {})).toHaveProperty('messages')
  expect((await provider.content.listResourceTemplates()).length).toBeGreaterThan(0)
})

test('MCP-2: the memory server keeps its graph between calls', async () => {
  const env = { MEMORY_FILE_PATH: join(folder(), 'memory.jsonl') }
  const runtime = await open({
    providers: [mcpProvider('memory', { command: bin('mcp-server-memory'), env })],
    policy: allowAll,
  })
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes tea'] }]
  const [, graph] = await runtime.session('s').run([
    { id: '1', name: 'memory__create_entities', input: { entities } },
    { id: '2', name: 'memory__read_graph', input: {} },
  ])
  expect(JSON.stringify(graph)).toContain('likes tea')
  const state = () => runtime.tools.providers()[0]
  expect(state()).toMatchObject({ available: true, reconnectable: true, details: { transport: 'stdio' } })
  expect(state()?.details.protocol).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(state()?.details.latencyMs).toBeGreaterThanOrEqual(0)
  expect(await runtime.tools.reconnect('memory')).toBe(true)
  expect(state()).toMatchObject({ available: true, problem: null })
  const [again] = await runtime.session('s').run([{ id: '3', name: 'memory__read_graph', input: {} }])
  expect(JSON.stringify(again)).toContain('likes tea')
})

test('MCP-2: the everything server is killed in mid-call, and the call is unknown and recorded', async () => {
  const script = `echo $$ > "$0"; exec "$1"`
  const pidFile = join(folder(), 'pid')
  const args = ['-c', script, pidFile, bin('mcp-server-everything')]
  const runtime = await open({ providers: [mcpProvider('all', { command: '/bin/sh', args })], policy: allowAll })
  const session = runtime.session('s')
  const input = { duration: 60, steps: 600 }
  const run = session.run([{ id: 'long', name: 'all__trigger-long-running-operation', input }])
  for await (const event of session.events({ live: true })) if (event.type === 'call.progress') break
  process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL')
  expect((await run)[0]).toMatchObject({ status: 'unknown', attempts: 1 })
  expect((await session.calls.get('long'))?.outcome?.status).toBe('unknown')
  const echo = await session.run([{ id: 'echo', name: 'all__echo', input: { message: 'back' } }])
  expect(echo[0]).toMatchObject({ value: 'Echo: back' })
})
