// An HTTP server that decodes what the OTLP exporters of OpenTelemetry send, so that tests see what a backend would.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface OtlpValue {
  readonly stringValue?: string
  readonly intValue?: string | number
  readonly doubleValue?: number
  readonly boolValue?: boolean
}

interface OtlpAttribute {
  readonly key: string
  readonly value: OtlpValue
}

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly OtlpAttribute[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status?: { readonly code?: number; readonly message?: string }
}

interface OtlpPoint {
  readonly attributes?: readonly OtlpAttribute[]
  readonly asInt?: string | number
  readonly asDouble?: number
  readonly count?: string | number
  readonly sum?: number
  readonly explicitBounds?: readonly number[]
}

interface OtlpMetric {
  readonly name: string
  readonly unit?: string
  readonly sum?: { readonly dataPoints: readonly OtlpPoint[] }
  readonly histogram?: { readonly dataPoints: readonly OtlpPoint[] }
  readonly gauge?: { readonly dataPoints: readonly OtlpPoint[] }
}

interface TraceBody {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly { readonly scope: { readonly name: string }; readonly spans: readonly OtlpSpan[] }[]
  }[]
}

interface MetricBody {
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[]
  }[]
}

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface CollectedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** '' for a root. */
  readonly parent: string
  readonly kind: number
  readonly attributes: Attributes
  /** Ids of the linked spans. */
  readonly links: readonly string[]
  readonly durationMs: number
  readonly isError: boolean
  /** The name of the tracer that made it. */
  readonly service: string
}

export interface CollectedPoint {
  readonly attributes: Attributes
  /** The value of a counter, or the number of measurements of a histogram. */
  readonly count: number
  readonly sum: number
  readonly bounds: readonly number[]
}

const attributesOf = (list: readonly OtlpAttribute[] = []): Attributes =>
  Object.fromEntries(
    list.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  )

const milliseconds = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1_000n) / 1_000

export class OtlpCollector {
  readonly #server: Server
  readonly #spans: CollectedSpan[] = []
  #metrics = new Map<string, CollectedPoint[]>()
  /** Everything that was received. */
  text = ''
  /** The status of replies. */
  status = 200

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<OtlpCollector> {
    const server = createServer()
    const collector = new OtlpCollector(server)
    server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        if (collector.status === 200) collector.#receive(request.url ?? '', text)
        response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return collector
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get spans(): readonly CollectedSpan[] {
    return this.#spans
  }

  named(name: string): CollectedSpan[] {
    return this.#spans.filter((span) => span.name === name)
  }

  /** The newest points of a metric. */
  points(name: string): readonly CollectedPoint[] {
    return this.#metrics.get(name) ?? []
  }

  get metricNames(): string[] {
    return [...this.#metrics.keys()].toSorted()
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #receive(path: string, text: string): void {
    this.text += text
    if (path.endsWith('/v1/traces')) this.#receiveSpans(JSON.parse(text) as TraceBody)
    else this.#receiveMetrics(JSON.parse(text) as MetricBody)
  }

  #receiveSpans({ resourceSpans = [] }: TraceBody): void {
    for (const { scope, spans } of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans))
      for (const span of spans)
        this.#spans.push({
          name: span.name,
          traceId: span.traceId,
          spanId: span.spanId,
          parent: span.parentSpanId ?? '',
          kind: span.kind,
          attributes: attributesOf(span.attributes),
          links: (span.links ?? []).map(({ spanId }) => spanId),
          durationMs: milliseconds(span.endTimeUnixNano) - milliseconds(span.startTimeUnixNano),
          isError: span.status?.code === 2,
          service: scope.name,
        })
  }

  #receiveMetrics({ resourceMetrics = [] }: MetricBody): void {
    for (const { name, sum, histogram, gauge } of resourceMetrics.flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) => metrics),
    )) {
      const points = (sum ?? histogram ?? gauge)?.dataPoints ?? []
      this.#metrics.set(
        name,
        points.map((point) => ({
          attributes: attributesOf(point.attributes),
          count: Number(point.count ?? point.asInt ?? point.asDouble ?? 0),
          sum: point.sum ?? 0,
          bounds: point.explicitBounds ?? [],
        })),
      )
    }
  }
}
