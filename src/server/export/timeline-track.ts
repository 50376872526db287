// Draws the time line of a call as SVG, and the axis and legend that belong to it. Presentation attributes instead of
// style attributes, because the page's policy forbids the latter.

import type { CallTimeline, Segment, SegmentKind } from './call-timeline.ts'
import { durationText, type Html, markup } from './escape-html.ts'
import type { Span, TimeScale } from './time-scale.ts'

const labels: Readonly<Record<SegmentKind, string>> = {
  queued: 'Queued',
  person: 'Waiting for a person or client',
  external: 'Waiting for a result',
  running: 'Running',
  sleeping: 'Sleeping',
  backoff: 'Waiting to retry',
  lost: 'No sign of the worker',
}

const percent = (position: number): string => `${Math.round(position * 100) / 100}%`

/** The patterns that the tracks refer to. */
export const trackPatterns: Html = markup`<svg class="patterns" width="0" height="0" aria-hidden="true">
  <defs>
    <pattern id="hatch-lost" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width="6" height="6" class="lost-ground" />
      <rect width="3" height="6" class="lost-line" />
    </pattern>
    <pattern id="hatch-external" width="6" height="6" patternUnits="userSpaceOnUse">
      <rect width="6" height="6" class="external-ground" />
      <circle cx="3" cy="3" r="1.2" class="external-dot" />
    </pattern>
  </defs>
</svg>`

const spanWidth = (scale: TimeScale, from: number, to: number): number => Math.max(scale.at(to) - scale.at(from), 0)

const isThick = (kind: SegmentKind): boolean => kind === 'running' || kind === 'lost'

const spanRect = (scale: TimeScale, { from, to }: Span, kind: string, title: Html | '', y: number, height: number) =>
  markup`<rect class="${kind}" x="${percent(scale.at(from))}" width="${percent(spanWidth(scale, from, to))}"
    y="${y}" height="${height}">${title}</rect>`

const segmentText = ({ kind, from, to, attempt }: Segment): string => {
  const number = attempt !== undefined && attempt > 1 ? `, attempt ${attempt}` : ''
  return `${labels[kind]}${number}: ${durationText(to - from)}`
}

/** In words, for screen readers. */
const timelineText = ({ segments, marks }: CallTimeline): string =>
  [...segments.map(segmentText), ...marks.map(({ text }) => text)].join('; ')

export function track(line: CallTimeline, scale: TimeScale, outcome: string): Html {
  const end = percent(scale.at(line.to))
  return markup`<svg class="track" height="22" role="img" aria-label="${timelineText(line)}">
    ${scale.breaks.map((span) => spanRect(scale, span, 'gap', '', 0, 22))}
    ${line.segments.map((segment) => {
      const title = markup`<title>${segmentText(segment)}</title>`
      const [y, height] = isThick(segment.kind) ? [5, 12] : [8, 6]
      return spanRect(scale, segment, `bar ${segment.kind}`, title, y, height)
    })}
    ${line.marks.map(({ kind, at, text }) => {
      const x = percent(scale.at(at))
      return markup`<g class="mark ${kind}"><title>${text}</title><line x1="${x}" x2="${x}" y1="1" y2="21"/></g>`
    })}
    ${line.isOpen ? '' : markup`<circle class="end ${outcome}" cx="${end}" cy="11" r="4"/>`}
  </svg>`
}

export const axis = (scale: TimeScale): Html =>
  markup`<svg class="axis" height="20" aria-hidden="true">
    ${scale.breaks.map((span) => spanRect(scale, span, 'gap', '', 0, 20))}
    ${scale.ticks.map(({ position, elapsed }) => {
      const x = percent(position)
      const anchor = position < 4 ? 'start' : 'middle'
      return markup`<line x1="${x}" x2="${x}" y1="14" y2="20"/>
        <text x="${x}" y="11" text-anchor="${anchor}">${elapsed === 0 ? '0' : `+${durationText(elapsed)}`}</text>`
    })}
  </svg>`

export const legend = (kinds: ReadonlySet<SegmentKind>): Html =>
  markup`<ul class="legend">
    ${(Object.keys(labels) as SegmentKind[])
      .filter((kind) => kinds.has(kind))
      .map(
        (kind) =>
          markup`<li>
            <svg width="18" height="12" aria-hidden="true">
              <rect
                class="bar ${kind}"
                width="18"
                height="${isThick(kind) ? 12 : 6}"
                y="${isThick(kind) ? 0 : 3}"
              />
            </svg>
            ${labels[kind]}
          </li>`,
      )}
  </ul>`
