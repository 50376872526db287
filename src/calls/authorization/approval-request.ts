// Approval requests. A call that needs approval opens a wait, bound to the fingerprint of exactly what would run, and
// parks. A parked call is only a row in the store, its timeouts are stopped, and any worker can resume it here after
// the decision.
//
// An approval counts only for the same fingerprint and only if it satisfies the current policy; otherwise a new request
// is opened under the next number. A denial, an answer or an expired request ends the call whatever the current policy
// says.

import { logFieldsOf } from '../log-fields.ts'
import type { ApprovalWait, Execution, ToSettle, Wait } from '../../engine/engine.ts'
import { type DecisionRecord, decisionOf, type Vote } from '../../store/records/approval-request.ts'
import { failure } from '../../core/outcome.ts'
import { approvalFingerprint } from '../../policy/approval-fingerprint.ts'
import { hasQuorum } from '../../policy/approvers.ts'
import { type Decision, combineTerms } from '../../policy/evaluate.ts'
import { findRememberedRule } from '../../policy/match-remembered-rules.ts'
import { maskArgsText } from '../../tools/hidden-arguments.ts'
import { validateEditedInput } from '../admission/validate-input.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import type { StageContext } from '../run-host-callback.ts'
import { notStarted } from '../attempts/outcome-when-stopped.ts'
import { complete } from '../attempts/complete-call.ts'
import { buildInboxItem } from './inbox-item.ts'
import { waitNames } from '../../store/journal-keys.ts'

/** The call may run with this input, or it ends, or it waits for people. `note` tells the model what people changed. */
export type Permit = { readonly input: ValidatedInput; readonly note?: string } | ToSettle | { readonly park: Wait }

interface Approval {
  readonly fingerprint: string
  readonly votes: readonly Vote[]
}

/** The decisions of people so far. */
export interface ApprovalState {
  /** The input, including edits by people. */
  readonly input: ValidatedInput
  readonly approvals: readonly Approval[]
  /** The number of the next request. */
  readonly next: number
  readonly note?: string
  /** The request that is still open. */
  readonly open?: { readonly wait: ApprovalWait; readonly name: string; withdraw(): Promise<boolean> }
}

/** Reads the recorded decisions; returns the end of the call if one of them ends it. */
export async function readApprovals(stage: StageContext, input: ValidatedInput): Promise<ApprovalState | ToSettle> {
  const { execution } = stage
  const { approvals: requests } = execution
  const approvals: Approval[] = []
  let current = input
  let note: string | undefined
  for (let number = 1; ; number++) {
    const name = waitNames.approval(number)
    const wait = requests.find(name)
    const state = { input: current, approvals, ...(note === undefined ? {} : { note }) }
    if (!wait) return { ...state, next: number }
    const { resolution } = wait
    if (resolution === null) {
      return {
        ...state,
        next: number + 1,
        open: { wait, name, withdraw: () => requests.withdraw(name, 'What would have run has changed') },
      }
    }
    if ('timeout' in resolution) return expiredOutcome
    const decided = decisionOf(resolution)
    // Withdrawn: something had changed and a new request was opened.
    if (!decided) continue
    if (decided.decision === 'deny') return deniedOutcome(decided)
    if (decided.decision === 'answer') return answeredByPerson(stage, current, decided)
    if (decided.decision === 'edit') {
      if (number > (execution.terms?.edited ?? 0)) {
        const edited = await validateEditedInput(stage, decided.input, number)
        if ('settle' in edited) return edited
        current = edited
      }
      note = editNote(decided, shownArguments(stage, current))
    }
    approvals.push({
      fingerprint: decided.decision === 'edit' ? decided.fingerprint : (wait.asks.fingerprint ?? ''),
      votes: decided.votes,
    })
  }
}

/** The end of a call whose approval was denied or has expired. */
export function approvalEnd({ approvals: requests }: Execution): ToSettle | null {
  for (let number = 1; ; number++) {
    const wait = requests.find(waitNames.approval(number))
    if (!wait) return null
    if (wait.resolution && 'timeout' in wait.resolution) return expiredOutcome
    const decided = decisionOf(wait.resolution)
    if (decided?.decision === 'deny') return deniedOutcome(decided)
  }
}

/** The note for the model if a person edited the arguments; for calls that parked after the edit. */
export function noteOfEdit(stage: StageContext, input: ValidatedInput): string | undefined {
  const { approvals: requests } = stage.execution
  let note: string | undefined
  for (let number = 1; requests.any; number++) {
    const wait = requests.find(waitNames.approval(number))
    if (!wait) break
    const decided = decisionOf(wait.resolution)
    if (decided?.decision === 'edit') note = editNote(decided, shownArguments(stage, input))
  }
  return note
}

/**
 * Uses a recorded approval or a remembered rule, else opens a request. Null: a decision arrived in between; read it
 * first.
 */
export async function requestApproval(
  stage: StageContext,
  state: ApprovalState,
  decision: Decision,
): Promise<Permit | null> {
  const { execution, tool, host } = stage
  const { request, options } = execution
  const { position, principal } = request
  const { input, approvals, open } = state
  const required = decision.asking ?? combineTerms([])
  const fingerprint = approvalFingerprint({
    tenant: position.tenant,
    call: request.uid,
    tool: tool.fingerprint,
    args: input.text,
  })
  const votes = approvals
    .filter((approval) => approval.fingerprint === fingerprint)
    .flatMap((approval) => approval.votes)
  const permit = { input, ...(state.note === undefined ? {} : { note: state.note }) }
  if (hasQuorum(required, principal, votes)) return open && !(await open.withdraw()) ? null : permit
  if (open) {
    if (open.wait.asks.fingerprint === fingerprint) return { park: await existingWait(stage, open.name) }
    if (!(await open.withdraw())) return null
  }
  const rules = await host.approvals.remembered(position)
  const facts = { session: position.session, principal, toolId: tool.id, toolFingerprint: tool.fingerprint }
  const rule = findRememberedRule(
    rules,
    { ...facts, args: input.copy().args, now: host.clock.now() },
    required,
    (message, about) => host.logger.warn(message, { ...logFieldsOf(execution, tool), ...about }),
  )
  if (rule) {
    const by = rule.votes[0]?.by ?? ''
    execution.approvals.appendEvent('decision.remembered', { rule: rule.id, decision: rule.then, by, fingerprint })
    return rule.then === 'approve'
      ? permit
      : deniedOutcome({ decision: 'deny', at: rule.madeAt, votes: rule.votes }, true)
  }
  if (options.unattended) return unattendedOutcome(decision.reason)
  const remainingMs =
    options.deadline === undefined
      ? required.expiresMs
      : Math.min(required.expiresMs, options.deadline - host.clock.now())
  if (remainingMs <= 0) return notStarted('total')
  const subject = { kind: 'approval' as const, reason: decision.reason, of: required, fingerprint, votes }
  const { item, terms } = await buildInboxItem(stage, input, subject, {}, { tool: tool.fingerprint })
  const name = waitNames.approval(state.next)
  const park = await execution.openWait({ name, deadlineMs: remainingMs, terms, item })
  const about = { ...logFieldsOf(execution, tool), wait: park.id, until: park.deadline }
  host.logger.info('A call waits for approval', about)
  return { park }
}

/** Returns the recorded wait of that name. */
const existingWait = ({ execution }: StageContext, name: string): Promise<Wait> =>
  execution.openWait({ name, deadlineMs: 0, terms: {} })

type Denial = Extract<DecisionRecord, { decision: 'deny' }>

function deniedOutcome({ votes }: Denial, remembered = false): ToSettle {
  const { reason } = votes.at(-1) ?? {}
  const who = remembered ? 'A person denied such calls earlier' : 'A person denied this call'
  const message = `${who}${reason === undefined ? '' : `: ${sentenceOf(reason)}`}${reason === undefined ? '.' : ''} It was not run. Do not ask for it again unchanged: do something else, or ask the user.`
  return { settle: failure({ class: 'permission_denied', code: 'denied_by_person', message, source: 'policy' }) }
}

const sentenceOf = (reason: string): string => (/[.!?…]$/.test(reason) ? reason : `${reason}.`)

const expiredOutcome: ToSettle = {
  settle: failure({
    class: 'permission_denied',
    code: 'approval_expired',
    message:
      'The approval request expired without a decision, so the call was not run. Tell the user that it needs an approval; it can be requested again.',
    source: 'policy',
  }),
}

const unattendedOutcome = (reason: string): ToSettle => ({
  settle: failure({
    class: 'permission_denied',
    code: 'approval_required',
    message: `${reason} No one can approve it in this session, so it was not run. Continue without it.`,
    source: 'policy',
  }),
})

async function answeredByPerson(
  stage: StageContext,
  input: ValidatedInput,
  decided: Extract<DecisionRecord, { decision: 'answer' }>,
): Promise<ToSettle> {
  const { settle } = await complete(stage, input, { settle: { status: 'success', value: decided.value } })
  const { reason } = decided.votes.at(-1) ?? {}
  const note = `A person answered instead of this tool, which was not run${reason === undefined ? '' : `: ${reason}`}`
  return { settle: { ...settle, note } }
}

const shownArguments = ({ execution, tool, host }: StageContext, input: ValidatedInput): string =>
  maskArgsText(tool, input, () => host.toolsets.toolsetFor(execution.request))

const maxShownChars = 1_000

function editNote({ votes }: DecisionRecord, text: string): string {
  const { reason } = votes.at(-1) ?? {}
  const args = text.length <= maxShownChars ? text : `${text.slice(0, maxShownChars).toWellFormed()}…`
  return `A person changed the arguments of this call before it ran${reason === undefined ? '' : ` (${reason})`}. It ran with: ${args}`
}
