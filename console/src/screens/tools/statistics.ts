// Statistics of the last calls of a tool. Pure, so that it is tested without a browser.

import { percentile } from '../calls/buckets.ts'
import { type CallRow, isError } from '../calls/call-words.ts'

type Row = Pick<CallRow, 'createdAt' | 'settledAt' | 'status' | 'code'>

export interface Statistics {
  readonly calls: number
  readonly succeeded: number
  readonly failed: number
  /** Denied by a person or the policy, or not approved in time. */
  readonly denied: number
  readonly unknown: number
  readonly cancelled: number
  readonly open: number
  /** When the oldest of them was recorded; null without calls. */
  readonly since: number | null
  /** From the record of a call to its end, waits included; null if none has ended. */
  readonly p50: number | null
  readonly p95: number | null
}

export function statisticsOf(calls: readonly Row[]): Statistics {
  const ended = (wanted: string): number => calls.filter(({ status }) => status === wanted).length
  const durations = calls
    .flatMap(({ createdAt, settledAt }) => (settledAt === null ? [] : [settledAt - createdAt]))
    .toSorted((a, b) => a - b)
  return {
    calls: calls.length,
    succeeded: ended('success'),
    failed: calls.filter((call) => call.status === 'failure' && isError(call)).length,
    denied: calls.filter((call) => call.status === 'failure' && !isError(call)).length,
    unknown: ended('unknown'),
    cancelled: ended('cancelled'),
    open: calls.filter(({ settledAt }) => settledAt === null).length,
    since: calls.length === 0 ? null : Math.min(...calls.map(({ createdAt }) => createdAt)),
    p50: percentile(durations, 0.5),
    p95: percentile(durations, 0.95),
  }
}
