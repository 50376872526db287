// Divides the life of a call into segments and marks, as far as its events tell. Used by the HTML page.

import type { ExportedCall, ExportedEvent } from './export-bundle.ts'

/**
 * `lost`: the worker had died or stopped, and the call waited for another one. It begins with the last event of the
 * worker, because its end is not recorded.
 */
export type SegmentKind = 'queued' | 'person' | 'external' | 'running' | 'sleeping' | 'backoff' | 'lost'

export interface Segment {
  readonly kind: SegmentKind
  readonly from: number
  readonly to: number
  /** Number of the attempt, for `running`, `sleeping` and `lost`. */
  readonly attempt?: number
}

/** `silent`: the last sign of a worker that stopped. `takeover`: another worker continued the call. */
export interface Mark {
  readonly kind: 'silent' | 'takeover' | 'lost' | 'cancelling' | 'late'
  readonly at: number
  readonly text: string
}

export interface CallTimeline {
  readonly segments: readonly Segment[]
  readonly marks: readonly Mark[]
  readonly from: number
  readonly to: number
  /** The call has not ended. */
  readonly isOpen: boolean
}

/** @param events Those of the call, oldest first. @param now End of the time line of an open call. */
export function callTimeline(call: ExportedCall, events: readonly ExportedEvent[], now: number): CallTimeline {
  const line = new Line(call)
  for (const event of events) line.add(event)
  return line.end(call, now)
}

class Line {
  readonly #segments: Segment[] = []
  readonly #marks: Mark[] = []
  #kind: SegmentKind | null = 'queued'
  #from: number
  #attempt = 0
  /** Time of the last event while the body ran. */
  #lastSeen: number
  /** Open waits for people and clients. */
  readonly #asks = new Set<string>()

  constructor({ createdAt }: ExportedCall) {
    this.#from = createdAt
    this.#lastSeen = createdAt
  }

  add(event: ExportedEvent): void {
    const { at } = event
    switch (event.type) {
      case 'call.started':
      case 'turn.started':
        if (this.#kind === 'running') this.#takeOver(at)
        this.#attempt = event.body.attempt
        this.#move('running', at)
        break
      case 'call.queued':
        this.#move('backoff', at)
        break
      case 'wait.opened':
        if (event.body.asks === undefined) break
        this.#asks.add(event.body.wait)
        this.#move('person', at)
        break
      case 'call.parked':
        this.#move(this.#asks.has(event.body.wait) ? 'person' : 'external', at)
        break
      case 'wait.resolved':
        if (this.#kind === 'person' || this.#kind === 'external') this.#move('queued', at)
        this.#asks.delete(event.body.wait)
        break
      case 'call.cancelling':
        this.#marks.push({ kind: 'cancelling', at, text: 'Cancellation requested' })
        break
      case 'call.late':
        this.#marks.push({ kind: 'late', at, text: 'A late result arrived and was ignored' })
        break
      default:
    }
    // The end of an unknown outcome is written by another worker.
    if (event.type !== 'call.settled') this.#lastSeen = Math.max(this.#lastSeen, at)
  }

  end(call: ExportedCall, now: number): CallTimeline {
    const { createdAt, startedAt, settledAt, outcome } = call
    const isOpen = settledAt === null
    const to = Math.max(settledAt ?? now, createdAt)
    // The start has no event if events were pruned or are over the limit.
    if (this.#segments.length === 0 && this.#kind === 'queued' && startedAt !== null) this.#move('running', startedAt)
    if (outcome?.status === 'unknown' && this.#kind === 'running') {
      this.#lose(to, outcome.unknown.startedAt)
      this.#marks.push({ kind: 'lost', at: to, text: 'The worker stopped; whether the call took effect is not known' })
    } else this.#move(null, to)
    const segments = this.#segments.flatMap((segment) => withSleeps(segment, call.sleeps))
    return { segments, marks: this.#marks, from: createdAt, to, isOpen }
  }

  #takeOver(at: number): void {
    const before = this.#attempt
    this.#lose(at, this.#from)
    this.#marks.push({
      kind: 'takeover',
      at,
      text: `The worker of attempt ${before} stopped; another one continued the call`,
    })
  }

  /** Ends the attempt at its last event: the worker stopped some time after it. */
  #lose(at: number, startedAt: number): void {
    const silentAt = Math.min(Math.max(this.#lastSeen, startedAt, this.#from), at)
    this.#marks.push({ kind: 'silent', at: silentAt, text: `Last sign of the worker of attempt ${this.#attempt}` })
    this.#move('lost', silentAt)
    this.#move(null, at)
  }

  #move(kind: SegmentKind | null, at: number): void {
    const from = this.#from
    if (this.#kind === kind) return
    const isAttempt = this.#kind === 'running' || this.#kind === 'lost'
    if (this.#kind !== null && (at > from || this.#kind === 'running'))
      this.#segments.push({ kind: this.#kind, from, to: at, ...(isAttempt ? { attempt: this.#attempt } : {}) })
    this.#kind = kind
    this.#from = at
  }
}

/** Divides a running segment into its running and sleeping parts. */
function withSleeps(segment: Segment, sleeps: ExportedCall['sleeps']): readonly Segment[] {
  if (segment.kind !== 'running') return [segment]
  const parts: Segment[] = []
  let reached = segment.from
  const add = (kind: SegmentKind, to: number): void => {
    if (to > reached) parts.push({ ...segment, kind, from: reached, to })
    reached = Math.max(reached, to)
  }
  for (const { from, until } of sleeps) {
    if (until <= reached || from >= segment.to) continue
    add('running', from)
    add('sleeping', Math.min(until, segment.to))
  }
  add('running', segment.to)
  return parts.length === 0 ? [segment] : parts
}
