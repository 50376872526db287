import { expect, test } from 'vitest'
import { callOne, logged, openHostile, plainTool, safetyNet } from '../../kit/mcp/open-mcp.ts'

test('TOOL-5: the tools of a server that needs long to start come later', async () => {
  const { runtime } = await openHostile({ tools: [plainTool('t')], startDelayMs: 7_000 })
  expect(runtime.tools.list()).toEqual([])
  expect(logged.join('\n')).toContain('is still starting')
  await expect.poll(() => runtime.tools.list().length, safetyNet).toBe(1)
  expect(await callOne(runtime, 'h__t')).toMatchObject({ status: 'success' })
})

test('MCP-2: a server that always dies is started with growing pauses', async () => {
  const { server } = await openHostile({ exitAtStart: { code: 1, stderr: '' } })
  await new Promise((resolve) => setTimeout(resolve, 10_000))
  expect(server.pids.length).toBeGreaterThan(2)
  expect(server.pids.length).toBeLessThan(14)
})
