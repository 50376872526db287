// POLICY, what people decided for next time too (POL-3). A remembered decision answers an ask; it is no vote, so it never beats a deny, and
// never an ask that wants more people than made it. It is bound to the tool as it was defined: a changed tool asks again.

import type { Vote } from '../store/records/approval-request.ts'
import type { Json } from '../core/value.ts'
import { type AskedTogether } from './evaluate.ts'
import { isEnough } from './approvers.ts'
import { type ArgumentPatterns, compilePatterns, refuseAt } from './conditions.ts'

export type RememberScope = 'session' | 'principal' | 'tenant'

/** As it is kept. */
export interface RememberedRule {
  readonly id: string
  readonly tenant: string
  /** Null where it holds in all sessions. */
  readonly session: string | null
  /** Null where it holds whoever asks. */
  readonly principal: string | null
  /** The tool's name, and what it was when the rule was made. */
  readonly tool: string
  readonly toolId: string
  readonly toolFingerprint: string
  readonly when?: ArgumentPatterns
  readonly then: 'approve' | 'deny'
  readonly votes: readonly Vote[]
  readonly reason?: string
  readonly madeAt: number
  /** An instant. */
  readonly until: number
  /** The call at which it was made. */
  readonly call: string
  readonly madeIn: string
  readonly revoked?: Vote
}

export interface RememberedFacts {
  readonly session: string
  readonly principal: string | null
  readonly toolId: string
  readonly toolFingerprint: string
  readonly args: Json
  readonly now: number
}

/** The rule that answers; a deny before an approval, whatever the order. */
export function answeredBy(
  rules: readonly RememberedRule[],
  facts: RememberedFacts,
  asking: AskedTogether,
): RememberedRule | null {
  const holding = rules.filter((rule) => holds(rule, facts))
  return (
    holding.find((rule) => rule.then === 'deny') ??
    holding.find((rule) => rule.then === 'approve' && isEnough(asking, facts.principal, rule.votes)) ??
    null
  )
}

function holds(
  rule: RememberedRule,
  { session, principal, toolId, toolFingerprint, args, now }: RememberedFacts,
): boolean {
  if (rule.revoked || now >= rule.until) return false
  if (rule.session !== null && rule.session !== session) return false
  if (rule.principal !== null && rule.principal !== principal) return false
  // A denial holds for a tool of that id however it changed; an approval only for the tool that was approved.
  if (rule.toolId !== toolId || (rule.then === 'approve' && rule.toolFingerprint !== toolFingerprint)) return false
  if (!rule.when) return true
  const { truth } = compilePatterns(rule.when, refuseAt('rule'))(args)
  return truth === 'yes' || (truth === 'unsure' && rule.then === 'deny')
}
