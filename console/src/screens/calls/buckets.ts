// Counts and durations of calls in equal parts of the time that they cover.

import { type CallRow, isError } from './call-words.ts'

export interface Bucket {
  /** When it begins, in milliseconds since 1970. */
  readonly from: number
  /** Calls that began in it. */
  readonly count: number
  /** Those of them that failed or whose outcome is unknown; a denied call is no error. */
  readonly failed: number
  /** How long the settled ones took, shortest first. */
  readonly durations: readonly number[]
}

type Row = Pick<CallRow, 'createdAt' | 'settledAt' | 'status' | 'code'>

/** The oldest part first. `calls`: in any order. */
export function bucketsOf(calls: readonly Row[], count: number, now: number): readonly Bucket[] {
  const oldest = calls.reduce((first, { createdAt }) => Math.min(first, createdAt), now)
  const size = Math.max(1, Math.ceil((now - oldest + 1) / count))
  const buckets = Array.from({ length: count }, (_, index) => ({
    from: oldest + index * size,
    count: 0,
    failed: 0,
    durations: [] as number[],
  }))
  for (const call of calls) {
    const { createdAt, settledAt } = call
    const bucket = buckets[Math.min(count - 1, Math.floor((createdAt - oldest) / size))]
    if (!bucket) continue
    bucket.count++
    if (isError(call)) bucket.failed++
    if (settledAt !== null) bucket.durations.push(settledAt - createdAt)
  }
  for (const { durations } of buckets) durations.sort((a, b) => a - b)
  return buckets
}

/** `share` of the values are at most this; null if there are none. `sorted`: smallest first. */
export const percentile = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? null
