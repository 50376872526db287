// Checks a call against the current policy and, if the policy says ask, requests approval (approval-request.ts). Runs
// before the body, and again after a recovery or a decision, so that a call that has been denied in the meantime does
// not run.

import type { ToSettle } from '../../engine/engine.ts'
import { failure } from '../../core/outcome.ts'
import { toRecordedForm, type Json } from '../../core/tool-value.ts'
import { decide, type Decision, defaultDecision, type PolicyQuestion } from '../../policy/evaluate.ts'
import { definePolicy, type Policy, type PolicyDefinition, type ToolFacts } from '../../policy/rules.ts'
import { chain, chainCatch, type MaybePromise } from '../../core/maybe-promise.ts'
import type { ApprovalFacts, Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import { requestApproval, type ApprovalState, readApprovals, type Permit } from './approval-request.ts'
import { runCallback, type StageContext, outcomeOfAbandoned, CallbackAbandoned } from '../run-host-callback.ts'
import { approvalFacts } from './approval-preview.ts'
import type { CallHost } from '../ports.ts'

/** True if no policy applies and the tool is allowed by default: the usual case, which is decided once per tool. */
export const isAllowedByDefault = (stage: StageContext): boolean =>
  stage.tool.approval === undefined && policiesFor(stage).length === 0 && byDefault(stage.tool).effect === 'allow'

/** Synchronous unless a policy function or a person has to be awaited. */
export function checkPolicy(stage: StageContext, input: ValidatedInput): MaybePromise<Permit> {
  const { execution } = stage
  // Only a claimed call can have an earlier approval request.
  if (execution.claimed && execution.approvals.any)
    return readApprovals(stage, input).then((found) => ('settle' in found ? found : applyPolicy(stage, found)))
  return applyPolicy(stage, { input, approvals: [], next: 1 })
}

function applyPolicy(stage: StageContext, state: ApprovalState): MaybePromise<Permit> {
  const conclude = (decision: Decision | ToSettle): MaybePromise<Permit> => {
    if ('settle' in decision) return decision
    if (decision.effect === 'deny') return deniedByPolicy(decision.reason)
    const permit = { input: state.input, ...(state.note === undefined ? {} : { note: state.note }) }
    const { open } = state
    // If the open request was decided before it could be withdrawn, read that decision first.
    if (decision.effect === 'allow')
      return open ? open.withdraw().then((withdrawn) => (withdrawn ? permit : checkPolicy(stage, state.input))) : permit
    return requestApproval(stage, state, decision).then((answer) => answer ?? checkPolicy(stage, state.input))
  }
  return chain(evaluatePolicy(stage, state.input.args), conclude)
}

/** Evaluates all policies on these arguments. */
export function evaluatePolicy(stage: StageContext, args: Json): MaybePromise<Decision | ToSettle> {
  const { execution, tool, host } = stage
  const policies = policiesFor(stage)
  if (policies.length === 0 && tool.approval === undefined) return byDefault(tool)
  const report = (error: unknown): void =>
    host.logger.error('A policy function failed, so the call is denied', {
      tool: tool.name,
      callId: execution.callId,
      error,
    })
  const evaluate = (): MaybePromise<Decision> => decide(policies, questionOf(stage, args), report)
  const runsHostCode = typeof tool.approval === 'function' || policies.some((policy) => policy.decide)
  if (!runsHostCode) return evaluate()
  const run = (): MaybePromise<Decision | ToSettle> => runCallback('A policy function', stage, evaluate)
  return chainCatch(run, (error) => {
    if (!(error instanceof CallbackAbandoned)) throw error
    const end = outcomeOfAbandoned(error)
    if (end) return end
    report(error)
    return deniedByPolicy('A policy function did not answer, so the call is denied.')
  })
}

/** The policies of the runtime and of the session. */
export function policiesFor({
  execution,
  host,
}: {
  execution: { options: { policy?: unknown } }
  host: Pick<CallHost, 'policies'>
}): readonly Policy[] {
  const { policy } = execution.options
  return policy === undefined ? host.policies : [...host.policies, sessionPolicy(policy as PolicyDefinition)]
}

const compiledPolicies = new WeakMap<object, Policy>()

function sessionPolicy(definition: PolicyDefinition): Policy {
  let policy = compiledPolicies.get(definition)
  if (!policy) compiledPolicies.set(definition, (policy = definePolicy(definition)))
  return policy
}

function questionOf(stage: StageContext, args: Json): PolicyQuestion {
  const { execution, tool } = stage
  const { position, principal } = execution.request
  const { approval } = tool
  // A copy, so that the approval function cannot change what will run.
  const approve =
    typeof approval === 'function'
      ? () => (approval as ApprovalFunction)(toRecordedForm(args), approvalFacts(stage))
      : approval
  const facts = approve === undefined ? toolFacts(tool) : { ...toolFacts(tool), approval: approve }
  return { tenant: position.tenant, session: position.session, principal, tool: facts, args }
}

type ApprovalFunction = (input: Json, about: ApprovalFacts) => unknown

const defaultDecisions = new WeakMap<Tool, Decision>()

/** Without policies the decision is the same for all calls of a tool. */
function byDefault(tool: Tool): Decision {
  let decision = defaultDecisions.get(tool)
  if (!decision) defaultDecisions.set(tool, (decision = defaultDecision([], toolFacts(tool))))
  return decision
}

/** For a remote tool the policy gets the provider's hints and whether the provider is trusted. */
export const toolFacts = ({ name, id, hints, remote }: Tool): ToolFacts =>
  remote
    ? { name, id, hints: remote.hints, remote: true, trusted: remote.trusted }
    : { name, id, hints, remote: false, trusted: true }

const deniedByPolicy = (message: string): ToSettle => ({
  settle: failure({ class: 'permission_denied', code: 'denied_by_policy', message, source: 'policy' }),
})
