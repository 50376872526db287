// Translates between `traceparent` texts and span contexts of OpenTelemetry.

import type { SpanContext } from '@opentelemetry/api'
import { readTraceparent } from '../core/observer.ts'

export const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`

export function spanContextOf(traceparent: string | null | undefined): SpanContext | null {
  const read = readTraceparent(traceparent)
  if (read === null) return null
  const [, traceId, spanId, flags] = read.split('-') as [string, string, string, string]
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
