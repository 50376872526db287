import { expect, test, vi } from 'vitest'
import { callOne, openHostile, plainTool, safetyNet } from '../../kit/mcp/open-mcp.ts'
import { isAlive } from '../../kit/mcp/hostile-server.ts'

const readOnly = { annotations: { readOnlyHint: true } }
const short = { timeout: { idle: '300ms', total: '2s' } } as const

test('MCP-2: a call whose server dies is unknown, and its effect happens once', async () => {
  const { runtime, server } = await openHostile({ tools: [plainTool('pay')], calls: { pay: { die: true } } })
  const outcome = await callOne(runtime, 'h__pay', { cents: 5 })
  expect(outcome).toMatchObject({ status: 'unknown', unknown: { evidence: { server: 'h', tool: 'pay' } } })
  expect(outcome.attempts).toBe(1)
  expect(server.effects).toEqual(['pay {"cents":5}'])
  const call = await runtime.session('s').calls.get(outcome.callId as string)
  expect(call?.outcome?.status).toBe('unknown')
  expect(await callOne(runtime, 'h__pay')).toMatchObject({ status: 'success' })
})

test('MCP-2: a tool that a trusted server calls read-only runs again after the server died', async () => {
  const script = { tools: [plainTool('look', readOnly)], calls: { look: { die: true } } } as const
  const { runtime, server } = await openHostile(script, { trusted: true })
  expect(await callOne(runtime, 'h__look')).toMatchObject({ status: 'success', attempts: 2 })
  expect(server.effects).toHaveLength(1)
})

test('MCP-2: the same claim of a server that is not trusted runs nothing twice', async () => {
  const script = { tools: [plainTool('look', readOnly)], calls: { look: { die: true } } } as const
  const { runtime } = await openHostile(script)
  expect(await callOne(runtime, 'h__look')).toMatchObject({ status: 'unknown', attempts: 1 })
})

test('MCP-2: a server that never answers is asked to cancel, and the outcome is unknown', async () => {
  const { runtime, server } = await openHostile({ tools: [plainTool('t')], calls: { t: { never: true } } }, short)
  const outcome = await callOne(runtime, 'h__t')
  expect(outcome).toMatchObject({ status: 'unknown' })
  expect((outcome.unknown as { message: string }).message).toContain("The MCP server 'h' did not answer in time.")
  await expect.poll(() => server.log.some((line) => line.startsWith('cancelled ')), safetyNet).toBe(true)
})

test('MCP-2: progress without an end is stopped by the total timeout', async () => {
  const script = { tools: [plainTool('t', readOnly)], calls: { t: { progressEveryMs: 20 } } } as const
  const { runtime } = await openHostile(script, { ...short, trusted: true })
  const started = performance.now()
  expect(await callOne(runtime, 'h__t')).toMatchObject({ failure: { class: 'timeout', code: 'mcp_timeout' } })
  expect(performance.now() - started).toBeGreaterThan(1_900)
})

test('MCP-2: progress keeps a slow call alive and is forwarded', async () => {
  const script = { tools: [plainTool('t')], calls: { t: { progressEveryMs: 50 } } } as const
  const { runtime } = await openHostile(script, { timeout: { idle: '10s', total: '30s' } })
  const seen: unknown[] = []
  const stop = new AbortController()
  void (async () => {
    for await (const event of runtime.session('s').events({ live: true, signal: stop.signal }))
      if (event.type === 'call.progress') seen.push(event)
  })().catch(() => {})
  const run = runtime.session('s').run([{ id: 'p', name: 'h__t', input: {} }])
  await vi.waitUntil(() => seen.length > 1, safetyNet)
  expect(seen[0]).toMatchObject({ body: { label: 'still busy' } })
  await runtime.session('s').cancel('over')
  expect((await run)[0]).toMatchObject({ status: 'cancelled' })
  stop.abort()
})

test('MCP-2: cancelling a call is forwarded to the server', async () => {
  const { runtime, server } = await openHostile({ tools: [plainTool('t')], calls: { t: { never: true } } })
  const run = runtime.session('s').run([{ id: 'c', name: 'h__t', input: {} }])
  await vi.waitUntil(() => server.effects.length === 1, safetyNet)
  await runtime.session('s').cancel('over')
  expect((await run)[0]).toMatchObject({ status: 'cancelled' })
  await expect.poll(() => server.log.some((line) => line.startsWith('cancelled ')), safetyNet).toBe(true)
})

test('MCP-2: a server that is killed between calls is started again', async () => {
  const { runtime, server } = await openHostile({ tools: [plainTool('t')] })
  expect(await callOne(runtime, 'h__t')).toMatchObject({ status: 'success' })
  process.kill(server.pids.at(-1) as number, 'SIGKILL')
  await vi.waitUntil(() => !isAlive(server.pids[0] as number), safetyNet)
  await vi.waitUntil(() => server.pids.length === 2, safetyNet)
  expect(await callOne(runtime, 'h__t')).toMatchObject({ status: 'success' })
})

test('MCP-2: calls beyond the limit of a server wait for their turn', async () => {
  const tools = ['a', 'b', 'c'].map((name) => plainTool(name, readOnly))
  const calls = { a: { delayMs: 150 }, b: { delayMs: 150 }, c: { delayMs: 150 } }
  const { runtime } = await openHostile({ tools, calls }, { concurrency: 1, trusted: true })
  const started = performance.now()
  const outcomes = await runtime.session('s').run(['a', 'b', 'c'].map((id) => ({ id, name: `h__${id}`, input: {} })))
  expect(outcomes.map(({ status }) => status)).toEqual(['success', 'success', 'success'])
  expect(performance.now() - started).toBeGreaterThan(440)
})

test('MCP-2: the answer of a server that exits right after it is not lost', async () => {
  const last = { repeat: { text: 'x', times: 900_000 }, exit: true } as const
  const { runtime } = await openHostile({ tools: [plainTool('last')], calls: { last } })
  const outcome = await callOne(runtime, 'h__last')
  expect(outcome).toMatchObject({ status: 'success' })
  expect(outcome.value).toHaveLength(900_000)
  expect(await callOne(runtime, 'h__last')).toMatchObject({ status: 'success' })
})
