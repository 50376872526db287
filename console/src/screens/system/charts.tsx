// Rate, failures and latency of the last calls as charts.

import type { ReactNode } from 'react'
import { Section } from '../../ui/parts.tsx'
import { durationText, exactTime } from '../../ui/time.tsx'
import { type Bucket, percentile } from '../calls/buckets.ts'
import { useVolume } from '../calls/volume.tsx'

const noFilters = {}
const parts = 40

export function Charts(): ReactNode {
  const { data } = useVolume(noFilters, parts)
  if (!data || data.calls < 2) return null
  const { buckets, calls } = data
  const [first, second] = buckets
  const minutes = ((second?.from ?? 0) - (first?.from ?? 0)) / 60_000
  return (
    <Section title="The last calls">
      <p className="mb-3 text-sm text-soft">
        {calls.toLocaleString()} calls since {exactTime(first?.from ?? 0)}. Each bar covers{' '}
        {durationText(minutes * 60_000)}.
      </p>
      <div className="grid gap-4 md:grid-cols-3">
        <Chart
          title="Calls"
          buckets={buckets}
          valueOf={({ count }) => count}
          text={(value) => value.toFixed(0)}
          tone="fill-run-fill"
        />
        <Chart
          title="Failed"
          buckets={buckets}
          valueOf={({ count, failed }) => (count === 0 ? null : (100 * failed) / count)}
          text={(value) => `${value.toFixed(0)} %`}
          tone="fill-stop-fill"
        />
        <Chart
          title="Duration, 95th percentile"
          buckets={buckets}
          valueOf={({ durations }) => percentile(durations, 0.95)}
          text={durationText}
          tone="fill-go-fill"
        />
      </div>
    </Section>
  )
}

interface ChartProps {
  readonly title: string
  readonly buckets: readonly Bucket[]
  /** Null: there is no value in this part. */
  readonly valueOf: (bucket: Bucket) => number | null
  readonly text: (value: number) => string
  readonly tone: string
}

function Chart({ title, buckets, valueOf, text, tone }: ChartProps): ReactNode {
  const values = buckets.map(valueOf)
  const largest = Math.max(0, ...values.map((value) => value ?? 0))
  const last = values.findLast((value) => value !== null)
  const summary = `peak ${text(largest)}, now ${last === undefined || last === null ? 'none' : text(last)}`
  return (
    <figure>
      <figcaption className="mb-1 text-sm">{title}</figcaption>
      <svg
        viewBox={`0 0 ${parts} 20`}
        preserveAspectRatio="none"
        className="h-16 w-full rounded-md bg-sunk"
        role="img"
        aria-label={`${title}: ${summary}`}
      >
        {values.map((value, index) =>
          value === null || largest === 0 ? null : (
            <rect
              key={buckets[index]?.from}
              x={index + 0.1}
              width="0.8"
              y={20 - (20 * value) / largest}
              height={(20 * value) / largest}
              className={tone}
            >
              <title>{`${exactTime(buckets[index]?.from ?? 0)}: ${text(value)}`}</title>
            </rect>
          ),
        )}
      </svg>
      <p className="text-xs text-soft">{summary}</p>
    </figure>
  )
}
