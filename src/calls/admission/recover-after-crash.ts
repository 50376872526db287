// Decides what happens to a call whose worker died during its body, from the recorded state and the current tool
// definition.

import { backoffMs } from '../../core/backoff.ts'
import type { Execution, ToSettle } from '../../engine/engine.ts'
import type { Interruption } from '../../store/records/call-record.ts'
import { fail, type Failure, failure, type Outcome, ToolFailure } from '../../core/outcome.ts'
import { encode, type Json } from '../../core/tool-value.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { type OnCrash, onCrashOf } from '../../tools/tool-hints.ts'
import { successOf } from '../../tools/result.ts'
import type { ReconcileResult, Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from './read-arguments.ts'
import { type StageContext, CallbackAbandoned } from '../run-host-callback.ts'
import { runCallbackInContext } from '../context/context-for-callbacks.ts'
import { complete } from '../attempts/complete-call.ts'
import { noteMovedRecovery } from '../task-execution/notice-of-moved-call.ts'
import { outcomeOfThrown } from '../attempts/error-to-outcome.ts'
import { notStarted } from '../attempts/outcome-when-stopped.ts'
import { reporterOf } from '../task-execution/task-run.ts'
import { logFieldsOf } from '../log-fields.ts'
import { stepKeys } from '../../store/journal-keys.ts'

export type RecoveryAction = 'start' | 'rerun' | 'reconcile' | 'unknown'

/** An interrupted body runs again only if the tool allows it. */
export function recoveryAction(
  interrupted: Interruption | null,
  onCrash: OnCrash,
  canReconcile: boolean,
): RecoveryAction {
  if (!interrupted) return 'start'
  if (onCrash === 'rerun') return 'rerun'
  return canReconcile ? 'reconcile' : 'unknown'
}

/** A call that waits or sleeps survives this many times more worker deaths, because it probably did not cause them. */
const restingDeathFactor = 10

/** The outcome of a poisoned call: too many workers died while running it. Null if it may still run. */
export function checkPoisoned({ execution, host, tool }: StageContext): ToSettle | null {
  const { deaths, interrupted, landed, attempt } = execution
  if (deaths < host.poisonAfter * restingDeathFactor && !landed && execution.isSuspended) return null
  const evidence = { deaths, attempt, startedAt: interrupted?.startedAt ?? null }
  host.logger.error('Call poisoned: too many workers died while running it. It will not run again', {
    ...logFieldsOf(execution, tool),
    ...evidence,
  })
  // The body must not run twice, so its effect is unknown.
  if (interrupted && strictestOnCrash(execution, tool) === 'stop')
    return { settle: unknownOutcome(interrupted, deaths) }
  const message = `${deaths} workers stopped while they ran this tool, so it is not run again. What it did until then is not undone. Tell an operator.`
  return { settle: failure({ class: 'internal', code: 'poisoned', message, raw: evidence }) }
}

/** Null if the body must run, for the first time or again; otherwise the end of the call without running it. */
export function recoverInterrupted(stage: StageContext, input: ValidatedInput): MaybePromise<ToSettle | null> {
  const { execution, tool, host } = stage
  const { interrupted, interruptions, lostWorker } = execution
  if (!interrupted) return null
  const action = recoveryAction(interrupted, strictestOnCrash(execution, tool), tool.reconcile !== undefined)
  // A worker that closed has handed the call over; it did not die. Deaths are logged even if they do not count against
  // the call.
  if (lostWorker && interruptions > 0) {
    const fields = { ...logFieldsOf(execution, tool), action, deaths: interruptions }
    host.logger.warn('A call continues after its worker died', fields)
  }
  switch (action) {
    case 'start':
      return null
    case 'rerun':
      return rerun(stage, interrupted)
    case 'unknown':
      return { settle: unknownOutcome(interrupted) }
    case 'reconcile':
      return reconcile(stage, input, interrupted)
  }
}

async function rerun(stage: StageContext, interrupted: Interruption): Promise<ToSettle | null> {
  const end = await backOffAfterCrash(stage, interrupted)
  if (!end) await stage.execution.awaitTrial(stage.host.poisonAfter)
  return end
}

/** Runs host code without the body. If a worker died before, the next death during it counts against the call. */
export const runAtRiskAgain = <T>(execution: Execution, run: () => MaybePromise<T>): MaybePromise<T> =>
  execution.interruptions > 0 ? execution.runAtRisk(async () => run()) : run()

/** A task, or a call moved to the background, waits before it runs again after a worker death. */
async function backOffAfterCrash(
  { execution, host, tool }: StageContext,
  { attempt }: Interruption,
): Promise<ToSettle | null> {
  const { interruptions, options } = execution
  if (!options.task && !(tool.background && (await noteMovedRecovery(execution, host, attempt + 1)))) return null
  const ms = backoffMs(Math.max(1, interruptions) - 1, minBackoffMs, maxBackoffMs)
  const stop = new AbortController()
  const offStop = execution.onStop(() => stop.abort())
  const run = reporterOf(execution)
  run?.status(`Goes on after a lost worker (attempt ${attempt + 1})`)
  if (run?.terms.wake === 'on_activity')
    run.addNotice('lost', `It continues where it stopped (attempt ${attempt + 1}).`)
  run?.attachPending()
  try {
    await execution.sleep(stepKeys.recoverySleep(attempt), ms, stop.signal)
    return null
  } catch (error) {
    if (!execution.stopped) throw error
    return notStarted(execution.stopped, true)
  } finally {
    offStop()
  }
}

const minBackoffMs = 1_000
/** Short, because the lease of the dead worker had to expire first. */
const maxBackoffMs = 8_000

/** The stricter of the recorded and the current definition. */
export const strictestOnCrash = (execution: Execution, tool: Tool): OnCrash =>
  execution.terms?.onCrash === 'stop' ? 'stop' : onCrashOf(tool)

async function reconcile(
  stage: StageContext,
  input: ValidatedInput,
  interrupted: Interruption,
): Promise<ToSettle | null> {
  const { execution, tool, host } = stage
  await execution.awaitTrial(host.poisonAfter)
  const reconcileTool = tool.reconcile as (
    input: Json,
    ctx: unknown,
  ) => ReconcileResult<unknown> | Promise<ReconcileResult<unknown>>
  let outcome: Outcome
  try {
    // A copy: if the body runs after all, it gets the arguments as recorded.
    const result = await runAtRiskAgain(execution, () =>
      runCallbackInContext('reconcile', stage, (ctx) => reconcileTool(input.copy().args, ctx)),
    )
    if (result === undefined || result === null) return { settle: unknownOutcome(interrupted) }
    if ('rerun' in result) return null
    if (!('value' in result)) throw toToolFailure(result.failure)
    outcome = successOf(result.value)
    encode(outcome)
  } catch (error) {
    if (error instanceof CallbackAbandoned && typeof error.reason === 'object' && 'over' in error.reason)
      throw error.reason.over
    const thrown = outcomeOfThrown(error, execution, host)
    // An unexpected error of `reconcile` leaves the outcome unknown. Only fail() declares a failure.
    if (!(error instanceof ToolFailure)) return { settle: unknownOutcome(interrupted) }
    outcome = thrown
  }
  return complete(stage, input, { settle: outcome })
}

/** The failure that `reconcile` returned, completed with defaults. */
function toToolFailure({ message, retry, ...options }: Partial<Failure> & { message: string }): ToolFailure {
  const { failure } = fail(message, options)
  return new ToolFailure({ ...failure, ...(retry === undefined ? {} : { retry }) })
}

export function unknownOutcome({ attempt, startedAt }: Interruption, deaths?: number): Outcome {
  const message =
    'The worker stopped while this tool was running, so it is not known whether it took effect. It was not run again. Check before asking for it again.'
  return { status: 'unknown', unknown: { message, startedAt, evidence: { attempt, ...(deaths && { deaths }) } } }
}
