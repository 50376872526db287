// Decides whether a lost execution of a turn may have requested the next answer and streamed deltas of it. Nothing is
// written before a model request, because that would cost a sync per answer, so this is inferred from what must have
// happened first.

import type { Scope } from '../core/scope.ts'
import { callsIn } from '../models/message.ts'
import { hasNewUserMessage } from './conversation/arrived-messages.ts'
import type { MessageRecord } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { callsOnRecord } from './conversation/repair-missing-results.ts'

/** `last`: the last recorded message of the turn. */
export async function mayHaveAsked(host: TurnHost, of: Scope, last: MessageRecord | undefined): Promise<boolean> {
  if (last?.message.role !== 'assistant' || callsIn(last.message).length === 0) return true
  // A new user message ends the wait for calls.
  if (await hasNewUserMessage(host, of)) return true
  const calls = await callsOnRecord(host, of, last)
  if (calls[0] === undefined) return false
  for (const call of calls) {
    // Calls beyond the batch limit are never recorded, and the turn does not wait for background calls.
    if (call && call.state !== 'settled' && !(await host.inBackground(of, call.uid))) return false
  }
  return true
}
