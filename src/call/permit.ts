// Policy, seen from a call (POL-1, POL-8): may it run, and is there budget left. Asked before the body runs, and again after a recovery:
// what is denied by then does not run. A call that needs a person's approval is refused until approvals exist.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'
import { decide } from '../policy/decide.ts'
import type { Tool } from '../tool/tool.ts'
import type { CallHost } from './host.ts'

export async function permit(invocation: Invocation, tool: Tool, args: Json, host: CallHost): Promise<ToSettle | null> {
  const { position, principal } = invocation.request
  const facts = {
    tenant: position.tenant,
    session: position.session,
    principal,
    tool: { name: tool.name, id: tool.id, hints: tool.hints, remote: false, trusted: true },
    args,
  }
  const report = (error: unknown): void =>
    host.logger.error('A policy function failed, so the call is denied', { callId: invocation.callId, error })
  const asked = decide(host.policies, facts, report)
  const decision = asked instanceof Promise ? await asked : asked
  if (decision.effect === 'deny') return refused('denied_by_policy', decision.reason)
  if (decision.effect === 'ask')
    return refused('approval_required', `${decision.reason} It was not run: this needs the approval of a person.`)
  const counted = host.usage.overBudget(invocation)
  const over = counted instanceof Promise ? await counted : counted
  if (over) return { settle: failure({ class: 'resource_limit', code: 'over_budget', message: over.message, source: 'policy' }) }
  return null
}

const refused = (code: string, message: string): ToSettle => ({
  settle: failure({ class: 'permission_denied', code, message, source: 'policy' }),
})
