// What to do with a call whose worker died over its body (DUR-3): decided from the recorded state and the live definition.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import type { Interruption } from '../../store/records/call-record.ts'
import { fail, type Failure, failure, type Outcome, ToolFailure } from '../../core/outcome.ts'
import { encode, type Json } from '../../core/value.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { type OnCrash, onCrashOf } from '../../tools/hints.ts'
import { successOf } from '../../tools/result.ts'
import type { ReconcileResult, Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from './validated-input.ts'
import { type Asking, Unanswered } from '../host-callback.ts'
import { askInContext } from '../context/callback-context.ts'
import { finish } from '../attempts/complete.ts'
import { movedGoesOn } from '../task-execution/moved-to-background.ts'
import { settleThrown } from '../attempts/error-to-outcome.ts'
import { notStarted } from '../attempts/stop-outcome.ts'
import { runOf } from '../task-execution/task-run.ts'

export type Move = 'start' | 'rerun' | 'reconcile' | 'unknown'

/** The table: an interrupted body runs again only if the tool says it may. */
export function moveAfter(interrupted: Interruption | null, onCrash: OnCrash, canReconcile: boolean): Move {
  if (!interrupted) return 'start'
  if (onCrash === 'rerun') return 'rerun'
  return canReconcile ? 'reconcile' : 'unknown'
}

/** What rests is given more patience: a worker that died meanwhile need not have died of it. */
const patienceAtRest = 10

/** DUR-8: over this call too many workers have died. Null while it may be tried again. */
export function poisoned({ execution, host, tool }: Asking): ToSettle | null {
  const { deaths, interrupted, landed, attempt } = execution
  if (deaths < host.poisonAfter) return null
  if (deaths < host.poisonAfter * patienceAtRest && !landed && execution.resting) return null
  const evidence = { deaths, attempt, startedAt: interrupted?.startedAt ?? null }
  host.logger.error('A call is not run again: too many workers died over it', {
    call: execution.request.uid,
    tool: tool.name,
    ...evidence,
  })
  // Of one that must not run twice nobody knows what it did.
  if (interrupted && onCrashNow(execution, tool) === 'stop') return { settle: unknownOutcome(interrupted, deaths) }
  const message = `${deaths} workers stopped while they ran this tool, so it is not run again. What it did until then is not undone. Tell an operator.`
  return { settle: failure({ class: 'internal', code: 'poisoned', message, raw: evidence }) }
}

/** Null when the body is to run (first or again); else how the call ends without it. */
export function afterInterruption(asking: Asking, accepted: ValidatedInput): MaybePromise<ToSettle | null> {
  const { execution, tool } = asking
  const { interrupted } = execution
  if (!interrupted) return null
  switch (moveAfter(interrupted, onCrashNow(execution, tool), tool.reconcile !== undefined)) {
    case 'start':
      return null
    case 'rerun':
      return pause(asking, interrupted)
    case 'unknown':
      return { settle: unknownOutcome(interrupted) }
    case 'reconcile':
      return reconcile(asking, accepted, interrupted)
  }
}

/** A task that lost its worker does not run into the next one at once (TASK-6). */
async function pause({ execution, host, tool }: Asking, { attempt }: Interruption): Promise<ToSettle | null> {
  const { deaths, options } = execution
  if (!options.task && !(tool.background && (await movedGoesOn(execution, host, attempt + 1)))) return null
  const ms = Math.min(longestPauseMs, firstPauseMs * 2 ** (Math.max(1, deaths) - 1))
  const stop = new AbortController()
  const forget = execution.onStop(() => stop.abort())
  execution.attached.rests()
  const run = runOf(execution)
  run?.status(`Goes on after a lost worker (attempt ${attempt + 1})`)
  if (run?.terms.wake === 'on_activity') run.tell('lost', `It goes on where it was (attempt ${attempt + 1}).`)
  run?.gather()
  try {
    await execution.sleep(`sleep:recovery:${attempt}`, ms, stop.signal)
    if (deaths >= host.poisonAfter - 1) await host.queue.lastChances.enter(execution.request.uid, stop.signal)
    return null
  } catch (error) {
    if (!execution.stopped) throw error
    return notStarted(execution.stopped, true)
  } finally {
    forget()
  }
}

const firstPauseMs = 1_000
/** It was a lease, too, until anybody knew. */
const longestPauseMs = 8_000

/** The stricter of what the tool was and what it is wins (CALL-7). */
const onCrashNow = (execution: Execution, tool: Tool): OnCrash =>
  execution.terms?.onCrash === 'stop' ? 'stop' : onCrashOf(tool)

async function reconcile(
  asking: Asking,
  accepted: ValidatedInput,
  interrupted: Interruption,
): Promise<ToSettle | null> {
  const { execution, tool, host } = asking
  const look = tool.reconcile as (
    input: Json,
    ctx: unknown,
  ) => ReconcileResult<unknown> | Promise<ReconcileResult<unknown>>
  let found: Outcome
  try {
    // Arguments of its own: a body that runs after all gets them as they are on record.
    const finding = await askInContext('reconcile', asking, (ctx) => look(accepted.anew().args, ctx))
    if (finding === undefined || finding === null) return { settle: unknownOutcome(interrupted) }
    if ('rerun' in finding) return null
    if (!('value' in finding)) throw declaredBy(finding.failure)
    found = successOf(finding.value)
    encode(found)
  } catch (error) {
    if (error instanceof Unanswered && typeof error.why === 'object' && 'over' in error.why) throw error.why.over
    const settled = settleThrown(error, execution, host)
    // It could not find out: then nobody knows. Only what it declares with fail() is a finding.
    if (!(error instanceof ToolFailure)) return { settle: unknownOutcome(interrupted) }
    found = settled
  }
  return finish(asking, accepted, { settle: found })
}

/** A failure that it found, with what it did not say. */
function declaredBy({ message, retry, ...options }: Partial<Failure> & { message: string }): ToolFailure {
  const { failure } = fail(message, options)
  return new ToolFailure({ ...failure, ...(retry === undefined ? {} : { retry }) })
}

function unknownOutcome({ attempt, startedAt }: Interruption, deaths?: number): Outcome {
  const message =
    'The worker stopped while this tool was running, so it is not known whether it took effect. It was not run again. Check before asking for it again.'
  return { status: 'unknown', unknown: { message, startedAt, evidence: { attempt, ...(deaths && { deaths }) } } }
}
