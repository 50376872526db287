// Remembered decisions ("always allow this"). They answer an ask but are not votes, so they never override a deny, nor
// an ask that needs more people than made the decision. An approval is bound to the tool's fingerprint: a changed tool
// asks again.

import type { Vote } from '../store/records/approval-request.ts'
import type { Json } from '../core/tool-value.ts'
import { type CombinedApprovalTerms } from './evaluate.ts'
import { hasQuorum } from './approvers.ts'
import { type ArgumentMatcher, type ArgumentPatterns, compilePatterns, refuseAt } from './conditions.ts'

export type RememberScope = 'session' | 'principal' | 'tenant'

/** The stored rule. */
export interface RememberedRule {
  /** For `rules.revoke`. */
  readonly id: string
  /** The tenant it applies to. */
  readonly tenant: string
  /** Null if it applies to all sessions. */
  readonly session: string | null
  /** Null if it applies to every requester. */
  readonly principal: string | null
  /** The tool's name. Id and fingerprint are those at the time the rule was made. */
  readonly tool: string
  /** Id of the tool. */
  readonly toolId: string
  /** An approving rule applies only while the tool has this fingerprint. */
  readonly toolFingerprint: string
  /** Patterns that the arguments must match. Default: any arguments. */
  readonly when?: ArgumentPatterns
  /** What it decides without asking. */
  readonly then: 'approve' | 'deny'
  /** The people whose decision made it. */
  readonly votes: readonly Vote[]
  /** The reason they gave. */
  readonly reason?: string
  /** When it was made, in milliseconds since 1970. */
  readonly madeAt: number
  /** Expiry time, milliseconds since 1970. */
  readonly until: number
  /** The call whose approval created the rule. */
  readonly call: string
  /** Id of the session it was made in. */
  readonly madeIn: string
  /** Who revoked it and when; absent while it applies. */
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

/**
 * The rule that answers the ask. A deny wins over an approval in any order. `warn` is called for a rule whose patterns
 * an earlier version accepted and this one refuses.
 */
export function findRememberedRule(
  rules: readonly RememberedRule[],
  facts: RememberedFacts,
  asking: CombinedApprovalTerms,
  warn: (message: string, fields: { readonly rule: string; readonly error: unknown }) => void,
): RememberedRule | null {
  const applicable = rules.filter((rule) => applies(rule, facts, warn))
  return (
    applicable.find((rule) => rule.then === 'deny') ??
    applicable.find((rule) => rule.then === 'approve' && hasQuorum(asking, facts.principal, rule.votes)) ??
    null
  )
}

function applies(
  rule: RememberedRule,
  { session, principal, toolId, toolFingerprint, args, now }: RememberedFacts,
  warn: Parameters<typeof findRememberedRule>[3],
): boolean {
  if (rule.revoked || now >= rule.until) return false
  if (rule.session !== null && rule.session !== session) return false
  if (rule.principal !== null && rule.principal !== principal) return false
  // A denial applies to the tool id even if the tool changed; an approval only to the definition that was approved.
  if (rule.toolId !== toolId || (rule.then === 'approve' && rule.toolFingerprint !== toolFingerprint)) return false
  if (!rule.when) return true
  let matches: ArgumentMatcher
  try {
    matches = compilePatterns(rule.when, refuseAt('rule'))
  } catch (error) {
    const effect = rule.then === 'deny' ? 'denies every call of the tool' : 'is ignored'
    warn(`A remembered rule has a pattern that is not valid any more, so it ${effect}; revoke it`, {
      rule: rule.id,
      error,
    })
    return rule.then === 'deny'
  }
  const { truth } = matches(args)
  return truth === 'yes' || (truth === 'unsure' && rule.then === 'deny')
}
