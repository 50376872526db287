// How readers see the events of calls: with the tool and the model's call id, a turn as a turn, and without the runtime's
// own steps. Events are recorded as they are; this is computed when they are read.

import type { Outcome } from '../core/outcome.ts'
import { stepPrefix } from '../store/journal-keys.ts'
import { type CallRecord, parseCallOptions } from '../store/records/call-record.ts'
import { isTurn } from '../store/records/conversation.ts'
import type { EventRecord } from '../store/records/event.ts'

/** The start and the end of a turn. A turn is a call inside the runtime; readers see it under these types. */
export interface TurnEventBodies {
  /** The turn runs. It is repeated when another worker takes the turn over: `attempt` is then higher. */
  'turn.started': { readonly turn: string; readonly attempt: number }
  /** The turn has answered or was cancelled; the outcome comes with the event. */
  'turn.ended': { readonly turn: string; readonly status: 'success' | 'cancelled' }
  /** The turn failed; the outcome comes with the event. */
  'turn.failed': { readonly turn: string; readonly code: string }
}

/** What is known about the call of an event. */
export interface CallFacts {
  readonly callId: string
  /** The name that the model used. Absent for a turn. */
  readonly tool?: string
  /** Id of the turn, if the call is one. */
  readonly turn?: string
}

export function factsOf(record: CallRecord): CallFacts {
  const { position, tool, options } = record
  if (isTurn(record)) return { callId: position.id, turn: position.id }
  const { callId = position.id, name } = parseCallOptions(options)
  return { callId, tool: name ?? (tool.split('@')[0] as string) }
}

/** The type and body under which readers see the event; null if they do not see it. */
export function shownAs(
  event: EventRecord,
  { turn }: Partial<CallFacts>,
  outcome: Outcome | undefined,
): { readonly type: string; readonly body: object } | null {
  if (event.type.startsWith('step.'))
    return turn === undefined && (event.body as { step: string }).step.startsWith(stepPrefix) ? event : null
  if (turn === undefined || !event.type.startsWith('call.')) return event
  if (event.type === 'call.started') return { type: 'turn.started', body: { turn, attempt: event.body.attempt } }
  if (event.type !== 'call.settled') return null
  const { status } = event.body
  if (status === 'success' || status === 'cancelled') return { type: 'turn.ended', body: { turn, status } }
  return { type: 'turn.failed', body: { turn, code: outcome?.status === 'failure' ? outcome.failure.code : status } }
}
