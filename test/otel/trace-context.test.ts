// The trace context: of the code that requests a call, in the body, and across processes without an observer.

import { context, trace } from '@opentelemetry/api'
import { type Observer, withTraceparent } from 'pawl'
import { telemetry as observe } from 'pawl/otel'
import { expect, test } from 'vitest'
import { opening, workersOn } from '../kit/open-runtime.ts'
import { readOnlyTool, rerunTask, rerunTool } from '../kit/simple-tools.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { collecting } from '../kit/telemetry/collecting.ts'

const open = opening()
const telemetry = collecting()
const workers = workersOn(freshMemory)
const traceId = 'a'.repeat(32)
const header = `00-${traceId}-${'b'.repeat(16)}-01`

test('DOOR-3: the active span of the host is the parent of a call, and that of the attempt is active in it', async () => {
  const host = telemetry.host()
  let inBody: unknown
  const look = readOnlyTool('look', (_, ctx) => {
    const active = trace.getActiveSpan()
    active?.setAttribute('by.body', true)
    host.tracer.startSpan('query').end()
    inBody = { traceparent: ctx.traceparent, active: active?.spanContext().spanId }
    return 1
  })
  const { runtime, clock } = await open({ tools: [look], observer: host.observer })
  const mine = host.tracer.startSpan('request')
  const run = (): Promise<unknown> => runtime.session('s').run([{ id: 'c', name: 'look' }])
  await after(context.with(trace.setSpan(context.active(), mine), run), clock)
  mine.end()
  await host.flush()
  const { collector } = telemetry
  const [attempt] = collector.named('execute_tool look')
  expect(attempt).toMatchObject({ parent: mine.spanContext().spanId, attributes: { 'by.body': true } })
  expect(collector.named('query')).toMatchObject([{ parent: attempt?.spanId }])
  expect(inBody).toEqual({ traceparent: `00-${attempt?.traceId}-${attempt?.spanId}-01`, active: attempt?.spanId })
  expect(collector.named('pawl.request')).toEqual([])
})

test('DOOR-3: without an observer, a call and its nested calls and tasks keep the trace context', async () => {
  const seen: Record<string, string | null> = {}
  const inner = readOnlyTool('inner', (_, ctx) => void (seen.inner = ctx.traceparent))
  const report = rerunTask('report', (_, ctx) => void (seen.report = ctx.traceparent))
  const outer = rerunTool('outer', async (_, ctx) => {
    seen.outer = ctx.traceparent
    await ctx.run([{ id: 'n', name: 'inner' }])
    await ctx.tasks.start({ tool: 'report' })
  })
  const { runtime, clock } = await open({ tools: [inner, report, outer] })
  const session = runtime.session('s')
  await after(
    withTraceparent(header, () => session.run([{ id: 'c', name: 'outer' }])),
    clock,
  )
  await clock.advance('1s')
  expect(seen).toEqual({ inner: header, report: header, outer: header })
  await after(session.run([{ id: 'd', name: 'inner' }]), clock)
  expect(seen.inner).toBeNull()
})

test('DOOR-3: a worker with telemetry continues the trace that a process without it has stored', async () => {
  const host = telemetry.host()
  const report = rerunTask('report', () => 1)
  const { open: start, clock } = workers()
  const server = await start({ tools: [report], worker: false })
  await withTraceparent(header, () => server.session('s').tasks.start({ tool: 'report' }))
  await start({ tools: [report], observer: host.observer })
  await clock.advance('5s')
  await host.flush()
  expect(telemetry.collector.named('execute_tool report')).toMatchObject([{ traceId, parent: 'b'.repeat(16) }])
})

test.each([
  'ff-' + header.slice(3),
  header.replace(traceId, '0'.repeat(32)),
  header.replace('b'.repeat(16), '0'.repeat(16)),
  `${header}-more`,
  header.toUpperCase(),
  `${header}\n`,
  'x'.repeat(10_000),
  '',
  null,
])('DOOR-3: %j is no trace context', async (text) => {
  let seen: string | null = ''
  const look = readOnlyTool('look', (_, ctx) => void (seen = ctx.traceparent))
  const { runtime, clock } = await open({ tools: [look] })
  await after(
    withTraceparent(text, () => runtime.session('s').run([{ id: 'c', name: 'look' }])),
    clock,
  )
  expect(seen).toBeNull()
})

test('DOOR-3: an exporter that fails changes no outcome', async () => {
  telemetry.collector.status = 503
  const host = telemetry.host({ exportTimeoutMs: 500 })
  const { runtime, clock } = await open({ tools: [readOnlyTool('look', () => 1)], observer: host.observer })
  const outcomes = await after(runtime.session('s').run([{ id: 'c', name: 'look' }]), clock)
  expect(outcomes).toMatchObject({ value: [{ status: 'success' }] })
})

test('DOOR-3: a due schedule begins a trace of its own, whichever call has woken the scheduler', async () => {
  const host = telemetry.host()
  const report = rerunTask('report', () => 1)
  const plan = rerunTool('plan', async (_, ctx) => {
    await ctx.tasks.schedule({ tool: 'report' }, { cron: '*/5 * * * *' })
    return 1
  })
  const { runtime, clock } = await open({ tools: [report, plan], observer: host.observer })
  await after(runtime.session('s').run([{ id: 'c', name: 'plan' }]), clock)
  // Real timers run in the context of the code that has set them.
  const other = trace.setSpan(context.active(), host.tracer.startSpan('other'))
  for (let n = 0; n < 4; n++) await context.with(other, () => clock.advance('5m'))
  await host.flush()
  const { collector } = telemetry
  const fired = collector.named('execute_tool report')
  expect(fired.length).toBeGreaterThan(1)
  expect(new Set([...fired, ...collector.named('execute_tool plan')].map((span) => span.traceId)).size).toBe(
    fired.length + 1,
  )
})

const broken = (): never => {
  throw new Error('planted')
}

test.each<[string, Partial<Observer['tracing'] & object>]>([
  ['active', { active: broken }],
  ['requested', { requested: broken }],
  ['spanOf', { spanOf: broken }],
  ['run', { spanOf: () => ({ traceparent: header, run: broken }) }],
  ['a run that does nothing', { spanOf: () => ({ traceparent: header, run: () => undefined as never }) }],
  ['a run that throws after the work', { spanOf: () => ({ traceparent: header, run: (work) => (work(), broken()) }) }],
  ['a run that works twice', { spanOf: () => ({ traceparent: header, run: (work) => (work(), work()) }) }],
  ['an invalid traceparent', { requested: () => 'planted', active: () => 'planted' }],
])('DOOR-3: a tracer that fails in %s changes no outcome, and bodies run once', async (_, tracing) => {
  let runs = 0
  const look = readOnlyTool('look', () => ++runs)
  const observer = Object.assign(() => {}, {
    tracing: {
      active: () => null,
      requested: () => null,
      spanOf: () => null,
      detached: (work: () => never) => work(),
      ...tracing,
    },
  })
  const { runtime, clock } = await open({ tools: [look], observer, logger: quiet })
  const outcomes = await after(runtime.session('s').run([{ id: 'c', name: 'look' }]), clock)
  expect(outcomes).toMatchObject({ value: [{ status: 'success', value: 1 }] })
  expect(runs).toBe(1)
})

test('DOOR-3: telemetry() works without an SDK', async () => {
  const { runtime, clock } = await open({ tools: [readOnlyTool('look', () => 1)], observer: observe() })
  const outcomes = await after(runtime.session('s').run([{ id: 'c', name: 'look' }]), clock)
  expect(outcomes).toMatchObject({ value: [{ status: 'success' }] })
})
