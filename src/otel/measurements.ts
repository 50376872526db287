// Records metrics from the events of the observer port: those of the GenAI conventions, and Pawl's own.

import type { Histogram, Meter, Counter } from '@opentelemetry/api'
import type { ObservedEvent } from '../core/observer.ts'
import { LabelLimit } from './label-limit.ts'
import { type CallKind, kindOf, shownTool } from './call-kind.ts'

/** Bucket bounds in seconds that the GenAI conventions recommend. */
const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
/** Waits for people last up to days. */
const waitSeconds = [0.1, 1, 10, 60, 300, 1_800, 3_600, 14_400, 86_400, 604_800]
const tokens = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

type EventOf<Type extends ObservedEvent['type']> = Extract<ObservedEvent, { type: Type }>

export class Measurements {
  readonly #toolDuration: Histogram
  readonly #modelDuration: Histogram
  readonly #tokens: Histogram
  readonly #calls: Counter
  readonly #callDuration: Histogram
  readonly #queued: Histogram
  readonly #waited: Histogram
  readonly #resumed: Counter
  readonly #tools: LabelLimit
  readonly #models: LabelLimit

  constructor(meter: Meter, most: number) {
    this.#tools = new LabelLimit(most)
    this.#models = new LabelLimit(most)
    const histogram = (name: string, description: string, explicitBucketBoundaries: number[], unit = 's'): Histogram =>
      meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries } })
    this.#toolDuration = histogram('gen_ai.execute_tool.duration', 'Duration of one attempt of a tool.', seconds)
    this.#modelDuration = histogram('gen_ai.client.operation.duration', 'Duration of one model request.', seconds)
    this.#tokens = histogram('gen_ai.client.token.usage', 'Tokens of one model request.', tokens, '{token}')
    this.#callDuration = histogram('pawl.call.duration', 'From the request of a call to its outcome.', waitSeconds)
    this.#queued = histogram('pawl.call.queue.duration', 'Time a call was ready to run and did not run.', seconds)
    this.#waited = histogram('pawl.wait.duration', 'Time until a wait was answered.', waitSeconds)
    this.#calls = meter.createCounter('pawl.calls', { description: 'Calls by outcome.', unit: '{call}' })
    this.#resumed = meter.createCounter('pawl.calls.resumed', {
      description: 'Calls that a worker resumed: after their worker was lost, or because a wait was answered.',
      unit: '{call}',
    })
  }

  record(event: ObservedEvent): void {
    switch (event.type) {
      case 'callStarted':
        if (event.resumed) this.#resumed.add(1, { ...this.#about(event), 'pawl.reason': resumeReason(event) })
        break
      case 'callSettled':
        this.#settled(event)
        break
      case 'attemptEnded':
        this.#attempt(event)
        break
      case 'waitResolved':
        this.#waited.record(event.durationMs / 1_000, { 'pawl.wait.kind': event.kind, 'pawl.wait.answer': event.by })
        break
      case 'modelCallEnded':
        this.#modelCall(event)
        break
      default:
    }
  }

  #about(event: ObservedEvent): { 'gen_ai.tool.name': string } | { 'gen_ai.request.model': string } {
    const kind: CallKind = kindOf(event)
    return kind.kind === 'turn'
      ? { 'gen_ai.request.model': this.#models.of(kind.model) }
      : { 'gen_ai.tool.name': this.#tools.of(shownTool(event)) }
  }

  #settled(event: EventOf<'callSettled'>): void {
    const about = this.#about(event)
    const outcome = { ...about, 'pawl.outcome': event.status }
    this.#calls.add(1, event.error === null ? outcome : { ...outcome, 'error.type': event.error })
    this.#callDuration.record((event.at - event.createdAt) / 1_000, outcome)
    if (kindOf(event).kind !== 'turn') this.#queued.record(event.queuedMs / 1_000, about)
  }

  #attempt(event: EventOf<'attemptEnded'>): void {
    if (event.status === 'parked') return // the body has not ended: its answer comes later
    const error = errorType(event)
    this.#toolDuration.record(event.durationMs / 1_000, {
      'gen_ai.operation.name': 'execute_tool',
      ...this.#about(event),
      ...(error === null ? {} : { 'error.type': error }),
    })
  }

  #modelCall({ model, status, durationMs, usage }: EventOf<'modelCallEnded'>): void {
    const about = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': this.#models.of(model) }
    const error = status === 'success' ? {} : { 'error.type': status === 'failure' ? '_OTHER' : status }
    this.#modelDuration.record(durationMs / 1_000, { ...about, ...error })
    if (!usage) return
    this.#tokens.record(usage.inputTokens, { ...about, 'gen_ai.token.type': 'input' })
    this.#tokens.record(usage.outputTokens, { ...about, 'gen_ai.token.type': 'output' })
  }
}

/** The `error.type` of an attempt; null if it did not fail. */
export function errorType({ status, error }: EventOf<'attemptEnded'> | EventOf<'callSettled'>): string | null {
  if (status === 'success' || status === 'parked') return null
  if (status === 'lost') return 'worker_lost'
  return error ?? status
}

export const resumeReason = ({ lostWorker, wait }: EventOf<'callStarted'>): 'worker_lost' | 'answered' | 'released' =>
  lostWorker ? 'worker_lost' : wait === undefined ? 'released' : 'answered'
