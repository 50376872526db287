// The code of docs/guide/observability.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { TracerProvider as Provider } from '@opentelemetry/sdk-trace'
import { createServer as listen } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A collector, as it would run at port 4318. */
const collector = listen((request, response) => void request.resume().on('end', () => response.end('{}')))
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`

// #region start
import { context, metrics } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { createRuntime, jsonLogger, tool } from 'pawl'
import { stableSpanIds, telemetry } from 'pawl/otel'

// The SDK is yours. The exporters send to OTEL_EXPORTER_OTLP_ENDPOINT, by default http://localhost:4318.
const spanIds = stableSpanIds()
const tracers = new TracerProvider({
  idGenerator: spanIds,
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
})
const meters = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })],
})
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
metrics.setGlobalMeterProvider(meters)

const lookUp = tool({
  name: 'look_up_order',
  description: 'Look up an order by its number',
  input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  hints: { readOnly: true },
  execute: ({ order }, ctx) => ctx.step('read', () => ({ order, status: 'shipped' })),
})
const runtime = await createRuntime({
  store: 'memory:',
  tools: [lookUp],
  logger: jsonLogger(),
  observer: telemetry({ tracer: tracers.getTracer('my-agent'), spanIds }),
})
const call = { id: 'c1', name: 'look_up_order', input: { order: 'A1' } }
const [outcome] = await runtime.session('chat-42').run([call])
console.log(outcome?.status) // success
await runtime.close()
await Promise.allSettled([tracers.shutdown(), meters.shutdown()]) // they fail if there is no collector
// #endregion

assert.equal(outcome?.status, 'success')

const other = await createRuntime({ store: 'memory:', tools: [lookUp] })
const session = other.session('chat-42')
const request = new Request('http://localhost', {
  headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
})
{
  // #region incoming
  const { withTraceparent } = await import('pawl')

  const outcomes = await withTraceparent(request.headers.get('traceparent'), () => session.run([call]))
  // #endregion
  assert.equal(outcomes[0]?.status, 'success')
}
const tracer = new Provider().getTracer('my-agent')
// #region content
const observer = telemetry({ tracer, captureContent: 'redacted' })
// #endregion
assert.equal(typeof observer, 'function')
await other.close()
collector.close()
