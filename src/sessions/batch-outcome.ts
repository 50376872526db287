// How a call of a batch ended, and what that means to its batch.

import type { HookFacts } from '../calls/admission/hook.ts'
import type { Asked, Settled } from '../engine/engine.ts'
import { noTimes } from '../store/records/call-times.ts'
import { abortsTurn, failure, type Outcome } from '../core/outcome.ts'
import { decode } from '../core/value.ts'
import type { CallAsk } from './call-request.ts'
import type { How } from './collect-outcomes.ts'

export function factsOf(call: CallAsk, { position, principal, input }: Asked, { tools }: How): HookFacts {
  const tool = tools.find(call.name)?.name ?? call.name
  return { tenant: position.tenant, session: position.session, principal, callId: call.id, tool, input: decode(input) }
}

/** An abort of the turn by a hook stops the batch whatever was asked for. */
export const stops = (outcome: Outcome, how: How): boolean =>
  outcome.status === 'failure' && (how.onFailure === 'stop' || abortsTurn(outcome) !== null)

/** What is told of a call: of one that never began, too. */
export type Ended = Pick<Settled, 'attempts' | 'outcome' | 'times'> & { readonly text?: string }

export const neverBegun = (outcome: Outcome): Ended => ({ attempts: 0, outcome, times: noTimes })

export const notStarted = (reason: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message: `${reason}; it was not started`, source: 'cancellation' },
})

export function conflict(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  // Whose tool it was is nothing to a model.
  const [tool] = recorded.tool.split('@')
  const message = `A call with id '${call.id}' is on record with other content (tool '${tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}
