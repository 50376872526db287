// The recorded arguments of a call in input form: what the schema received, not what it returned. A changed schema
// validates this form, because its own output may not be valid input (a transform). Used by adapt-input.ts and, for
// calls that are not being executed, by maintenance/deploy-check.ts.

import { type DecisionRecord, decisionOf } from '../../store/records/approval-request.ts'
import type { Resolution } from '../../store/records/call-record.ts'
import { stepKeys, waitNames } from '../../store/journal-keys.ts'
import { decode, type Json } from '../../core/tool-value.ts'
import { replacedArguments } from './run-hooks.ts'

/** What is recorded with a call, by name. */
export interface CallJournal {
  /** Number of the last approval whose edits are in the arguments; 0 if there are none. */
  readonly edited: number
  /** Number of attempts that have started. */
  readonly attempt: number
  /** The recorded value of a step. */
  stepValue(key: string): string | null
  /** The answer to a wait; null if there is no such wait or it is open. */
  answer(wait: string): Resolution | null
}

/** The arguments as `prepare`, a hook or a person changed them; undefined if none did, so those of the request apply. */
export function changedArguments(journal: CallJournal): Json | undefined {
  const { edited } = journal
  const suffix = edited === 0 ? '' : stepKeys.editSuffix(edited)
  const prepared = journal.stepValue(stepKeys.prepare + suffix)
  const fromPrepare = prepared === null ? undefined : (decode(prepared) as { input?: Json } | null)?.input
  if (fromPrepare !== undefined) return fromPrepare
  const hooked = journal.stepValue(stepKeys.beforeHooks + suffix)
  const fromHook = hooked === null ? undefined : replacedArguments(hooked)
  if (fromHook !== undefined) return fromHook
  const decided = edited === 0 ? null : approvalDecision(journal, edited)
  return decided?.decision === 'edit' ? decided.input : undefined
}

/** A person edited the arguments or answered in place of the tool, and the call has not used that yet. */
export function hasUnusedDecision(journal: CallJournal): boolean {
  if (decisionOf(journal.answer(waitNames.finding(journal.attempt)))?.decision === 'answer') return true
  for (let number = journal.edited + 1; journal.answer(waitNames.approval(number)); number++) {
    const decision = approvalDecision(journal, number)?.decision
    if (decision === 'edit' || decision === 'answer') return true
  }
  return false
}

const approvalDecision = (journal: CallJournal, number: number): DecisionRecord | null =>
  decisionOf(journal.answer(waitNames.approval(number)))
