import { expect, test, vi } from 'vitest'
import { openHostile, plainTool, safetyNet } from '../../kit/mcp/open-mcp.ts'

const resource = (uri: unknown): object => ({ uri, name: 'r' })

test('MCP-2: resources and prompts are listed without malformed entries, and changes are reported', async () => {
  const resources = [resource('x://a'), resource(7), null, { name: 'no address' }]
  const prompts = [{ name: 'p' }, {}, 'text']
  const { provider, server } = await openHostile({ resources, prompts })
  expect(await provider.content.listResources()).toEqual([resource('x://a')])
  expect(await provider.content.listPrompts()).toEqual([{ name: 'p' }])
  const changes: string[] = []
  const off = provider.content.onChange?.((what) => changes.push(what))
  server.become({ resources: [resource('x://b')] })
  await vi.waitUntil(() => changes.length > 0, safetyNet)
  expect(changes).toEqual(['resources'])
  expect(await provider.content.listResources()).toEqual([resource('x://b')])
  off?.()
})

test('MCP-2: reading a resource rejects with the error of the server', async () => {
  const { provider } = await openHostile({ tools: [plainTool('t')] })
  await expect(provider.content.getPrompt('unheard-of', {})).rejects.toThrow('Method not found')
  const stop = AbortSignal.abort(new Error('over'))
  await expect(provider.content.readResource('x://a', stop)).rejects.toThrow('over')
})

test('MCP-2: secrets are removed from definitions before a model reads them', async () => {
  process.env.PAWL_TEST_TOKEN = 'tok-4f9a8b7c6d5e'
  const description = 'Uses the key tok-4f9a8b7c6d5e'
  const { runtime } = await openHostile(
    { tools: [plainTool('t', { description })] },
    { env: { KEY: '${PAWL_TEST_TOKEN}' } },
  ).finally(() => delete process.env.PAWL_TEST_TOKEN)
  expect(runtime.tools.list()[0]?.description).toBe('Uses the key [redacted]')
})
