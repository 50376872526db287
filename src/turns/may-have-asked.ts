// Whether an execution of a turn that is gone may have asked for the next answer, and told what came of it (SESS-2). Nothing is written before a model is
// asked, as that would cost a sync for each answer; so it is judged by what must have come first.

import { callsIn } from '../models/message.ts'
import { isSaid } from './conversation/arrivals.ts'
import type { KeptMessage } from './conversation/history.ts'
import type { Scope, TurnHost } from './ports.ts'
import { callsOnRecord } from './conversation/repair-results.ts'

/** `last`: what is last on record of the turn. */
export async function mayHaveAsked(host: TurnHost, of: Scope, last: KeptMessage | undefined): Promise<boolean> {
  if (last?.message.role !== 'assistant' || callsIn(last.message).length === 0) return true
  // It does not wait for calls when the user says something.
  if (await isSaid(host, of)) return true
  const calls = await callsOnRecord(host, of, last)
  if (calls[0] === undefined) return false
  for (const call of calls) {
    // Those behind the last that are taken at once are never on record; for those that went on in the background it does not wait.
    if (call && call.state !== 'settled' && !(await host.inBackground(of, call.uid))) return false
  }
  return true
}
