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
  /** The last sign of each worker that ran it. */
  readonly signs: readonly number[]
}

/**
 * @param events Those of the call, oldest first. @param now End of the time line of an open call. @param below The time
 * lines of the calls that it made: they show that its worker was alive, and what its body waited for.
 */
export function callTimeline(
  call: ExportedCall,
  events: readonly ExportedEvent[],
  now: number,
  below: readonly CallTimeline[] = [],
): CallTimeline {
  const line = new Line(
    call,
    below.flatMap(({ signs }) => signs),
  )
  for (const event of events) line.add(event)
  return line.end(call, now, below)
}

/** Events that the worker of a call writes while it runs it. People and other workers write the others. */
const writtenByWorker: ReadonlySet<string> = new Set<ExportedEvent['type']>([
  'call.started',
  'turn.started',
  'turn.answered',
  'call.queued',
  'call.parked',
  'step.started',
  'step.done',
  'step.failed',
  'wait.opened',
  'task.updated',
  'task.output',
  'task.artifact',
  'task.event',
])

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

  /** Signs of the workers in the calls below. */
  readonly #signsBelow: readonly number[]

  constructor({ createdAt }: ExportedCall, signsBelow: readonly number[]) {
    this.#signsBelow = signsBelow
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
    if (writtenByWorker.has(event.type)) this.#lastSeen = Math.max(this.#lastSeen, at)
  }

  end(call: ExportedCall, now: number, below: readonly CallTimeline[]): CallTimeline {
    const { createdAt, startedAt, settledAt, outcome } = call
    const isOpen = settledAt === null
    const to = Math.max(settledAt ?? now, createdAt)
    // The start has no event if events were pruned or are over the limit.
    if (this.#segments.length === 0 && this.#kind === 'queued' && startedAt !== null) this.#move('running', startedAt)
    if (outcome?.status === 'unknown' && this.#kind === 'running') {
      this.#lose(to, outcome.unknown.startedAt)
      this.#marks.push({ kind: 'lost', at: to, text: 'The worker stopped; whether the call took effect is not known' })
    } else this.#move(null, to)
    const sleeps = call.sleeps.map(({ from, until }) => ({ from, to: until }))
    const segments = overlay(overlay(this.#segments, 'sleeping', sleeps), 'person', waitsForPeople(below))
    const silences = this.#marks.filter(({ kind }) => kind === 'silent').map(({ at }) => at)
    // Later events of a call that was taken over are signs of its new worker.
    const signs = silences.length > 0 ? silences : [this.#lastSeen]
    return { segments, marks: this.#marks, from: createdAt, to, isOpen, signs }
  }

  #takeOver(at: number): void {
    const before = this.#attempt
    this.#lose(at, this.#from)
    this.#marks.push({
      kind: 'takeover',
      at,
      text: `The worker stopped during attempt ${before}. Another one continued with attempt ${this.#attempt + 1}`,
    })
  }

  /** Ends the attempt at its last event: the worker stopped some time after it. */
  #lose(at: number, startedAt: number): void {
    const below = this.#signsBelow.filter((sign) => sign < at)
    const silentAt = Math.min(Math.max(this.#lastSeen, startedAt, this.#from, ...below), at)
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

interface Span {
  readonly from: number
  readonly to: number
}

/** The parts of running segments in these spans get another kind. `spans`: in order, without overlaps. */
function overlay(segments: readonly Segment[], kind: SegmentKind, spans: readonly Span[]): readonly Segment[] {
  if (spans.length === 0) return segments
  return segments.flatMap((segment) => {
    if (segment.kind !== 'running') return [segment]
    const parts: Segment[] = []
    let reached = segment.from
    const add = (of: SegmentKind, to: number): void => {
      if (to > reached) parts.push({ ...segment, kind: of, from: reached, to })
      reached = Math.max(reached, to)
    }
    for (const { from, to } of spans) {
      if (to <= reached || from >= segment.to) continue
      add('running', from)
      add(kind, Math.min(to, segment.to))
    }
    add('running', segment.to)
    return parts.length === 0 ? [segment] : parts
  })
}

/** Times in which calls below waited for a person, and none of them did anything else. */
function waitsForPeople(below: readonly CallTimeline[]): readonly Span[] {
  const segments = below.flatMap((line) => line.segments)
  const edges = [...new Set(segments.flatMap(({ from, to }) => [from, to]))].toSorted((a, b) => a - b)
  return edges.slice(1).flatMap((to, index) => {
    const from = edges[index] ?? to
    const kinds = new Set(segments.filter((each) => each.from < to && each.to > from).map(({ kind }) => kind))
    return kinds.size === 1 && kinds.has('person') ? [{ from, to }] : []
  })
}
