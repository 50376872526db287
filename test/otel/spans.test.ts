// The spans of a runtime, as the real exporter sends them.

import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { opening } from '../kit/open-runtime.ts'
import { readOnlyTool, rerunTask, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { after } from '../kit/stores/fresh-store.ts'
import { collecting } from '../kit/telemetry/collecting.ts'
import type { CollectedSpan } from '../kit/telemetry/otlp-collector.ts'

const open = opening()
const telemetry = collecting()

const nameOf = (spans: readonly CollectedSpan[], id: string): string | undefined =>
  spans.find(({ spanId }) => spanId === id)?.name

test('DOOR-3: one trace links turn, model call, tool call, step, nested call, wait and task', async () => {
  const host = telemetry.host()
  const inner = readOnlyTool('inner', () => 1)
  const report = rerunTask('report', (_, ctx) => ctx.step('write', () => 'done'))
  const outer = rerunTool('outer', async (_, ctx) => {
    await ctx.step('look up', () => 1)
    await ctx.run([{ id: 'n', name: 'inner' }])
    const task = await ctx.tasks.start({ tool: 'report' })
    return task.id.length > 0
  })
  const gate = simpleTool('gate', { approval: 'always' }, () => 'open')
  const model = scriptedModel([{ call: [{ name: 'outer' }, { name: 'gate' }] }, 'Done.'], { name: 'm' })
  const { runtime, clock } = await open({
    tools: [inner, report, outer, gate],
    models: [model],
    observer: host.observer,
  })
  const turn = runtime.session('s').turn({ model, message: 'Go' })
  await clock.advance('1s')
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'bea' })
  expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'success' } })
  await clock.advance('1s')
  await host.flush()
  const { spans } = telemetry.collector
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  const parents = spans.map(({ name, parent }) => `${name} < ${nameOf(spans, parent) ?? parent}`).toSorted()
  expect(parents).toEqual([
    'chat m < invoke_agent',
    'chat m < invoke_agent',
    'execute_tool gate < invoke_agent',
    'execute_tool inner < execute_tool outer',
    'execute_tool outer < invoke_agent',
    'execute_tool report < execute_tool outer',
    'invoke_agent < pawl.request',
    'pawl.request < ',
    'pawl.resume < invoke_agent',
    'pawl.step look up < execute_tool outer',
    'pawl.step write < execute_tool report',
    'pawl.wait approval < invoke_agent',
  ])
  const [resumed] = telemetry.collector.named('pawl.resume')
  expect(resumed?.links.map((id) => nameOf(spans, id))).toEqual(['pawl.wait approval'])
  const [gated] = telemetry.collector.named('execute_tool gate')
  expect(gated?.links.map((id) => nameOf(spans, id))).toEqual(['pawl.resume'])
})
