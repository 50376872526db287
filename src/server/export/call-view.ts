// One call on the HTML page: a row with its time line, and below it everything that is recorded about it.

import type { Outcome } from '../../index.ts'
import { type CallTimeline, callTimeline } from './call-timeline.ts'
import { block, durationText, type Html, markup, type Insertable, time, valueBlock } from './escape-html.ts'
import type { ExportedCall, ExportedEvent } from './export-bundle.ts'
import type { TimeScale } from './time-scale.ts'
import { track } from './timeline-track.ts'

/** A call with what the page shows of it. */
export interface CallRow {
  readonly call: ExportedCall
  readonly events: readonly ExportedEvent[]
  readonly line: CallTimeline
  /** How many calls are above it. */
  readonly depth: number
}

export const stateOf = ({ outcome, state }: Pick<ExportedCall, 'outcome' | 'state'>): string =>
  outcome?.status ?? (state === 'parked' ? 'waiting' : 'open')

/** The runtime records a turn under its model. */
export const nameOf = ({ name }: Pick<ExportedCall, 'name'>): string =>
  name.startsWith('pawl:turn:') ? `Turn · ${name.slice('pawl:turn:'.length)}` : name

/** The place of a call on the page. Uids of other stores may contain anything, so the number in the list is used. */
export type CallIds = ReadonlyMap<string, string>

const maxDepth = 4

/** Rows in the order of the calls, calls under others directly behind them. */
export function callRows(
  calls: readonly ExportedCall[],
  events: readonly ExportedEvent[],
  now: number,
): readonly CallRow[] {
  const ofCall = Map.groupBy(events, ({ call }) => call)
  const uids = new Set(calls.map(({ uid }) => uid))
  const under = Map.groupBy(calls, ({ parent }) => (parent !== null && uids.has(parent) ? parent : ''))
  const below = (uid: string): readonly ExportedCall[] => (uid === '' ? [] : (under.get(uid) ?? []))
  const lines = new Map<ExportedCall, CallTimeline>()
  // A call is recorded before the calls that it makes, so theirs are known when it is its turn.
  for (const call of calls.toReversed()) {
    const nested = below(call.uid).flatMap((each) => lines.get(each) ?? [])
    lines.set(call, callTimeline(call, ofCall.get(call.uid) ?? [], now, nested))
  }
  const rows: CallRow[] = []
  const pending = (under.get('') ?? []).toReversed().map((call) => ({ call, depth: 0 }))
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { call, depth } = next
    rows.push({ call, events: ofCall.get(call.uid) ?? [], line: lines.get(call) as CallTimeline, depth })
    pending.push(
      ...below(call.uid)
        .toReversed()
        .map((each) => ({ call: each, depth: depth + 1 })),
    )
  }
  return rows
}

export function callView(row: CallRow, scale: TimeScale, ids: CallIds): Html {
  const { call, line, depth } = row
  const state = stateOf(call)
  const took = `${line.isOpen ? 'for ' : ''}${durationText(line.to - line.from)}`
  const attempts = call.attempts > 1 ? `, ${call.attempts} attempts` : ''
  return markup`<details class="call d${Math.min(depth, maxDepth)}">
    <summary>
      <span class="who">
        <h3>${nameOf(call)}</h3>
        <span class="state ${state}">${state}</span>
        <span class="took">${took}${attempts}</span>
      </span>
      ${track(line, scale, state)}
    </summary>
    <div class="body" id="${ids.get(call.uid)}">
      ${line.marks.map(({ kind, at, text }) => markup`<p class="marked ${kind}">${text}: ${time(at)}</p>`)}
      ${call.outcome ? outcomeView(call.outcome) : ''}
      ${call.input === null ? '' : markup`<h4>Input</h4>${valueBlock(call.input)}`}
      ${decisionsView(row.events)}
      ${waitsView(call)}
      ${stepsView(call)}
      ${factsView(row, ids)}
      ${eventsView(row)}
    </div>
  </details>`
}

function outcomeView(outcome: Outcome): Html {
  const note = outcome.note === undefined ? '' : markup`<p>${outcome.note}</p>`
  switch (outcome.status) {
    case 'success':
      return markup`<h4>Result</h4>
        ${outcome.summary === undefined ? '' : markup`<p>${outcome.summary}</p>`}${note}${valueBlock(outcome.value)}`
    case 'failure': {
      const { message, code, class: kind, source, retry, raw, mayStillRun } = outcome.failure
      return markup`<h4>Failure</h4>
        ${note}${block(message, 'prose')}
        <p class="note">
          Code <code>${code}</code>, class <code>${kind}</code>, from the ${source}. ${retryText(retry)}
          ${mayStillRun ? 'The body did not stop in time and may still have effects.' : ''}
        </p>
        ${
          raw === undefined
            ? ''
            : markup`<h4>Details</h4>
                ${valueBlock(raw)}`
        }`
    }
    case 'cancelled':
      return markup`<h4>Cancelled</h4>
        ${note}${block(outcome.cancellation.message, 'prose')}`
    case 'unknown':
      return markup`<h4>Outcome unknown</h4>
        ${note}${block(outcome.unknown.message, 'prose')}
        <p class="note">The interrupted attempt started ${time(outcome.unknown.startedAt)}.</p>
        ${valueBlock(outcome.unknown.evidence)}`
  }
}

function retryText(retry: Extract<Outcome, { status: 'failure' }>['failure']['retry']): string {
  if (retry.when === 'exhausted') return `All ${retry.attempts} attempts are used up.`
  return retry.when === 'safe' ? 'It is safe to ask again.' : ''
}

const table = (caption: string, heads: readonly string[], rows: readonly (readonly Insertable[])[]): Html =>
  markup`<h4>${caption}</h4>
    <div class="wide" tabindex="0" role="region" aria-label="${caption}">
      <table>
        <thead>
          <tr>
            ${heads.map((head) => markup`<th scope="col">${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (cells) =>
              markup`<tr>
                ${cells.map((cell) => markup`<td>${cell}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`

const decided: Readonly<Record<string, string>> = {
  approve: 'Approved',
  deny: 'Denied',
  edit: 'Approved with changes',
  answer: 'Answered',
}

/** Decisions: by whom, when, and through which door. */
function decisionsView(events: readonly ExportedEvent[]): Html | '' {
  const lines = events.flatMap((event) => {
    switch (event.type) {
      case 'decision.made': {
        const { decision, by, door, reason, votes } = event.body
        const count = votes ? `, ${votes.have} of ${votes.need} approvals` : ''
        return [
          markup`<li>
            <strong class="${decision}">${decided[decision] ?? decision}</strong> by <b>${by}</b> through
            <code>${door}</code>,
            ${time(event.at)}${count}${reason === undefined ? '' : markup`<blockquote>${reason}</blockquote>`}
          </li>`,
        ]
      }
      case 'decision.refused':
        return [
          markup`<li>
            <strong class="deny">Refused</strong>: <b>${event.body.by}</b> through <code>${event.body.door}</code> may
            not decide, ${time(event.at)}
            <blockquote>${event.body.why}</blockquote>
          </li>`,
        ]
      case 'decision.remembered':
        return [
          markup`<li>
            <strong class="${event.body.decision}">${decided[event.body.decision]}</strong> by a remembered rule of
            <b>${event.body.by}</b>, ${time(event.at)}
          </li>`,
        ]
      default:
        return []
    }
  })
  return lines.length === 0
    ? ''
    : markup`<h4>Decisions</h4>
        <ul class="decisions">
          ${lines}
        </ul>`
}

const waitStates: Readonly<Record<string, string>> = {
  value: 'answered',
  failure: 'failed',
  timeout: 'timed out',
}

const waitsView = ({ waits }: ExportedCall): Html | '' =>
  waits.length === 0
    ? ''
    : table(
        'Waits',
        ['Name', 'Opened', 'Deadline', 'State'],
        waits.map(({ name, createdAt, deadline, state }) => [
          waitName(name),
          time(createdAt),
          time(deadline),
          waitStates[state] ?? state,
        ]),
      )

const waitName = (name: string): string => name.replace(/^pawl:(\w+).*$/s, '$1')

const stepsView = ({ steps, createdAt }: ExportedCall): Html | '' =>
  steps.length === 0
    ? ''
    : table(
        'Steps',
        ['Step', 'State', 'Ended', 'After'],
        steps.map(({ id, state, at }) => [id, state, time(at), durationText(at - createdAt)]),
      )

function factsView({ call }: CallRow, ids: CallIds): Html {
  const { callId, uid, batch, idempotencyKey, principal, createdAt, startedAt, settledAt, attempts, usage, meta } = call
  const parentId = call.parent === null ? undefined : ids.get(call.parent)
  const parent =
    call.parent === null ? null : markup`${parentId ? markup`<a href="#${parentId}">${call.parent}</a>` : call.parent}`
  return markup`<h4>Record</h4>
    ${factList([
      ['Call id', callId],
      ['Uid', uid],
      ['Made by', parent],
      ['Batch', batch.startsWith('pawl:') ? '' : batch],
      ['Idempotency key', idempotencyKey],
      ['Principal', principal],
      ['Recorded', time(createdAt, true)],
      ['Last attempt started', startedAt !== null && time(startedAt, true)],
      ['Settled', settledAt !== null && time(settledAt, true)],
      ['Attempts', attempts],
      ['Model usage', usage && usageText(usage)],
    ])}
    ${
      meta === undefined
        ? ''
        : markup`<h4>Meta</h4>
            ${valueBlock(meta)}`
    }`
}

/** Facts without a value are left out. */
export const factList = (facts: readonly (readonly [string, Insertable])[]): Html =>
  markup`<dl class="facts">
    ${facts
      .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '')
      .map(
        ([name, value]) =>
          markup`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
  </dl>`

interface ShownUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost?: number | null
}
export const usageText = ({ inputTokens, outputTokens, cost }: ShownUsage): string =>
  `${inputTokens} tokens in, ${outputTokens} out${typeof cost === 'number' ? `, cost ${cost}` : ''}`

/** A turn may have very many events. */
const maxEvents = 500

function eventsView({ events, call }: CallRow): Html | '' {
  if (events.length === 0) return ''
  const rest = events.length - maxEvents
  return markup`<details class="events">
    <summary>${events.length} events</summary>
    ${eventTable(events.slice(0, maxEvents), call.createdAt)}
    ${rest > 0 ? markup`<p class="note">${rest} more events are not shown. The JSONL export has them.</p>` : ''}
  </details>`
}

export const eventTable = (events: readonly ExportedEvent[], start: number): Html =>
  markup`<div class="wide" tabindex="0" role="region" aria-label="Events">
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">After</th>
          <th scope="col">Event</th>
          <th scope="col">Details</th>
        </tr>
      </thead>
      <tbody>
        ${events.map(
          ({ at, type, body }) =>
            markup`<tr>
              <td>${time(at, true)}</td>
              <td>${durationText(at - start)}</td>
              <td>${type}</td>
              <td><code>${JSON.stringify(body)}</code></td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
