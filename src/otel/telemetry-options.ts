// Options of telemetry().

import type { Meter, Tracer } from '@opentelemetry/api'
import { option, type OptionTable } from '../core/check-options.ts'
import { spanIdsOption, type StableSpanIds } from './span-ids.ts'

/** Options of telemetry(). */
export interface TelemetryOptions {
  /** Makes the spans. Default: the tracer `pawl` of the global provider. */
  readonly tracer?: Tracer
  /** Makes the metrics. Default: the meter `pawl` of the global provider. */
  readonly meter?: Meter
  /** The id generator of the SDK, if it is one of stableSpanIds(). Default: spans get random ids. */
  readonly spanIds?: StableSpanIds
  /**
   * `redacted`: spans contain the arguments and results of tools, without secrets and cut to 8 KiB. Those of sensitive
   * tools, hidden fields and encrypted calls are left out. Default: none.
   */
  readonly captureContent?: 'redacted'
  /** Metrics name at most this many tools and models; further ones are counted as `other`. Default: 200. */
  readonly maxNames?: number
}

export const telemetryOptions = {
  tracer: option.withMethods('startSpan'),
  meter: option.withMethods('createHistogram', 'createCounter'),
  spanIds: spanIdsOption,
  captureContent: option.oneOf('redacted'),
  maxNames: option.wholeNumber(1),
} satisfies OptionTable<TelemetryOptions>
