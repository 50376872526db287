// The metrics of a server, read by a parser of the Prometheus text format.

import { createRuntime, type Runtime, type Tool } from 'pawl'
import { createServer, type Server } from 'pawl/server'
import { afterEach, expect, test } from 'vitest'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { parsePrometheus, type Scrape } from '../kit/server/prometheus-text.ts'
import { readOnlyTool, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'

const token = 'a-token-for-the-metrics-of-the-server'
const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

interface Served {
  readonly runtime: Runtime
  readonly clock: ManualClock
  readonly server: Server
  scrape(): Promise<Scrape>
  send(path: string, headers?: Record<string, string>, body?: object): Promise<Response>
}

async function serve(tools: readonly Tool[], { clock, store } = freshMemory()): Promise<Served> {
  const runtime = await createRuntime({ store, clock, logger: quiet, tools })
  const tokens = [{ token, roles: ['admin'], tenant: null, principal: 'user:root' }] as const
  const server = createServer(runtime, { clock, tokens })
  open.push(async () => {
    server.close()
    await runtime.close({ grace: 0 })
  })
  const send: Served['send'] = (path, headers = {}, body) =>
    server.fetch(
      new Request(`http://localhost${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    )
  const scrape = async (): Promise<Scrape> => parsePrometheus(await (await send('/metrics')).text())
  return { runtime, clock, server, scrape, send }
}

test('DOOR-1 DOOR-3: metrics count calls by tool and outcome, with queue and run times', async () => {
  const look = readOnlyTool('look', (_, ctx) => ctx.sleep('2s'))
  const broken = readOnlyTool('broken', () => {
    throw new Error('planted')
  })
  const { runtime, clock, scrape } = await serve([look, broken])
  const calls = ['look', 'broken', 'look', 'invented'].map((name, n) => ({ id: `c${n}`, name }))
  await after(runtime.session('s').run(calls), clock)
  const found = await scrape()
  expect(found.value('pawl_calls_total', { tool: 'look', outcome: 'success' })).toBe(2)
  expect(found.value('pawl_calls_total', { tool: 'broken', outcome: 'failure' })).toBe(1)
  expect(found.value('pawl_calls_total', { tool: 'unknown_tool', outcome: 'failure' })).toBe(1)
  expect(found.samples.some(({ labels }) => labels.tool === 'invented')).toBe(false)
  expect(found.types.get('pawl_call_run_seconds')).toBe('histogram')
  expect(found.value('pawl_call_run_seconds_count', { tool: 'look' })).toBe(2)
  expect(found.value('pawl_call_queue_seconds_bucket', { tool: 'look', le: '+Inf' })).toBe(2)
  expect(found.value('pawl_store_read_seconds')).toBeGreaterThanOrEqual(0)
  expect(found.value('pawl_event_loop_delay_seconds', { quantile: '0.99' })).toBeGreaterThanOrEqual(0)
  expect(found.value('pawl_leases', { state: 'held' })).toBe(1)
})

test('DOOR-1 DOOR-3: metrics show how long approvals have waited', async () => {
  const gate = simpleTool('gate', { approval: 'always' }, () => 1)
  const { runtime, clock, scrape } = await serve([gate])
  void runtime
    .session('s')
    .run([{ id: 'old', name: 'gate' }])
    .catch(() => {})
  await clock.advance('4m')
  void runtime
    .session('t')
    .run([{ id: 'new', name: 'gate' }])
    .catch(() => {})
  await clock.advance('10s')
  const found = await scrape()
  expect(found.value('pawl_approvals_pending', { age: '1m' })).toBe(1)
  expect(found.value('pawl_approvals_pending', { age: '1h' })).toBe(1)
  expect(found.value('pawl_approvals_pending', { age: 'older' })).toBe(0)
  expect(found.value('pawl_approvals_oldest_seconds')).toBeGreaterThanOrEqual(240)
})

test('DOOR-1 DOOR-3: metrics count the calls that continued after their worker was lost', async () => {
  const { clock, store } = freshMemory()
  const dying = mortal(store)
  let runs = 0
  const work = rerunTool('work', () => (++runs === 1 ? new Promise(() => {}) : 1))
  const first = await createRuntime({ store: dying.store, clock, logger: quiet, tools: [work] })
  first
    .session('s')
    .run([{ id: 'c', name: 'work' }])
    .catch(() => {})
  await clock.advance('1s')
  dying.die()
  const { scrape } = await serve([work], { clock, store })
  await clock.advance('2m')
  const found = await scrape()
  expect(found.value('pawl_calls_recovered_total', { tool: 'work' })).toBe(1)
  expect(found.value('pawl_calls_total', { tool: 'work', outcome: 'success' })).toBe(1)
})

test('DOOR-1: metrics name a bounded number of tools, and escape their names', async () => {
  const tools = Array.from({ length: 210 }, (_, n) => readOnlyTool(`tool_${n}`, () => n))
  const { runtime, clock, scrape } = await serve(tools)
  for (let n = 0; n < tools.length; n += 30) {
    const calls = tools.slice(n, n + 30).map(({ name }) => ({ id: name, name }))
    await after(runtime.session(`s${n}`).run(calls), clock)
  }
  const { samples } = await scrape()
  const names = new Set(samples.filter(({ name }) => name === 'pawl_calls_total').map(({ labels }) => labels.tool))
  expect(names.size).toBe(201)
  expect(names).toContain('other')
})

test('DOOR-1: scrapes at the same time share one read of the store', async () => {
  const { runtime, scrape } = await serve([])
  let reads = 0
  const { health } = runtime
  Object.assign(runtime, { health: () => (reads++, health()) })
  await Promise.all(Array.from({ length: 20 }, () => scrape()))
  expect(reads).toBe(1)
})

test('DOOR-3: calls that a request starts belong to its trace', async () => {
  const header = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  let seen: string | null = ''
  const look = readOnlyTool('look', (_, ctx) => void (seen = ctx.traceparent))
  const { send } = await serve([look])
  const call = { name: 'look', id: 'c' }
  const path = '/v1/sessions/s/calls'
  expect((await send(path, { traceparent: header }, call)).status).toBe(200)
  expect(seen).toBe(header)
  expect((await send(path, { traceparent: 'planted' }, { ...call, id: 'd' })).status).toBe(200)
  expect(seen).toBeNull()
})
