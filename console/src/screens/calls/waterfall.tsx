// How the time of a call passed, and of the calls under it: one row each, growing while they are open. Long waits are
// drawn short, so that seconds of work stay visible beside hours of waiting.

import type { ReactNode } from 'react'
import { type Span, timeScale, type TimeScale } from '../../../../src/server/export/time-scale.ts'
import { Link } from 'wouter'
import { shown } from '../../ui/shown.ts'
import { durationText, Time, timeOfDay, useNow } from '../../ui/time.tsx'
import { nameOf, statusWords, type Timeline } from './call-words.ts'

type Row = Timeline['rows'][number]
type Segment = Row['segments'][number]

const kinds: Readonly<Record<Segment['kind'], { readonly text: string; readonly bar: string }>> = {
  queued: { text: 'Queued', bar: 'bar-queued' },
  person: { text: 'Waiting for a person', bar: 'bar-person' },
  external: { text: 'Waiting for a result', bar: 'bar-external' },
  running: { text: 'Running', bar: 'bar-running' },
  sleeping: { text: 'Sleeping', bar: 'bar-sleeping' },
  backoff: { text: 'Waiting to try again', bar: 'bar-backoff' },
  lost: { text: 'No sign of the worker', bar: 'bar-lost' },
}

const markSigns: Readonly<Record<Row['marks'][number]['kind'], string>> = {
  silent: '⚡',
  takeover: '↻',
  lost: '?',
  cancelling: '✕',
  late: '↩',
}

/** An open call lasts until now. */
function grown(row: Row, now: number): Row {
  if (!row.isOpen || now <= row.to) return row
  const segments = row.segments.map((segment, index) =>
    index === row.segments.length - 1 ? { ...segment, to: now } : segment,
  )
  return { ...row, to: now, segments }
}

/** Times in which nothing happens. Long ones are drawn short. */
const idleKinds: ReadonlySet<Segment['kind']> = new Set(['person', 'external', 'sleeping', 'lost'])

function scaleOf(rows: readonly Row[]): TimeScale {
  const active: Span[] = []
  for (const { from, segments } of rows) {
    active.push({ from, to: from })
    for (const segment of segments) if (!idleKinds.has(segment.kind)) active.push(segment)
  }
  return timeScale(Math.min(...rows.map(({ from }) => from)), Math.max(...rows.map(({ to }) => to)), active)
}

export function Waterfall({ timeline }: { readonly timeline: Timeline }): ReactNode {
  const isOpen = timeline.rows.some((row) => row.isOpen)
  return isOpen ? <Growing timeline={timeline} /> : <Rows rows={timeline.rows} />
}

function Growing({ timeline }: { readonly timeline: Timeline }): ReactNode {
  const now = useNow(500)
  return <Rows rows={timeline.rows.map((row) => grown(row, now))} />
}

const percent = (position: number): string => `${Math.round(position * 100) / 100}%`

function Rows({ rows }: { readonly rows: readonly Row[] }): ReactNode {
  const scale = scaleOf(rows)
  const used = new Set(rows.flatMap(({ segments }) => segments.map(({ kind }) => kind)))
  return (
    <div>
      <ul className="mb-2 flex flex-wrap gap-x-4 text-sm text-soft">
        {Object.entries(kinds)
          .filter(([kind]) => used.has(kind as Segment['kind']))
          .map(([kind, { text, bar }]) => (
            <li key={kind} className="flex items-center gap-1.5">
              <span className={`inline-block h-2.5 w-4 rounded-sm ${bar}`} aria-hidden="true" />
              {text}
            </li>
          ))}
      </ul>
      <Axis scale={scale} />
      <ol>
        {rows.map((row) => (
          <li key={row.uid} className="grid items-center gap-x-3 border-t border-line py-1.5 sm:grid-cols-[12rem_1fr]">
            <Label row={row} />
            <div className="min-w-0">
              <Track row={row} scale={scale} />
              <Totals segments={row.segments} />
            </div>
          </li>
        ))}
      </ol>
      <ul className="mt-1">
        {rows.flatMap(({ uid, name, marks }) =>
          marks.map((mark) => (
            <li key={`${uid} ${mark.at} ${mark.kind}`} className="any text-sm">
              <span aria-hidden="true" className="inline-block w-5 text-center text-stop">
                {markSigns[mark.kind]}
              </span>{' '}
              <Time at={mark.at}>{timeOfDay(mark.at)}</Time>{' '}
              {rows.length > 1 && <span className="text-soft">{nameOf(shown(name))}: </span>}
              {shown(mark.text)}.
            </li>
          )),
        )}
      </ul>
    </div>
  )
}

const maxIndent = 4

function Label({ row }: { readonly row: Row }): ReactNode {
  const { text } = statusWords(row.state, row.status, row.code)
  return (
    <span className="any min-w-0 text-sm" style={{ paddingLeft: `${Math.min(row.depth, maxIndent) * 0.75}rem` }}>
      {row.depth === 0 ? (
        <span className="font-medium">{nameOf(shown(row.name))}</span>
      ) : (
        <Link href={`/calls/${row.uid}`} className="text">
          {nameOf(shown(row.name))}
        </Link>
      )}
      <span className="block text-xs text-soft">
        {text}, {row.isOpen ? 'for ' : ''}
        {durationText(row.to - row.from)}
      </span>
    </span>
  )
}

/** Where the time went, because long waits are drawn short. */
function Totals({ segments }: Pick<Row, 'segments'>): ReactNode {
  const totals = new Map<Segment['kind'], number>()
  for (const { kind, from, to } of segments) totals.set(kind, (totals.get(kind) ?? 0) + to - from)
  const texts = [...totals].map(([kind, ms]) => `${kinds[kind].text.toLowerCase()} ${durationText(ms)}`)
  return <span className="any block text-xs text-soft">{texts.join(' · ')}</span>
}

const segmentText = ({ kind, from, to, attempt }: Segment): string =>
  `${kinds[kind].text}${attempt !== undefined && attempt > 1 ? `, attempt ${attempt}` : ''}: ${durationText(to - from)}`

function Track({ row, scale }: { readonly row: Row; readonly scale: TimeScale }): ReactNode {
  const text = [...row.segments.map(segmentText), ...row.marks.map((mark) => mark.text)].join('; ')
  return (
    <div className="relative h-6" role="img" aria-label={shown(text)}>
      <Breaks scale={scale} />
      {row.segments.map((segment) => {
        const left = scale.at(segment.from)
        return (
          <span
            key={`${segment.kind} ${segment.from} ${segment.to}`}
            title={segmentText(segment)}
            className={`absolute inset-y-1 min-w-0.5 rounded-sm ${kinds[segment.kind].bar}`}
            style={{ left: percent(left), width: percent(scale.at(segment.to) - left) }}
          />
        )
      })}
      {row.marks.map((mark) => (
        <span
          key={`${mark.kind} ${mark.at}`}
          title={shown(mark.text)}
          className="absolute top-0 flex h-6 w-5 -translate-x-1/2 items-center justify-center rounded border border-stop
            bg-panel text-sm text-stop"
          style={{ left: percent(Math.min(98, Math.max(2, scale.at(mark.at)))) }}
        >
          {markSigns[mark.kind]}
        </span>
      ))}
    </div>
  )
}

const Breaks = ({ scale }: { readonly scale: TimeScale }): ReactNode =>
  scale.breaks.map(({ from, to }) => (
    <span
      key={from}
      title={`${durationText(to - from)} drawn short`}
      className="absolute inset-y-0 border-x border-dashed border-line bg-sunk"
      style={{ left: percent(scale.at(from)), width: percent(scale.at(to) - scale.at(from)) }}
    />
  ))

/** The time in the axis: elapsed time at round values, and the length of each part that is drawn short. */
function axisLabels(scale: TimeScale): readonly { readonly at: number; readonly text: string }[] {
  const labels = [
    ...scale.breaks.map(({ from, to }) => ({
      at: (scale.at(from) + scale.at(to)) / 2,
      text: `… ${durationText(to - from)} …`,
      isBreak: true,
    })),
    ...scale.ticks.map(({ position, elapsed }) => ({
      at: position,
      text: elapsed === 0 ? '0' : `+${durationText(elapsed)}`,
      isBreak: false,
    })),
  ]
  const drawn: typeof labels = []
  const perCharacter = window.matchMedia('(min-width: 48rem)').matches ? 1 : 2.4
  const distance = (one: string, other: string): number => ((one.length + other.length) / 2) * perCharacter + 2
  // Breaks come first: they explain the distances. A label that would repeat or cover another one is left out.
  for (const label of labels)
    if (
      drawn.every(
        (other) => Math.abs(other.at - label.at) >= distance(other.text, label.text) && other.text !== label.text,
      )
    )
      drawn.push(label)
  return drawn
}

const Axis = ({ scale }: { readonly scale: TimeScale }): ReactNode => (
  <div className="sm:pl-[12.75rem]" aria-hidden="true">
    <div className="relative h-5 text-xs text-soft">
      {axisLabels(scale).map(({ at, text }) => (
        <span
          key={`${at} ${text}`}
          className={`absolute whitespace-nowrap ${at < 12 ? '' : at > 88 ? '-translate-x-full' : '-translate-x-1/2'}`}
          style={{ left: percent(at) }}
        >
          {text}
        </span>
      ))}
    </div>
  </div>
)
