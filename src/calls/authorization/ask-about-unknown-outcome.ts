// Unknown outcomes of tools with `onUnknown: 'ask'`: a person finds out what the interrupted attempt did and answers
// with the result (answer), lets the call run again (approve), or leaves the outcome unknown (deny). If the request
// expires, the outcome stays unknown.

import type { ApprovalWait, Driven, Execution, ToSettle } from '../../engine/engine.ts'
import type { AskTerms } from '../../store/records/approval-wait-terms.ts'
import { type DecisionRecord, decisionOf, unknownOf } from '../../store/records/approval-request.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { type CombinedApprovalTerms, combineTerms } from '../../policy/evaluate.ts'
import { approvalFingerprint } from '../../policy/approval-fingerprint.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import type { StageContext } from '../run-host-callback.ts'
import { complete } from '../attempts/complete-call.ts'
import { buildInboxItem } from './inbox-item.ts'
import { evaluatePolicy } from './check-policy.ts'
import { previewOf } from './approval-preview.ts'
import { waitNames } from '../../store/journal-keys.ts'

/** Long, because finding out may need research. */
const deadlineMs = 7 * 24 * 60 * 60_000

/** One wait for each attempt with an unknown outcome. */
type Unknown = Extract<Outcome, { status: 'unknown' }>

/** True if the outcome is unknown and a person can be asked about it. */
export const shouldAskAboutUnknown = ({ execution, tool }: StageContext, { settle }: ToSettle): boolean =>
  settle.status === 'unknown' && tool.onUnknown === 'ask' && !execution.options.unattended && !execution.stopped

/** Returns the result; if its outcome is unknown, asks a person what happened and returns that wait instead. */
export const askIfUnknown = (stage: StageContext, input: ValidatedInput, result: ToSettle): MaybePromise<Driven> =>
  shouldAskAboutUnknown(stage, result) ? requestFinding(stage, input, result.settle as Unknown) : result

async function requestFinding(stage: StageContext, input: ValidatedInput, { unknown }: Unknown): Promise<Driven> {
  const { execution, tool } = stage
  const { request, attempt } = execution
  const { message, startedAt, evidence } = unknown
  const fingerprint = approvalFingerprint({
    tenant: request.position.tenant,
    call: request.uid,
    tool: tool.fingerprint,
    args: input.text,
  })
  // A `once` step that has begun is never run again, so running the body again cannot help.
  const final = typeof evidence === 'object' && evidence !== null && 'step' in evidence ? { final: true as const } : {}
  const preview = await previewOf(stage, input)
  const { item, terms } = await buildInboxItem(
    stage,
    input,
    { kind: 'finding', reason: message, of: await decidersOf(stage, input), fingerprint },
    {
      interrupted: { attempt, startedAt },
      preview: { ...preview, summary: `Find out whether this took effect: ${preview.summary}` },
      ...final,
    },
    { ...final, unknown: JSON.stringify(unknown) },
  )
  return { park: await execution.openWait({ name: waitNames.finding(attempt), deadlineMs, terms, item }) }
}

/** Letting the call run again needs the same approvers and quorum as running it the first time. */
async function decidersOf(stage: StageContext, input: ValidatedInput): Promise<CombinedApprovalTerms> {
  const decision = await evaluatePolicy(stage, input.copy().args)
  return ('effect' in decision ? decision.asking : undefined) ?? combineTerms([])
}

/** A call that was cancelled while its outcome was being investigated ends as unknown, not as cancelled. */
export function keepUnknown({ approvals, attempt }: Execution, end: ToSettle): ToSettle {
  const wait = attempt > 0 && approvals.any ? approvals.find(waitNames.finding(attempt)) : null
  if (!wait || decisionOf(wait.resolution)?.decision === 'answer') return end
  return { settle: { status: 'unknown', unknown: unknownOf(wait.asks) } }
}

/** The end according to the finding about the last attempt. Null: there was no request, or the body may run again. */
export function readFinding(stage: StageContext, input: ValidatedInput): MaybePromise<Driven | null> {
  const { execution } = stage
  const wait = execution.approvals.find(waitNames.finding(execution.attempt))
  return wait ? applyFinding(stage, input, wait) : null
}

async function applyFinding(
  stage: StageContext,
  input: ValidatedInput,
  { asks, resolution }: ApprovalWait,
): Promise<Driven | null> {
  const { execution } = stage
  // The worker died after opening the wait and before parking.
  if (resolution === null)
    return { park: await execution.openWait({ name: waitNames.finding(execution.attempt), deadlineMs, terms: {} }) }
  const decided = decisionOf(resolution)
  if (decided?.decision === 'approve') return null
  if (decided?.decision === 'answer')
    return complete(stage, input, { settle: { status: 'success', value: decided.value } })
  return staysUnknown(asks, decided)
}

function staysUnknown(asks: AskTerms, decided: DecisionRecord | null): ToSettle {
  const unknown = unknownOf(asks)
  const { by, reason } = decided?.votes.at(-1) ?? {}
  if (by === undefined) return { settle: { status: 'unknown', unknown } }
  const message = `${unknown.message} A person looked and could not tell${reason === undefined ? '.' : `: ${reason}`}`
  return { settle: { status: 'unknown', unknown: { ...unknown, message } } }
}

/** The unknown end if the request was denied or expired. Null: there was no request, or it was answered or approved. */
export function unresolvedFinding({ approvals, attempt }: Execution): ToSettle | null {
  const wait = attempt > 0 ? approvals.find(waitNames.finding(attempt)) : null
  if (!wait?.resolution || 'cancelled' in wait.resolution) return null
  const decided = decisionOf(wait.resolution)
  return decided === null || decided.decision === 'deny' ? staysUnknown(wait.asks, decided) : null
}
