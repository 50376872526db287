// The rules of the configured policies as they were written, for people who ask why a call asks. Called by
// runtime.policyRules().

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import type { Policy, Rule } from './rules.ts'

/** A rule of the configuration. */
export interface PolicyRule {
  /** Index of its policy, as `layer` of a vote. */
  readonly layer: number
  /** Index in its policy, as `rule` of a vote. */
  readonly index: number
  /** The rule as it was written. */
  readonly rule: Rule
}

/** Which rules runtime.policyRules() returns. Default: all. */
export interface PolicyRulesQuery {
  /** Only rules that can match a call of this tenant. */
  readonly tenant?: string
}

export const policyRulesOptions = { tenant: option.string } satisfies OptionTable<PolicyRulesQuery>

export function listPolicyRules(policies: readonly Policy[], query: PolicyRulesQuery = {}): readonly PolicyRule[] {
  checkOptions(query, policyRulesOptions, 'policyRules()')
  const { tenant } = query
  return policies.flatMap(({ rules }, layer) =>
    rules.flatMap((rule, index) =>
      tenant === undefined || rule.tenant === undefined || rule.tenant(tenant)
        ? [{ layer, index, rule: structuredClone(rule.source) }]
        : [],
    ),
  )
}
