// How many calls began in each part of the time that the last thousand calls cover, failures apart.

import { useQuery } from '@tanstack/react-query'
import { type PointerEvent, type ReactNode, useState } from 'react'
import { client } from '../../api/client.ts'
import { serverNow } from '../../api/server-clock.ts'
import { exactTime } from '../../ui/time.tsx'
import { bucketsOf, type Bucket } from './buckets.ts'
import type { WantedCalls } from './filter-bar.tsx'

/** One page of the list. The pictures are about it, and say so. */
const maxCalls = 1_000
/** Parts of the strip. */
const parts = 60

/** Read twice a minute, not with every event: it is the largest page that there is. */
export function useVolume(filters: WantedCalls, count: number) {
  return useQuery({
    queryKey: ['volume', filters, count],
    queryFn: async () => {
      const { calls } = await client.calls.recent({ ...filters, limit: maxCalls })
      const end = Math.min(serverNow(), (filters.until ?? Infinity) - 1)
      return { calls: calls.length, buckets: bucketsOf(calls, count, end) }
    },
    refetchInterval: 30_000,
  })
}

const isFailed = ({ failed }: Bucket): boolean => failed > 0

/** The parts between the two ends of a drag, in either direction. */
interface Brush {
  readonly start: number
  readonly end: number
}

interface StripProps {
  readonly filters: WantedCalls
  /** A part of the strip was chosen: from `since` to before `until`. */
  readonly choose: (since: number, until: number) => void
}

/** Dragging over the strip chooses a time. With a keyboard the fields "From" and "Until" do the same. */
export function VolumeStrip({ filters, choose }: StripProps): ReactNode {
  const { data } = useVolume(filters, parts)
  const [brush, setBrush] = useState<Brush | null>(null)
  if (!data || data.calls < 2) return null
  const { buckets } = data
  const partAt = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.min(parts - 1, Math.max(0, Math.floor(((clientX - left) / width) * parts)))
  }
  const finish = (): void => {
    if (!brush) return
    setBrush(null)
    const [first, last] = [Math.min(brush.start, brush.end), Math.max(brush.start, brush.end)]
    const size = (buckets[1]?.from ?? 0) - (buckets[0]?.from ?? 0)
    const since = buckets[first]?.from ?? 0
    choose(since, since + (last - first + 1) * size)
  }
  const largest = Math.max(1, ...buckets.map(({ count }) => count))
  const failed = buckets.filter(isFailed).reduce((sum, bucket) => sum + bucket.failed, 0)
  const from = buckets[0]?.from ?? 0
  return (
    <figure className="mb-3" aria-label="Volume">
      <svg
        viewBox={`0 0 ${buckets.length} 20`}
        preserveAspectRatio="none"
        className="h-10 w-full cursor-crosshair touch-pan-y rounded-md bg-sunk"
        role="img"
        aria-label={`${data.calls} calls since ${exactTime(from)}, ${failed} of them failed`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          const part = partAt(event)
          setBrush({ start: part, end: part })
        }}
        onPointerMove={(event) => {
          if (brush) setBrush({ ...brush, end: partAt(event) })
        }}
        onPointerUp={finish}
        onPointerCancel={() => setBrush(null)}
      >
        {brush && (
          <rect
            x={Math.min(brush.start, brush.end)}
            y="0"
            width={Math.abs(brush.end - brush.start) + 1}
            height="20"
            className="fill-line"
          />
        )}
        {buckets.map(({ from: at, count, failed: bad }, index) => (
          <g key={at}>
            <title>{`${exactTime(at)}: ${count} calls, ${bad} failed`}</title>
            <rect x={index} y="0" width="1" height="20" fill="transparent" />
            <Bar x={index} count={count - bad} below={bad} largest={largest} className="fill-run-fill" />
            <Bar x={index} count={bad} below={0} largest={largest} className="fill-stop-fill" />
          </g>
        ))}
      </svg>
      <figcaption className="text-xs text-soft">
        {data.calls === maxCalls ? `The last ${maxCalls.toLocaleString()} calls` : `${data.calls} calls`}, since{' '}
        {exactTime(from)}
        {failed > 0 && `; ${failed.toLocaleString()} failed`}. Drag over a part to see only its calls.
      </figcaption>
    </figure>
  )
}

interface BarProps {
  readonly x: number
  readonly count: number
  readonly below: number
  readonly largest: number
  readonly className: string
}

const Bar = ({ x, count, below, largest, className }: BarProps): ReactNode => (
  <rect
    x={x + 0.1}
    width="0.8"
    y={20 - (20 * (below + count)) / largest}
    height={(20 * count) / largest}
    className={className}
  />
)
