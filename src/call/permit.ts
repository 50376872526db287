// Policy, seen from a call (POL-1): may it run. Asked before the body runs, and again after a recovery: what is denied by then does not run.
// A call that needs a person's approval is refused until approvals exist.

import type { ToSettle } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'
import { decide, type Decision, defaultDecision } from '../policy/decide.ts'
import type { ToolFacts } from '../policy/rules.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Tool } from '../tool/tool.ts'
import { ask, type Asking, endOf, Unanswered } from './asked.ts'

/** Null: it may run. At once, unless a policy function has to be waited for. */
export function permit(asking: Asking, args: Json): Soon<ToSettle | null> {
  const { invocation, tool, host } = asking
  if (host.policies.length === 0) return verdict(byDefault(tool))
  const { position, principal } = invocation.request
  const facts = { tenant: position.tenant, session: position.session, principal, tool: factsOf(tool), args }
  const report = (error: unknown): void =>
    host.logger.error('A policy function failed, so the call is denied', { tool: tool.name, callId: invocation.callId, error })
  const deciding = (): Soon<Decision> => decide(host.policies, facts, report)
  const asked = host.policies.some((policy) => policy.decide) ? ask('A policy function', asking, deciding) : deciding()
  if (!(asked instanceof Promise)) return verdict(asked)
  return asked.then(verdict, (error: unknown) => {
    if (!(error instanceof Unanswered)) throw error
    const end = endOf(error)
    if (end) return end
    report(error)
    return refused('denied_by_policy', 'A policy function did not answer, so the call is denied.')
  })
}

const defaults = new WeakMap<Tool, Decision>()

/** Without any policy the answer is the same for all calls of a tool. */
function byDefault(tool: Tool): Decision {
  let decision = defaults.get(tool)
  if (!decision) defaults.set(tool, (decision = defaultDecision([], factsOf(tool))))
  return decision
}

function verdict(decision: Decision): ToSettle | null {
  if (decision.effect === 'deny') return refused('denied_by_policy', decision.reason)
  if (decision.effect === 'ask')
    return refused('approval_required', `${decision.reason} It was not run: this needs the approval of a person.`)
  return null
}

/** Policy hears a remote tool's own words about itself, and whether they count. */
const factsOf = ({ name, id, hints, remote }: Tool): ToolFacts =>
  remote ? { name, id, hints: remote.hints, remote: true, trusted: remote.trusted } : { name, id, hints, remote: false, trusted: true }

const refused = (code: string, message: string): ToSettle => ({
  settle: failure({ class: 'permission_denied', code, message, source: 'policy' }),
})
