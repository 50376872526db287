// turn.uiMessageStream(): the parts of a turn in the UI message stream protocol of the AI SDK, for `useChat`.

import type { Outcome } from '../../core/outcome.ts'
import type { FinishReason } from '../../models/model.ts'
import type { TurnValue } from '../../models/turn-interface.ts'
import type { Progress } from '../../tools/context/tool-context.ts'
import type { CallState, CallView, TurnPart } from './turn-parts.ts'
import { answerIdOf, type UiChunk } from '../../models/ui-message.ts'

export interface UiStreamTerms {
  readonly turn: string
  /** Ends the stream when every open call waits for people or external systems. */
  readonly endsWhenWaiting: boolean
  /** Number of answers that the client has, the last one perhaps in part. That one is sent again as a whole. */
  readonly stepsShown: number
}

export async function* uiChunksOf(
  parts: AsyncIterable<TurnPart>,
  { turn, endsWhenWaiting, stepsShown }: UiStreamTerms,
): AsyncGenerator<UiChunk, void, void> {
  const writer = new ChunkWriter(stepsShown)
  yield { type: 'start', messageId: answerIdOf(turn) }
  for await (const part of parts) {
    yield* writer.write(part)
    if (part.type === 'ended' || (part.type === 'waiting' && endsWhenWaiting)) return
  }
}

class ChunkWriter {
  readonly #stepsShown: number
  #step = 0
  /** The text part that is open. */
  #text: { readonly type: 'text' | 'reasoning'; readonly id: string } | null = null

  constructor(stepsShown: number) {
    this.#stepsShown = stepsShown
  }

  *write(part: TurnPart): Generator<UiChunk> {
    if (part.type === 'step') return yield* this.#openStep(part.step)
    if (part.type === 'ended') return yield* this.#end(part.outcome)
    // The client has this answer, with the results of its calls.
    if (this.#step < this.#stepsShown && part.type !== 'waiting') return
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        const id = `${part.type}-${part.step}-${part.index}`
        if (this.#text?.id !== id) {
          yield* this.#closeText()
          yield { type: `${part.type}-start`, id }
          this.#text = { type: part.type, id }
        }
        return yield { type: `${part.type}-delta`, id, delta: part.delta }
      }
      case 'call':
        yield* this.#closeText()
        return yield {
          type: 'tool-input-start',
          toolCallId: part.id,
          toolName: part.name,
          ...(part.isProviders ? providers : {}),
        }
      case 'input':
        return yield { type: 'tool-input-delta', toolCallId: part.id, inputTextDelta: part.delta }
      case 'reset':
        this.#text = null
        return yield { type: 'reset-step' }
      case 'answered':
        yield* this.#closeText()
        for (const { id, name, input } of part.calls)
          yield { type: 'tool-input-available', toolCallId: id, toolName: name, input }
        return yield* providerChunks(part.provider)
      case 'state':
        return yield* stateChunks(part.call, part.state)
      case 'decided': {
        const { waitId: approvalId, approved, reason } = part
        return yield {
          type: 'tool-approval-response',
          approvalId,
          approved,
          ...(reason === undefined ? {} : { reason }),
        }
      }
      case 'progress':
        return yield progressChunk(part.call, part.progress)
      case 'waiting':
        return yield* this.#finish('tool-calls')
      default:
        part satisfies never
    }
  }

  *#openStep(step: number): Generator<UiChunk> {
    if (this.#step > 0 && this.#step >= this.#stepsShown) yield { type: 'finish-step' }
    this.#step = step
    if (step === this.#stepsShown) yield { type: 'reset-step' }
    else if (step > this.#stepsShown) yield { type: 'start-step' }
  }

  *#end(outcome: Outcome<TurnValue>): Generator<UiChunk> {
    // The client has the beginning of an answer that was never completed.
    if (this.#step < this.#stepsShown) yield { type: 'reset-step' }
    if (outcome.status === 'failure') yield { type: 'error', errorText: outcome.failure.message }
    if (outcome.status === 'cancelled') yield { type: 'abort', reason: outcome.cancellation.message }
    if (outcome.status === 'success') yield* this.#finish(finishReasons[outcome.value.finish])
  }

  *#finish(finishReason: NonNullable<Extract<UiChunk, { type: 'finish' }>['finishReason']>): Generator<UiChunk> {
    yield* this.#closeText()
    if (this.#step > 0) yield { type: 'finish-step' }
    yield { type: 'finish', finishReason }
  }

  *#closeText(): Generator<UiChunk> {
    if (this.#text) yield { type: `${this.#text.type}-end`, id: this.#text.id }
    this.#text = null
  }
}

const finishReasons = {
  stop: 'stop',
  calls: 'tool-calls',
  length: 'length',
  filter: 'content-filter',
  paused: 'other',
  other: 'other',
} as const satisfies Record<FinishReason, string>

const progressChunk = ({ id }: CallView, { preliminary, ...progress }: Progress): UiChunk =>
  preliminary === undefined
    ? { type: 'data-progress', id, data: progress, transient: true }
    : { type: 'tool-output-available', toolCallId: id, output: preliminary, preliminary: true }

const providers = { providerExecuted: true } as const

function* providerChunks({
  calls,
  results,
  sources,
}: Extract<TurnPart, { type: 'answered' }>['provider']): Generator<UiChunk> {
  for (const { id, name, input } of calls)
    yield { type: 'tool-input-available', toolCallId: id, toolName: name, input, ...providers }
  for (const { id: toolCallId, output, failed } of results)
    if (failed) yield { type: 'tool-output-error', toolCallId, errorText: JSON.stringify(output), ...providers }
    else yield { type: 'tool-output-available', toolCallId, output, ...providers }
  for (const { id: sourceId, url, title, mediaType = 'text/plain' } of sources)
    if (url === undefined) yield { type: 'source-document', sourceId, mediaType, title: title ?? sourceId }
    else yield { type: 'source-url', sourceId, url, ...(title === undefined ? {} : { title }) }
}

function* stateChunks({ id: toolCallId }: CallView, state: CallState): Generator<UiChunk> {
  if (state.is === 'running') return
  if (state.is === 'waiting') {
    if (state.for === 'approval') yield { type: 'tool-approval-request', approvalId: state.waitId, toolCallId }
    else yield { type: 'data-waiting', id: state.waitId, data: { toolCallId, for: state.for }, transient: true }
    return
  }
  const { outcome } = state
  if (outcome?.status === 'success') yield { type: 'tool-output-available', toolCallId, output: outcome.value }
  else if (outcome?.status === 'failure' && outcome.failure.code === 'denied_by_person')
    yield { type: 'tool-output-denied', toolCallId }
  else yield { type: 'tool-output-error', toolCallId, errorText: outcome ? errorTextOf(outcome) : 'Its result is gone' }
}

function errorTextOf(outcome: Exclude<Outcome, { status: 'success' }>): string {
  if (outcome.status === 'failure') return outcome.failure.message
  return outcome.status === 'cancelled' ? outcome.cancellation.message : outcome.unknown.message
}
