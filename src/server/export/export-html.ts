// Exports a bundle as one HTML page that needs no network, no script and no other file.

import { hash } from 'node:crypto'
import type { SegmentKind } from './call-timeline.ts'
import { type CallRow, callRows, callView, eventTable, factList, nameOf, stateOf } from './call-view.ts'
import { durationText, type Html, markup, time } from './escape-html.ts'
import { type ExportBundle, exportKinds } from './export-bundle.ts'
import { pageStyle } from './page-style.ts'
import { conversationView, inboxView, schedulesView, tasksView } from './session-views.ts'
import { type Span, timeScale, type TimeScale } from './time-scale.ts'
import { axis, legend, trackPatterns } from './timeline-track.ts'

/** The style is named by its hash, so that injected styles do not apply. Everything else is forbidden. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', pageStyle.text, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** The same bundle always gives the same page. */
export function exportHtml(bundle: ExportBundle): string {
  const rows = callRows(bundle.calls, bundle.events, bundle.exportedAt)
  const ids = new Map(rows.map(({ call }, index) => [call.uid, `call-${index + 1}`]))
  const byCallId = new Map(rows.map(({ call }) => [call.callId, ids.get(call.uid) as string]))
  const what = titleOf(bundle)
  return markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="color-scheme" content="light dark" />
        <title>${what} · Pawl</title>
        <style>${pageStyle}</style>
      </head>
      <body>
        ${trackPatterns}
        <header>
          <p class="kind">Pawl export</p>
          <h1>${what}</h1>
          ${headerFacts(bundle)} ${totals(bundle)} ${omittedNote(bundle)}
        </header>
        <main>
          ${inboxView(bundle.inbox, ids)} ${timelineView(rows, ids)} ${conversationView(bundle.messages, byCallId)}
          ${tasksView(bundle.tasks, ids)} ${schedulesView(bundle.schedules)} ${sessionEvents(bundle)}
        </main>
        <footer>
          <p>Format <code>${bundle.format}</code> version ${bundle.version}. Times are in UTC.</p>
        </footer>
      </body>
    </html> `.text
}

function titleOf({ session, call, calls }: ExportBundle): string {
  if (call === null) return `Session ${session}`
  const root = calls.find(({ uid }) => uid === call)
  return root ? `Call ${nameOf(root)}` : `Call ${call}`
}

function headerFacts({ tenant, session, call, calls, exportedAt }: ExportBundle): Html {
  const from = calls.reduce((first, { createdAt }) => Math.min(first, createdAt), Infinity)
  const to = calls.reduce((last, { settledAt }) => Math.max(last, settledAt ?? exportedAt), from)
  return factList([
    ['Tenant', tenant],
    ['Session', call === null ? '' : session],
    ['Uid', call],
    ['Exported', time(exportedAt)],
    ['First call', calls.length > 0 && time(from)],
    ['Period', calls.length > 0 && durationText(to - from)],
  ])
}

const shownStates = ['success', 'failure', 'cancelled', 'unknown', 'waiting', 'open'] as const

function totals({ calls, messages, tasks, events }: ExportBundle): Html {
  const states = Map.groupBy(calls, stateOf)
  const numbers = { call: calls.length, message: messages.length, task: tasks.length, event: events.length }
  const counts = Object.entries(numbers).map(([one, number]) => `${number} ${one}${number === 1 ? '' : 's'}`)
  return markup`<ul class="totals" aria-label="Outcomes of the calls">
      ${shownStates
        .filter((state) => states.has(state))
        .map((state) => markup`<li class="state ${state}"><b>${states.get(state)?.length ?? 0}</b> ${state}</li>`)}
    </ul>
    <p class="note">
      ${counts.join(', ')}
    </p>`
}

function omittedNote({ omitted }: ExportBundle): Html | '' {
  const left = exportKinds.filter((kind) => omitted[kind] > 0).map((kind) => `${kind}: ${omitted[kind]}`)
  if (left.length === 0) return ''
  return markup`<p class="warning" role="note">
    <b>Incomplete.</b> The page would be too large, so these objects are left out: ${left.join(', ')}. The JSONL export
    has all of them.
  </p>`
}

function timelineView(rows: readonly CallRow[], ids: ReadonlyMap<string, string>): Html {
  if (rows.length === 0)
    return markup`<section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <p>No call is recorded.</p>
    </section>`
  const kinds = new Set<SegmentKind>(rows.flatMap(({ line }) => line.segments.map(({ kind }) => kind)))
  const scale = scaleOf(rows)
  return markup`<section aria-labelledby="timeline">
    <h2 id="timeline">Timeline</h2>
    ${legend(kinds)}
    ${shortenedNote(scale)}
    <div class="timeline">
      <div class="axis-row">${axis(scale)}</div>
      ${rows.map((row) => callView(row, scale, ids))}
    </div>
  </section>`
}

function shortenedNote({ breaks }: TimeScale): Html | '' {
  const periods = breaks.map(({ from, to }) => durationText(to - from)).join(', ')
  return periods === ''
    ? ''
    : markup`<p class="note">Narrow grey columns are shortened: nothing ran for ${periods}.</p>`
}

/** Waiting calls are not active, so that long waits do not squeeze everything else. */
function scaleOf(rows: readonly CallRow[]): TimeScale {
  let from = Infinity
  let to = -Infinity
  const active: Span[] = []
  for (const { line } of rows) {
    from = Math.min(from, line.from)
    to = Math.max(to, line.to)
    active.push({ from: line.from, to: line.from })
    for (const segment of line.segments)
      if (segment.kind !== 'person' && segment.kind !== 'external') active.push(segment)
  }
  return timeScale(from, to, active)
}

const maxSessionEvents = 1_000

/** Events that are about no exported call. */
function sessionEvents({ events, calls }: ExportBundle): Html | '' {
  const uids = new Set(calls.map(({ uid }) => uid))
  const others = events.filter(({ call }) => !uids.has(call))
  const [first] = others
  if (!first) return ''
  const rest = others.length - maxSessionEvents
  return markup`<section aria-labelledby="events">
    <h2 id="events">Other events</h2>
    <details class="events">
      <summary>${others.length} events of the session</summary>
      ${eventTable(others.slice(0, maxSessionEvents), first.at)}
      ${rest > 0 ? markup`<p class="note">${rest} more events are not shown. The JSONL export has them.</p>` : ''}
    </details>
  </section>`
}
