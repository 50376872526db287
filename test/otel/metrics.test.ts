// The metrics of a runtime, as the real exporter sends them.

import { scriptedModel } from 'pawl/testing'
import { fail } from 'pawl'
import { expect, test } from 'vitest'
import { opening } from '../kit/open-runtime.ts'
import { readOnlyTool, simpleTool } from '../kit/simple-tools.ts'
import { after } from '../kit/stores/fresh-store.ts'
import { collecting } from '../kit/telemetry/collecting.ts'

const open = opening()
const telemetry = collecting()

test('DOOR-3: durations of tools and models, tokens, and calls by outcome are measured', async () => {
  const host = telemetry.host()
  const usage = { inputTokens: 50, outputTokens: 7 }
  const model = scriptedModel([{ call: [{ name: 'look' }, { name: 'broken' }, { name: 'gate' }], usage }, 'Done.'], {
    name: 'm',
  })
  const look = readOnlyTool('look', (_, ctx) => ctx.sleep('2s'))
  const broken = readOnlyTool('broken', () => fail('No'))
  const gate = simpleTool('gate', { approval: 'always' }, () => 1)
  const { runtime, clock } = await open({ tools: [look, broken, gate], models: [model], observer: host.observer })
  const turn = runtime.session('s').turn({ model, message: 'Go' })
  await clock.advance('1m')
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'bea' })
  await after(turn.outcome, clock)
  await host.flush()
  const { collector } = telemetry
  expect(collector.metricNames).toEqual([
    'gen_ai.client.operation.duration',
    'gen_ai.client.token.usage',
    'gen_ai.execute_tool.duration',
    'pawl.call.duration',
    'pawl.call.queue.duration',
    'pawl.calls',
    'pawl.calls.resumed',
    'pawl.wait.duration',
  ])
  const tool = (name: string) =>
    collector.points('gen_ai.execute_tool.duration').find(({ attributes }) => attributes['gen_ai.tool.name'] === name)
  expect(tool('look')).toMatchObject({ count: 1, sum: 2, attributes: { 'gen_ai.operation.name': 'execute_tool' } })
  expect(tool('look')?.bounds).toContain(81.92)
  expect(tool('broken')?.attributes['error.type']).toBe('execution')
  const tokens = collector.points('gen_ai.client.token.usage')
  expect(tokens.find(({ attributes }) => attributes['gen_ai.token.type'] === 'input')?.sum).toBeGreaterThanOrEqual(50)
  expect(collector.points('gen_ai.client.operation.duration')).toMatchObject([
    { count: 2, attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' } },
  ])
  const outcomes = collector.points('pawl.calls').map(({ attributes }) => Object.values(attributes).join(' '))
  expect(outcomes.toSorted()).toEqual(['broken failure execution', 'gate success', 'look success', 'm success'])
  const [wait] = collector.points('pawl.wait.duration')
  expect(wait).toMatchObject({ count: 1, attributes: { 'pawl.wait.kind': 'approval', 'pawl.wait.answer': 'value' } })
  expect(wait?.sum).toBeGreaterThanOrEqual(59)
})

test('DOOR-3: metrics name a bounded number of tools', async () => {
  const host = telemetry.host({ maxNames: 3 })
  const tools = Array.from({ length: 6 }, (_, n) => readOnlyTool(`tool_${n}`, () => n))
  const { runtime, clock } = await open({ tools, observer: host.observer })
  const calls = [...tools, { name: 'invented_by_a_model' }].map(({ name }, n) => ({ id: `c${n}`, name }))
  await after(runtime.session('s').run(calls), clock)
  await host.flush()
  const names = telemetry.collector.points('pawl.calls').map(({ attributes }) => attributes['gen_ai.tool.name'])
  expect(new Set(names).size).toBe(4)
  expect(names).toContain('other')
  expect(telemetry.collector.text).not.toContain('invented_by_a_model')
})
