// Arguments and results in spans: only if the host asks for them, and never a secret.

import { fail, type Json, tool } from 'pawl'
import { expect, test } from 'vitest'
import { opening, workersOn } from '../kit/open-runtime.ts'
import { readOnlyTool, rerunTool } from '../kit/simple-tools.ts'
import { after, freshSqlite } from '../kit/stores/fresh-store.ts'
import { collecting } from '../kit/telemetry/collecting.ts'
import { secrets, spellings, tracesOf } from '../security/secret-spellings.ts'

const open = opening()
const telemetry = collecting()
const workers = workersOn(freshSqlite)

/** A longer id of a step is refused. */
const maxStepId = 190

const anything = { type: 'object' } as const

test('DOOR-3: arguments and results are not exported unless the host asks for it', async () => {
  const host = telemetry.host()
  const look = readOnlyTool('look', () => ({ found: 'swordfish' }))
  const { runtime, clock } = await open({ tools: [look], observer: host.observer })
  await after(runtime.session('s').run([{ id: 'c', name: 'look', input: { q: 'marlin' } }]), clock)
  await host.flush()
  expect(telemetry.collector.named('execute_tool look')).toHaveLength(1)
  expect(telemetry.collector.text).not.toContain('swordfish')
  expect(telemetry.collector.text).not.toContain('marlin')
})

test('DOOR-3: with captureContent, spans have the arguments, the result and the description', async () => {
  const host = telemetry.host({ captureContent: 'redacted' })
  const look = tool({
    name: 'look',
    description: 'Looks things up',
    input: anything,
    hints: { readOnly: true },
    execute: () => ({ found: 'x'.repeat(20_000) }),
  })
  const { runtime, clock } = await open({ tools: [look], observer: host.observer })
  await after(runtime.session('s').run([{ id: 'c', name: 'look', input: { q: 'marlin' } }]), clock)
  await host.flush()
  const [span] = telemetry.collector.named('execute_tool look')
  expect(span?.attributes).toMatchObject({
    'gen_ai.tool.call.id': 'c',
    'gen_ai.tool.description': 'Looks things up',
    'gen_ai.tool.call.arguments': '{"q":"marlin"}',
    'gen_ai.tool.name': 'look',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.type': 'function',
    'gen_ai.conversation.id': 's',
  })
  expect(String(span?.attributes['gen_ai.tool.call.result']).length).toBe(8 * 1024)
})

test('DOOR-3: arguments of sensitive tools and hidden fields are not exported', async () => {
  const host = telemetry.host({ captureContent: 'redacted' })
  const vault = readOnlyTool('vault', { sensitive: true }, () => 'swordfish')
  const form = tool({
    name: 'form',
    description: 'd',
    input: {
      type: 'object',
      properties: { pin: { type: 'string', 'x-sensitive': true, writeOnly: true }, city: { type: 'string' } },
    },
    hints: { readOnly: true },
    execute: () => 1,
  })
  const { runtime, clock } = await open({ tools: [vault, form], observer: host.observer })
  const calls = [
    { id: 'v', name: 'vault', input: { pin: 'marlin' } },
    { id: 'f', name: 'form', input: { pin: 'herring', city: 'Bern' } },
  ]
  await after(runtime.session('s').run(calls), clock)
  await host.flush()
  expect(telemetry.collector.named('execute_tool vault')).toHaveLength(1)
  for (const planted of ['swordfish', 'marlin', 'herring']) expect(telemetry.collector.text).not.toContain(planted)
  expect(telemetry.collector.text).toContain('Bern')
})

test.each(Object.entries(spellings))('DOOR-3: a secret written as %s is in no exported byte', async (_, spelling) => {
  const host = telemetry.host({ captureContent: 'redacted' })
  const lines = typeof spelling === 'object' ? spelling.join('\n') : String(spelling)
  const echo = rerunTool('echo', async (_input, ctx) => {
    await ctx.step(lines.length <= maxStepId ? lines : 'write', () => spelling as Json)
    return { echoed: spelling as Json }
  })
  const broken = readOnlyTool('broken', () => fail(lines, { raw: { spelling } as Json }))
  const { runtime, clock } = await open({
    tools: [echo, broken],
    secrets: Object.values(secrets),
    observer: host.observer,
  })
  const input = { a: spelling, nested: { deep: [spelling] } }
  const calls = ['echo', 'broken'].map((name) => ({ id: `c-${name}`, name, input }))
  await after(runtime.session('s').run(calls), clock)
  await host.flush()
  const { text } = telemetry.collector
  expect(text).toContain('gen_ai.tool.call.arguments')
  expect(text).toContain('pawl.step')
  for (const trace of tracesOf(spelling)) expect(text).not.toContain(trace)
})

test('DOOR-3: a secret that the body sets is in no exported byte', async () => {
  const host = telemetry.host({ captureContent: 'redacted' })
  const echo = readOnlyTool('echo', async (_, ctx) => {
    await ctx.secrets.set('token', 'swordfish-4711-marlin')
    return { token: 'swordfish-4711-marlin' }
  })
  const { runtime, clock } = await open({ tools: [echo], observer: host.observer })
  const input = { q: 'swordfish-4711-marlin' }
  await after(runtime.session('s').run([{ id: 'c', name: 'echo', input }]), clock)
  await host.flush()
  expect(telemetry.collector.text).toContain('gen_ai.tool.call.result')
  expect(telemetry.collector.text).not.toContain('swordfish-4711')
})

test('DOOR-3: a secret that another process has set meanwhile is in no exported byte', async () => {
  const host = telemetry.host({ captureContent: 'redacted' })
  const { open: start, clock } = workers()
  const other = await start({ tools: [readOnlyTool('unused', () => 1)], worker: false })
  const echo = readOnlyTool('echo', async () => {
    await other.session('s').secrets.set('token', 'swordfish-4711-marlin')
    return { token: 'swordfish-4711-marlin' }
  })
  const runtime = await start({ tools: [echo], observer: host.observer })
  await after(runtime.session('s').run([{ id: 'c', name: 'echo' }]), clock)
  await host.flush()
  expect(telemetry.collector.text).toContain('gen_ai.tool.call.result')
  expect(telemetry.collector.text).not.toContain('swordfish-4711')
})
