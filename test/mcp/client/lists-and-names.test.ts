import { tool } from 'pawl'
import { expect, test } from 'vitest'
import { defaultPrefix, toolNames } from '../../../src/mcp/client/tool-names.ts'
import { callOne, logged, openHostile, openWith, plainTool, safetyNet } from '../../kit/mcp/open-mcp.ts'

const names = (runtime: { tools: { list(): readonly { name: string }[] } }): string[] =>
  runtime.tools.list().map(({ name }) => name)

test('TOOL-5: names that collide after cleaning get a hash, whatever the order of the list', () => {
  const given = ['a.b', 'a/b', 'a_b', 'x'.repeat(80), 'plain']
  const shown = toolNames('s', given)
  expect(shown.get('a_b')).toBe('s__a_b')
  expect(shown.get('plain')).toBe('s__plain')
  expect(shown.get('a.b')).toMatch(/^s__a_b_[0-9a-f]{8}$/)
  expect(new Set(shown.values()).size).toBe(given.length)
  for (const name of shown.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  expect(toolNames('s', given.toReversed())).toEqual(shown)
})

test('TOOL-5: servers with long names that begin alike have different prefixes', () => {
  const [a, b] = ['1', '2'].map((end) => defaultPrefix(`${'s'.repeat(60)}${end}`))
  expect(a).toMatch(/^s{23}_[0-9a-f]{8}$/)
  expect(a).not.toBe(b)
  expect(defaultPrefix('files')).toBe('files')
})

test('TOOL-5: an empty prefix keeps the names, and no tool of a server replaces a local one', async () => {
  const local = tool({ name: 'send', description: 'Ours', input: { type: 'object' }, execute: () => 'ours' })
  const tools = [plainTool('send'), plainTool('other'), plainTool('constructor'), plainTool('__proto__')]
  const { runtime, server } = await openHostile({ tools }, { prefix: '' }, { tools: [local] })
  expect(names(runtime)).toEqual(['other', 'send'])
  expect(await callOne(runtime, 'send')).toMatchObject({ value: 'ours' })
  expect(server.effects).toEqual([])
})

test('TOOL-5: two servers with the same tools do not shadow each other', async () => {
  const { server, runtime, provider } = await openHostile({ tools: [plainTool('send')] })
  const { mcpProvider } = await import('pawl/mcp')
  await runtime.tools.provide(mcpProvider('h2', server.config()))
  expect(names(runtime)).toEqual(['h2__send', 'h__send'])
  expect(provider.name).toBe('h')
})

test('TOOL-5: only the tools that the filter names are listed', async () => {
  const tools = ['read_a', 'read_b', 'write_a', 'list'].map((name) => plainTool(name))
  const { runtime } = await openHostile({ tools }, { tools: ['read_*', 'l*st'] })
  expect(names(runtime)).toEqual(['h__list', 'h__read_a', 'h__read_b'])
})

test('TOOL-5: a huge list is cut, and malformed entries are left out and logged', async () => {
  const good = Array.from({ length: 5_000 }, (_, n) => plainTool(`t${n}`))
  const bad = [null, 7, [], {}, { name: 5 }, { name: '' }, plainTool('big', { description: 'x'.repeat(300_000) })]
  const { runtime } = await openHostile({ tools: [...bad, ...good], pageSize: 700 })
  expect(names(runtime)).toHaveLength(1_997)
  expect(logged.join('\n')).toContain('only the first 2000 entries are used')
  expect(logged.join('\n')).toContain('not an object of at most 256 KiB')
})

test.each(['same', 'new'] as const)('TOOL-5: a list whose pages do not end is cut (cursor: %s)', async (cursor) => {
  const { runtime } = await openHostile({ tools: [plainTool('a')], cursor })
  expect(names(runtime)).toEqual(['h__a'])
  expect(logged.join('\n')).toContain('its pages do not end')
})

test('TOOL-5: a bad schema makes only its own tool unavailable', async () => {
  const tools = [
    plainTool('good'),
    plainTool('array', { inputSchema: [] }),
    plainTool('text', { inputSchema: { type: 'string' } }),
    plainTool('standard', { inputSchema: { '~standard': { vendor: 'x', version: 1 } } }),
    plainTool('output', { outputSchema: { $ref: 'https://example.com/x' } }),
  ]
  const { runtime, server } = await openHostile({ tools })
  expect(await callOne(runtime, 'h__good')).toMatchObject({ status: 'success', value: 'done' })
  for (const name of ['array', 'text', 'standard', 'output'])
    expect(await callOne(runtime, `h__${name}`)).toMatchObject({ failure: { code: 'tool_unavailable' } })
  expect(server.effects).toEqual(['good {}'])
})

test.each([
  ['text', 'this is no JSON'],
  ['an object of another kind', '{"hello":1}'],
  ['a number', '{"jsonrpc":"2.0","id":<id>,"result":7}'],
  ['a list that is a text', '{"jsonrpc":"2.0","id":<id>,"result":{"tools":"none"}}'],
])('TOOL-5: a server that answers tools/list with %s offers no tools', async (_, rawList) => {
  const { runtime, server } = await openHostile({ rawList }, { timeout: { idle: '1s' } })
  expect(names(runtime)).toEqual([])
  server.become({ tools: [plainTool('a')] })
  await expect.poll(() => names(runtime), safetyNet).toEqual(['h__a'])
})

test('TOOL-5: changes of the list are noticed while the runtime runs', async () => {
  const { runtime, server } = await openHostile({ tools: [plainTool('a')] })
  server.become({ tools: [plainTool('a'), plainTool('b')] })
  await expect.poll(() => names(runtime), safetyNet).toEqual(['h__a', 'h__b'])
  server.become({ tools: [] })
  await expect.poll(() => names(runtime), safetyNet).toEqual([])
})

test('TOOL-5: a tool that needs the tasks extension is not offered', async () => {
  const tools = [plainTool('a'), plainTool('long', { execution: { taskSupport: 'required' } })]
  const { provider } = await openHostile({ tools })
  const runtime = await openWith([])
  expect((await provider.list()).map(({ name }) => name)).toEqual(['h__a'])
  expect(names(runtime)).toEqual([])
})
