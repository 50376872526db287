// Helpers for the end of a call in its batch. Used by run-batch.ts.

import type { HookFacts } from '../calls/admission/hook-definition.ts'
import type { NewCall, SettledCall } from '../engine/engine.ts'
import { noTimes } from '../store/records/call-times.ts'
import { abortsTurn, failure, type Outcome } from '../core/outcome.ts'
import { decode } from '../core/tool-value.ts'
import type { CallAsk } from './call-request.ts'
import type { BatchOptions } from './collect-outcomes.ts'

export function hookFacts(call: CallAsk, { position, principal, input }: NewCall, { tools }: BatchOptions): HookFacts {
  const tool = tools.find(call.name)?.name ?? call.name
  return { tenant: position.tenant, session: position.session, principal, callId: call.id, tool, input: decode(input) }
}

/** A hook that aborts the turn stops the batch regardless of `onFailure`. */
export const stopsBatch = (outcome: Outcome, options: BatchOptions): boolean =>
  outcome.status === 'failure' && (options.onFailure === 'stop' || abortsTurn(outcome) !== null)

/** The reported end of a call, including one that never started. */
export type CallEnd = Pick<SettledCall, 'attempts' | 'outcome' | 'times'> & { readonly text?: string }

export const endWithoutStart = (outcome: Outcome): CallEnd => ({ attempts: 0, outcome, times: noTimes })

export const notStartedOutcome = (reason: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message: `${reason}; it was not started`, source: 'cancellation' },
})

export function conflictOutcome(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  // The part after '@' names the provider; the model does not need it.
  const [tool] = recorded.tool.split('@')
  const message = `A call with id '${call.id}' is on record with other content (tool '${tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}
