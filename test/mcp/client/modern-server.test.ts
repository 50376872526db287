import { join } from 'node:path'
import { mcpProvider } from 'pawl/mcp'
import { expect, test } from 'vitest'
import { callOne, logger, openWith, safetyNet } from '../../kit/mcp/open-mcp.ts'

const server = { command: process.execPath, args: [join(import.meta.dirname, '../../kit/mcp/child-modern-server.ts')] }

test('MCP-2: a server of revision 2026-07-28 is called, and its changes arrive by subscription', async () => {
  const runtime = await openWith(mcpProvider('m', server, { logger }))
  const { value } = await callOne(runtime, 'm__echo', { text: 'hi' })
  expect(JSON.parse(value as string)).toEqual({ text: 'hi', era: true })
  expect(await callOne(runtime, 'm__grow')).toMatchObject({ value: 'done' })
  await expect.poll(() => runtime.tools.list().map(({ name }) => name), safetyNet).toContain('m__grown')
  expect(await callOne(runtime, 'm__grown')).toMatchObject({ value: 'I am new' })
})

test('MCP-2: a request of a server for input fails the call with an error that says so', async () => {
  const runtime = await openWith(mcpProvider('m', server, { logger }))
  expect(await callOne(runtime, 'm__ask')).toMatchObject({ status: 'failure' })
})

test('MCP-2: a server of revision 2026-07-28 that dies is started again without another probe', async () => {
  const runtime = await openWith(mcpProvider('m', server, { logger }))
  expect(await callOne(runtime, 'm__die')).toMatchObject({ status: 'unknown' })
  expect(await callOne(runtime, 'm__echo', { text: 'again' })).toMatchObject({ status: 'success' })
})
