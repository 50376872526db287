// Ids of spans that every worker can compute: the span of a turn that one worker began and another one ends, and of an
// attempt whose worker was killed, is then the parent that its children already name.

import { createHash, randomBytes } from 'node:crypto'
import { option } from '../core/check-options.ts'

/** Generates the ids of an OpenTelemetry SDK: pass it as `idGenerator`, and to `telemetry({ spanIds })`. */
export interface StableSpanIds {
  /** A random trace id. */
  generateTraceId(): string
  /** The id chosen for the span that Pawl starts now, else a random one. */
  generateSpanId(): string
  /** Starts a span that gets the given id. Used by telemetry(). */
  withId<T>(id: string, start: () => T): T
}

export const spanIdsOption = option.withMethods('generateTraceId', 'generateSpanId', 'withId')

/**
 * Makes an id generator for an OpenTelemetry SDK. With it the spans of a turn nest under one `invoke_agent` span, also
 * if several workers drove the turn, and the span of an attempt whose worker was killed is exported by the next worker.
 *
 * @example
 * const spanIds = stableSpanIds()
 * const provider = new TracerProvider({ idGenerator: spanIds, spanProcessors })
 * const observer = telemetry({ tracer: provider.getTracer('pawl'), spanIds })
 */
export function stableSpanIds(): StableSpanIds {
  let next: string | null = null
  return {
    generateTraceId: () => randomId(16),
    generateSpanId() {
      const id = next ?? randomId(8)
      next = null
      return id
    },
    withId(id, start) {
      next = id
      try {
        return start()
      } finally {
        next = null
      }
    },
  }
}

const isZero = /^0+$/

function randomId(bytes: number): string {
  const id = randomBytes(bytes).toString('hex')
  return isZero.test(id) ? randomId(bytes) : id
}

/** The id of one span of a call: of its turn, of an attempt, or of a wait. */
export const derivedSpanId = (call: string, part: string): string =>
  createHash('sha256').update(`${call} ${part}`).digest('hex').slice(0, 16)
