// `pawl/otel`: spans and metrics of a runtime for OpenTelemetry.

import { checkOptions } from '../core/check-options.ts'
import type { ObservedEvent, Observer } from '../core/observer.ts'
import { api } from './load-api.ts'
import { Measurements } from './measurements.ts'
import { SpanRecorder } from './span-recorder.ts'
import { type TelemetryOptions, telemetryOptions } from './telemetry-options.ts'

export { type StableSpanIds, stableSpanIds } from './span-ids.ts'
export type { TelemetryOptions } from './telemetry-options.ts'

/** The schema of the attribute names: the GenAI conventions are still in development. */
const schemaUrl = 'https://opentelemetry.io/schemas/1.37.0'

/**
 * Observes a runtime: makes spans of its turns, model requests, tool attempts, steps and waits, and metrics. The trace
 * of a call continues on every worker that resumes it.
 *
 * @example
 * const runtime = await createRuntime({ store: 'sqlite:agent.db', tools, observer: telemetry() })
 */
export function telemetry(options: TelemetryOptions = {}): Observer {
  checkOptions(options, telemetryOptions, 'telemetry()')
  const { spanIds = null, captureContent, maxNames = 200 } = options
  const tracer = options.tracer ?? api.trace.getTracerProvider().getTracer('pawl', undefined, { schemaUrl })
  const meter = options.meter ?? api.metrics.getMeter('pawl', undefined, { schemaUrl })
  const spans = new SpanRecorder({ tracer, ids: spanIds, content: captureContent === 'redacted' })
  const measurements = new Measurements(meter, maxNames)
  const observe = (event: ObservedEvent): void => {
    spans.record(event)
    measurements.record(event)
  }
  return Object.assign(observe, { tracing: spans })
}
