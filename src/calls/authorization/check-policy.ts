// May it run (POL-1 to POL-3): the policy of this moment, and where it says ask, people (approval-request.ts). Asked before the body runs, and again
// after a recovery or a decision: what is denied by then does not run.

import type { ToSettle } from '../../engine/engine.ts'
import { failure } from '../../core/outcome.ts'
import { recorded, type Json } from '../../core/value.ts'
import { decide, type Decision, defaultDecision, type Question } from '../../policy/evaluate.ts'
import { definePolicy, type Policy, type PolicyDefinition, type ToolFacts } from '../../policy/rules.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { ApprovalFacts, Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import { askPeople, type Heard, heard, nothingHeard, type Permit } from './approval-request.ts'
import { ask, type Asking, endOf, Unanswered } from '../host-callback.ts'
import { factsFor } from './preview.ts'
import type { CallHost } from '../ports.ts'

/** At once, unless somebody has to be waited for. */
export function permit(asking: Asking, accepted: ValidatedInput): MaybePromise<Permit> {
  const { execution } = asking
  // Only what was taken from the record can have asked before.
  if (execution.claimed && execution.asks.any)
    return heard(asking, accepted).then((found) => ('settle' in found ? found : judged(asking, found)))
  return judged(asking, nothingHeard(accepted))
}

function judged(asking: Asking, said: Heard): MaybePromise<Permit> {
  const concluded = (decision: Decision | ToSettle): MaybePromise<Permit> => {
    if ('settle' in decision) return decision
    if (decision.effect === 'deny') return denied(decision.reason)
    const go = { go: said.accepted, ...(said.note === undefined ? {} : { note: said.note }) }
    const { open } = said
    // An answer that came while nobody was asked any more, or while it was asked about anew, is heard first.
    if (decision.effect === 'allow')
      return open ? open.callOff().then((off) => (off ? go : permit(asking, said.accepted))) : go
    return askPeople(asking, said, decision).then((answer) => answer ?? permit(asking, said.accepted))
  }
  const decision = policyOn(asking, said.accepted.args)
  return decision instanceof Promise ? decision.then(concluded) : concluded(decision)
}

/** What the policies say about these arguments. */
export function policyOn(asking: Asking, args: Json): MaybePromise<Decision | ToSettle> {
  const { execution, tool, host } = asking
  const policies = policiesFor(asking)
  if (policies.length === 0 && tool.approval === undefined) return byDefault(tool)
  const report = (error: unknown): void =>
    host.logger.error('A policy function failed, so the call is denied', {
      tool: tool.name,
      callId: execution.callId,
      error,
    })
  const deciding = (): MaybePromise<Decision> => decide(policies, questionOf(asking, args), report)
  const asks = typeof tool.approval === 'function' || policies.some((policy) => policy.decide)
  const asked = asks ? ask('A policy function', asking, deciding) : deciding()
  if (!(asked instanceof Promise)) return asked
  return asked.catch((error: unknown) => {
    if (!(error instanceof Unanswered)) throw error
    const end = endOf(error)
    if (end) return end
    report(error)
    return denied('A policy function did not answer, so the call is denied.')
  })
}

/** Those of the runtime, and of the session it was asked in. */
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

const compiled = new WeakMap<object, Policy>()

function sessionPolicy(definition: PolicyDefinition): Policy {
  let policy = compiled.get(definition)
  if (!policy) compiled.set(definition, (policy = definePolicy(definition)))
  return policy
}

function questionOf(asking: Asking, args: Json): Question {
  const { execution, tool } = asking
  const { position, principal } = execution.request
  const { approval } = tool
  // Arguments of its own: it cannot change what will run.
  const own = typeof approval === 'function' ? () => (approval as Approval)(recorded(args), factsFor(asking)) : approval
  const facts = own === undefined ? toolFacts(tool) : { ...toolFacts(tool), approval: own }
  return { tenant: position.tenant, session: position.session, principal, tool: facts, args }
}

type Approval = (input: Json, about: ApprovalFacts) => unknown

const defaults = new WeakMap<Tool, Decision>()

/** Without any policy the answer is the same for all calls of a tool. */
function byDefault(tool: Tool): Decision {
  let decision = defaults.get(tool)
  if (!decision) defaults.set(tool, (decision = defaultDecision([], toolFacts(tool))))
  return decision
}

/** Policy hears a remote tool's own words about itself, and whether they count. */
export const toolFacts = ({ name, id, hints, remote }: Tool): ToolFacts =>
  remote
    ? { name, id, hints: remote.hints, remote: true, trusted: remote.trusted }
    : { name, id, hints, remote: false, trusted: true }

const denied = (message: string): ToSettle => ({
  settle: failure({ class: 'permission_denied', code: 'denied_by_policy', message, source: 'policy' }),
})
