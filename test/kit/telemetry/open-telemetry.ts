// The OpenTelemetry SDK as a host sets it up: the real exporters, batches, and the context manager of Node.

import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Observer } from 'pawl'
import { stableSpanIds, telemetry, type TelemetryOptions } from 'pawl/otel'

export interface OpenTelemetry {
  readonly observer: Observer
  readonly tracer: ReturnType<TracerProvider['getTracer']>
  /** Sends everything that was recorded. */
  flush(): Promise<void>
  shutdown(): Promise<void>
}

export interface HostSetup extends Omit<TelemetryOptions, 'tracer' | 'meter' | 'spanIds'> {
  /** Name of the tracer: tests tell processes apart by it. */
  readonly service?: string
  /** Use the random span ids of the SDK. */
  readonly randomIds?: boolean
  /** How long an export is tried again. */
  readonly exportTimeoutMs?: number
}

/** One context manager per process, as the API has one. */
let isContextSet = false

export function openTelemetry(url: string, setup: HostSetup = {}): OpenTelemetry {
  const { service = 'test', randomIds = false, exportTimeoutMs = 10_000, ...options } = setup
  const spanIds = stableSpanIds()
  const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces`, timeoutMillis: exportTimeoutMs })
  const provider = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: 20 })],
    ...(randomIds ? {} : { idGenerator: spanIds }),
  })
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${url}/v1/metrics`, timeoutMillis: exportTimeoutMs }),
    exportIntervalMillis: 3_600_000,
    exportTimeoutMillis: 30_000,
  })
  const meters = new MeterProvider({ readers: [reader] })
  if (!isContextSet) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  isContextSet = true
  const tracer = provider.getTracer(service)
  const observer = telemetry({
    ...options,
    tracer,
    meter: meters.getMeter('pawl'),
    ...(randomIds ? {} : { spanIds }),
  })
  return {
    observer,
    tracer,
    async flush() {
      await Promise.all([provider.forceFlush(), meters.forceFlush()])
    },
    async shutdown() {
      await Promise.allSettled([provider.shutdown(), meters.shutdown()])
    },
  }
}
