// Last checks of a result before it is settled, whether it comes from the body, a wait, prepare or reconcile.

import type { ToSettle, Execution } from '../../engine/engine.ts'
import { chain, type MaybePromise, chainCatch } from '../../core/maybe-promise.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import { type StageContext, runCallback, CallbackAbandoned } from '../run-host-callback.ts'
import { runAfterHooks } from '../admission/run-hooks.ts'
import { failure, internalErrorMessage, type Outcome } from '../../core/outcome.ts'
import { decode, encode } from '../../core/tool-value.ts'
import type { CheckResult } from '../../tools/schema.ts'
import { recordDiagnostics } from '../record-diagnostics.ts'
import { utf8Bytes, fits, truncateToBytes } from '../../core/size-limits.ts'
import { formatCount } from '../output/text-size.ts'
import type { CallHost } from '../ports.ts'

/** Runs after hooks, validates the output and limits its size. */
export function complete(stage: StageContext, input: ValidatedInput, result: ToSettle): MaybePromise<ToSettle> {
  const { execution, tool, host } = stage
  const { cost } = result.settle
  if (host.hooks.length === 0 && !tool.output) return withCost(limitOutcomeSize(result, execution, host), cost)
  const hooked = runAfterHooks(stage, input, result)
  const finish = (outcome: ToSettle): ToSettle => withCost(limitOutcomeSize(outcome, execution, host), cost)
  return chain(chain(hooked, checkOutput, stage), finish)
}

/** Adds a note for the model about what people changed. */
export const withNote = (result: ToSettle, note: string | undefined): ToSettle =>
  note === undefined ? result : { settle: { ...result.settle, note } }

/** Restores the cost that the tool declared; after hooks and the output check cannot change it. */
export const withCost = (result: ToSettle, cost: number | undefined): ToSettle =>
  cost === undefined || result.settle.cost === cost ? result : { settle: { ...result.settle, cost } }

/**
 * A result that does not match the output schema is an internal failure of the tool, not a mistake of the model. The
 * same applies to a schema that throws or does not return in time.
 */
function checkOutput(given: ToSettle, stage: StageContext): MaybePromise<ToSettle> {
  const { output } = stage.tool
  const { settle: outcome } = given
  if (outcome.status !== 'success' || !output) return given
  const toOutcome = (found: CheckResult): ToSettle =>
    found.ok
      ? given
      : invalidOutput(stage, 'A tool returned something its output schema does not allow', { problems: found.problems })
  const failed = (error: unknown): ToSettle => {
    // The lease or the store was lost: this worker must not settle the call.
    if (error instanceof CallbackAbandoned && typeof error.reason === 'object' && 'over' in error.reason)
      throw error.reason.over
    return invalidOutput(
      stage,
      error instanceof CallbackAbandoned ? 'An output schema did not answer' : 'An output schema threw',
      { error },
    )
  }
  const check = (): MaybePromise<CheckResult> => output.check(decode(encode(outcome.value)))
  return chainCatch(() => chain(runCallback('An output schema', stage, check), toOutcome), failed)
}

function invalidOutput({ execution, tool, host }: StageContext, what: string, more: object): ToSettle {
  host.logger.error(what, { tool: tool.name, callId: execution.callId, ...more })
  recordDiagnostics(what, 'error' in more ? more.error : more, execution, host)
  return { settle: failure({ class: 'internal', code: 'invalid_output', message: internalErrorMessage }) }
}

/**
 * Limits the size of an outcome before it is recorded: an oversized success becomes a failure, other outcomes are
 * shortened. Called for every outcome, whether it comes from the body, a hook or a person.
 * Returns it with its recorded form, which is encoded once and reused for the commit.
 */
export function limitOutcomeSize(given: ToSettle, execution: Execution, host: CallHost): ToSettle {
  const text = given.text ?? recordedForm(given.settle)
  const most = host.sizes.result
  if (text === null) return given
  if (fits(text, most)) return given.text === undefined ? { settle: given.settle, text } : given
  const bytes = utf8Bytes(text)
  host.logger.error(
    'The outcome of a tool exceeds sizes.result. Return less, or store it with ctx.attachments.create',
    {
      tool: execution.options.name ?? execution.request.tool,
      callId: execution.callId,
      bytes,
      most,
    },
  )
  return { settle: oversizedOutcome(given.settle, bytes, most) }
}

function oversizedOutcome(outcome: Outcome, bytes: number, most: number): Outcome {
  if (outcome.status !== 'success') return shortened(outcome, most)
  const message =
    `The tool ran, but its result is too large to keep (${formatCount(bytes)} bytes; at most ${formatCount(most)}). ` +
    'Ask for less at once: a page, a range, a narrower question. (A tool that must return this much keeps it with ctx.attachments.create.)'
  return failure({ class: 'resource_limit', code: 'result_too_large', message })
}

/** Null if the outcome cannot be encoded; the engine reports that when it settles the call. */
function recordedForm(outcome: Outcome): string | null {
  try {
    return encode(outcome)
  } catch {
    return null
  }
}

/** Keeps the status: shortens the message and drops `raw` and `evidence`. */
function shortened(outcome: Exclude<Outcome, { status: 'success' }>, most: number): Outcome {
  // JSON escaping can multiply the bytes of a character by six.
  const short = (text: string): string => `${truncateToBytes(text, Math.floor(most / 8))} […]`
  switch (outcome.status) {
    case 'failure': {
      const { raw: _, ...about } = outcome.failure
      return {
        status: 'failure',
        failure: { ...about, code: truncateToBytes(about.code, 200), message: short(about.message) },
      }
    }
    case 'cancelled': {
      const { raw: _, ...about } = outcome.cancellation
      return { status: 'cancelled', cancellation: { ...about, message: short(about.message) } }
    }
    case 'unknown':
      return {
        status: 'unknown',
        unknown: { ...outcome.unknown, message: short(outcome.unknown.message), evidence: null },
      }
  }
}
