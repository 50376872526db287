// The stages before the body, in order. A stage returns the end of the call, or null if the call continues; what later
// stages need is stored on the run. All are synchronous unless they have to wait.

import type { Driven, ToSettle } from '../../engine/engine.ts'
import { chain, type MaybePromise } from '../../core/maybe-promise.ts'
import { failure } from '../../core/outcome.ts'
import { isUnanswered } from '../../store/records/approval-request.ts'
import { outcomeOf } from '../../store/records/wait-resolution.ts'
import { approvalEnd, noteOfEdit, type Permit } from '../authorization/approval-request.ts'
import {
  askIfUnknown,
  keepUnknown,
  readFinding,
  shouldAskAboutUnknown,
  unresolvedFinding,
} from '../authorization/ask-about-unknown-outcome.ts'
import { checkPolicy, isAllowedByDefault } from '../authorization/check-policy.ts'
import { connectionDecision } from '../authorization/request-connection.ts'
import { checkCallBudget } from '../authorization/check-budget.ts'
import { complete, limitOutcomeSize, withNote } from '../attempts/complete-call.ts'
import { isPastDeadline } from '../attempts/attempt-timeouts.ts'
import { notStarted } from '../attempts/outcome-when-stopped.ts'
import type { CallRun } from '../call-run.ts'
import { awaitPredecessors, markAwayBeforeSlot } from '../scheduling/enter-queue.ts'
import { emittedEnd } from '../context/emit-event.ts'
import { adaptInput } from './adapt-input.ts'
import type { ValidatedInput } from './read-arguments.ts'
import { checkPoisoned, recoverInterrupted, runAtRiskAgain } from './recover-after-crash.ts'
import { resolveTool, type ResolvedTool, toolForRun } from './resolve-tool.ts'
import { validateInput } from './validate-input.ts'

type StageEnd = MaybePromise<Driven | null>
type Stage = (run: CallRun) => StageEnd

export const admissionStages: readonly Stage[] = [
  endIfCancelled, // cancelled before the body began: it never runs
  applyPriorDecision, // a person denied it, or the request expired
  limitNesting, // bodies call bodies; each level needs memory and stack
  findTool,
  detectPoison, // too many workers died while running it
  awaitTrial, // several workers died while running it: no other suspect runs beside it
  checkInput, // before hooks, schema, prepare; or the recorded input
  applyEmittedEnd, // the task emitted its end and then its worker died
  applyAnswer, // the wait that the call parked on has been answered
  awaitPredecessors, // a task may have to wait for other tasks
  adaptInput, // the input schema has changed: the recorded arguments must fit the new one
  recover, // the worker died during the body: run it again, reconcile, or end as unknown
  requestPermission, // decisions by people so far, then the policy, then an approval request
  countCall, // budgets
]

/** Runs the stages until one ends the call and returns that end; null if the body may run. */
export function firstEnd(stages: readonly Stage[], run: CallRun, from = 0): StageEnd {
  for (let at = from; at < stages.length; at++) {
    const end = (stages[at] as Stage)(run)
    if (end instanceof Promise) return end.then((found) => found ?? firstEnd(stages, run, at + 1))
    if (end) return end
  }
  return null
}

function endIfCancelled({ execution }: CallRun): ToSettle | null {
  const { stopped, interrupted, landed } = execution
  return stopped && !interrupted && !landed ? keepUnknown(execution, notStarted(stopped)) : null
}

/** Before the tool is resolved: the decision holds even if the tool is gone. */
function applyPriorDecision({ execution }: CallRun): ToSettle | null {
  if (!execution.claimed || !execution.approvals.any) return null
  return approvalEnd(execution) ?? unresolvedFinding(execution)
}

/** Each nested body starts on the stack of its parent, so endless recursion would overflow it. */
function limitNesting({ execution, host }: CallRun): ToSettle | null {
  const { root, above } = execution.options
  if (root === undefined) return null
  const depth = 1 + (above?.length ?? 0)
  const { nesting: limit } = host.sizes
  // The limit may have been lowered since the body began.
  if (depth <= limit || execution.attempt > 0 || execution.interrupted || execution.landed) return null
  const message = `The call is nested ${depth} levels deep; the limit is ${limit}. It was not run. Check whether a tool calls itself without an end.`
  return { settle: failure({ class: 'resource_limit', code: 'nested_too_deep', message }) }
}

function findTool(run: CallRun): StageEnd {
  return chain(resolveTool(run.execution, run.host), useTool, run)
}

function useTool(resolved: ResolvedTool, run: CallRun): ToSettle | null {
  const found = 'settle' in resolved ? resolved : toolForRun(resolved.tool, run.execution)
  if ('settle' in found) return found
  run.tool = found
  return null
}

function detectPoison(run: CallRun): ToSettle | null {
  if (run.execution.deaths < run.host.poisonAfter) return null
  run.verdict = checkPoisoned(run)
  return run.verdict && !shouldAskAboutUnknown(run, run.verdict) ? run.verdict : null
}

/** An interrupted call waits in `recover`, after its backoff. */
function awaitTrial({ execution, host, verdict }: CallRun): StageEnd {
  if (verdict || execution.interruptions === 0 || execution.interrupted) return null
  return chain(execution.awaitTrial(host.poisonAfter), () => null)
}

function checkInput(run: CallRun): StageEnd {
  return chain(validateInput(run), useInput, run)
}

function useInput(validated: ValidatedInput | ToSettle, run: CallRun): ToSettle | null {
  if ('settle' in validated) return limitOutcomeSize(validated, run.execution, run.host)
  run.input = validated
  return null
}

function applyEmittedEnd(run: CallRun): StageEnd {
  const emitted = run.execution.options.task ? emittedEnd(run.execution) : null
  return emitted && complete(run, run.input, emitted)
}

function applyAnswer(run: CallRun): StageEnd {
  const { landed } = run.execution
  if (!landed) return null
  // A question expired because the call reached its own deadline.
  if (isUnanswered(landed) && isPastDeadline(run.execution, run.host)) return notStarted('total')
  const completed = runAtRiskAgain(run.execution, () => complete(run, run.input, { settle: outcomeOf(landed) }))
  return chain(completed, (end) => withNote(end, noteOfEdit(run, run.input)))
}

function recover(run: CallRun): StageEnd {
  return run.verdict || !run.execution.interrupted ? null : chain(recoverInterrupted(run, run.input), keepVerdict, run)
}

/** Not an end yet: the next stage may ask a person about an unknown outcome. */
function keepVerdict(recovered: ToSettle | null, run: CallRun): null {
  run.verdict = recovered
  return null
}

function requestPermission(run: CallRun): StageEnd {
  // Only a claimed call can have been interrupted or have an earlier request.
  const isNew = !run.verdict && !run.execution.claimed
  if (isNew && isAllowedByDefault(run)) return null
  return chain(isNew ? permitByPolicy(run) : permitRecovered(run), usePermit, run)
}

/** Do not request approval for a stopped call: the attempt loop ends it. */
const permitByPolicy = (run: CallRun): MaybePromise<Permit> =>
  run.execution.stopped ? { input: run.input } : checkPolicy(run, run.input)

async function permitRecovered(run: CallRun): Promise<Permit> {
  const { input, verdict } = run
  const connection = await connectionDecision(run)
  const end = connection ?? (verdict ? await askIfUnknown(run, input, verdict) : await readFinding(run, input))
  // A policy rarely kills a worker, so the first recovery does not pay for the write.
  if (!end && run.execution.interruptions > 1) return runAtRiskAgain(run.execution, () => permitByPolicy(run))
  if (!end) return permitByPolicy(run)
  return 'park' in end ? end : withNote(end, noteOfEdit(run, input))
}

function usePermit(permit: Permit, run: CallRun): Driven | null {
  if ('park' in permit) markAwayBeforeSlot(run) // a call that waits for people leaves the batch order
  if ('park' in permit || 'settle' in permit) return permit
  run.input = permit.input
  run.note = permit.note
  return null
}

function countCall(run: CallRun): StageEnd {
  return run.execution.stopped || run.host.budgets.length === 0 ? null : checkCallBudget(run)
}
