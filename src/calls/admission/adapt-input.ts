// Adapts the recorded arguments of a call to the current input schema, if a deploy changed the schema without changing
// the version (decision 0038). The body sees only arguments that the current schema accepts, or it does not run.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import { encode, type Json } from '../../core/tool-value.ts'
import { schemaDigest } from '../../tools/schema-digest.ts'
import { keepUnknown } from '../authorization/ask-about-unknown-outcome.ts'
import { limitOutcomeSize } from '../attempts/complete-call.ts'
import type { CallRun } from '../call-run.ts'
import { type CallJournal, changedArguments, hasUnusedDecision } from './input-form.ts'
import { RecordedInput } from './read-arguments.ts'
import { strictestOnCrash, unknownOutcome } from './recover-after-crash.ts'
import { checkSchema, isInvalid, isSchemaChanged, parseInput, toolChanged } from './validate-input.ts'

/**
 * Null if the call continues. If the schema has changed, the arguments are validated in input form, and the body gets
 * what the current schema makes of them. That is recorded, so it happens once per change.
 */
export function adaptInput(run: CallRun): Promise<ToSettle | null> | null {
  const { execution, tool, verdict } = run
  // Arguments of a call that was started here are validated by the current schema.
  if (!execution.claimed || verdict) return null
  // With another version, `upgrade` has converted them and the current schema has accepted the result.
  if (execution.terms?.version !== tool.version || !isSchemaChanged(run)) return null
  const journal = journalOf(execution)
  return hasUnusedDecision(journal) ? null : validateAgain(run, journal)
}

async function validateAgain(run: CallRun, journal: CallJournal): Promise<ToSettle | null> {
  const { execution, tool, input } = run
  const asked = inputForm(run, journal)
  const checked = 'settle' in asked ? asked : await checkSchema(run, asked.input)
  if (!('settle' in checked)) {
    execution.approvals.amend(checked.wire, { schema: schemaDigest(tool.input) })
    run.input = new RecordedInput(checked.wire, encode(input.prepared))
    return null
  }
  const { interrupted, stopped } = execution
  // The body may have taken effect: "changed" would wrongly say that it did not.
  if (interrupted && strictestOnCrash(execution, tool) === 'stop') run.verdict = { settle: unknownOutcome(interrupted) }
  else if (!stopped)
    return isInvalid(checked)
      ? keepUnknown(execution, toolChanged(execution))
      : limitOutcomeSize(checked, execution, run.host)
  return null
}

function inputForm(run: CallRun, journal: CallJournal): { input: Json } | ToSettle {
  const input = changedArguments(journal)
  return input === undefined ? parseInput(run) : { input }
}

const journalOf = (execution: Execution): CallJournal => ({
  edited: execution.terms?.edited ?? 0,
  attempt: execution.attempt,
  stepValue(key) {
    const end = execution.recordedStep(key)
    return end && 'done' in end ? end.done : null
  },
  answer: (wait) => execution.approvals.find(wait)?.resolution ?? null,
})
