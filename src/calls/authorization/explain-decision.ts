// Explains whether a call would run, need approval or be denied, without running it. Uses the same evaluation as
// check-policy.ts; called by runtime.explain.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { decode, encode, type Json } from '../../core/tool-value.ts'
import { type Explanation, explain, combineTerms } from '../../policy/evaluate.ts'
import { findRememberedRule, type RememberedRule } from '../../policy/match-remembered-rules.ts'
import { definePolicy, type Effect, type Policy, type PolicyDefinition } from '../../policy/rules.ts'
import type { ApprovalFacts, Tool } from '../../tools/tool.ts'
import { describeProblems } from '../admission/read-arguments.ts'
import { toolFacts } from './check-policy.ts'
import type { Foundation } from '../../engine/foundation.ts'
import type { CallPorts } from '../ports.ts'
import { scope } from '../async-context.ts'

/** The call that runtime.explain() explains. It is not run. */
export interface ExplainCall {
  /** Name of the tool. */
  readonly tool: string
  /** Its arguments. Default: {}. */
  readonly input?: unknown
  /** Id of the session whose rules and tools apply. */
  readonly session: string
  /** Default: 'default'. */
  readonly tenant?: string
  /** The person or service the call would be made for. Default: null. */
  readonly principal?: string | null
  /** The policy of the session, if it has one. */
  readonly policy?: PolicyDefinition
}

/** The policy decision about a call, with every vote. */
export interface Explained extends Explanation {
  /**
   * The result for the call. 'be refused': the tool is unknown or the input is invalid, so the policy is not evaluated.
   */
  readonly would: 'run' | 'ask' | 'be denied' | 'be refused'
  /** The remembered rule that would answer the approval request. */
  readonly remembered?: RememberedRule
}

export interface ExplainHost extends Pick<Foundation, 'registry' | 'clock' | 'logger'>, Pick<CallPorts, 'approvals'> {
  readonly policies: readonly Policy[]
}

const wouldBe: Readonly<Record<Effect, Explained['would']>> = { allow: 'run', ask: 'ask', deny: 'be denied' }

export const explainOptions = {
  tool: option.required(option.string),
  input: option.anything,
  session: option.required(option.string),
  tenant: option.string,
  principal: option.either(option.string, option.oneOf(null)),
  policy: option.object,
} satisfies OptionTable<ExplainCall>

export async function explainCall(host: ExplainHost, call: ExplainCall): Promise<Explained> {
  checkRequiredOptions(call, explainOptions, 'explain()', 'call_invalid')
  const { tool: name, input = {}, session, tenant = 'default', principal = null } = call
  const entry = host.registry.toolsetFor(tenant, session).find(name)
  const tool: Tool | undefined = entry?.tool ?? (await entry?.remote?.load().catch(() => undefined))
  if (!tool) return refusal(`There is no tool '${name}' here.`)
  const about = { tool: tool.name, callId: '', call: '', logger: host.logger, who: 'explain' }
  return scope.run(about, async () => {
    const checked = await tool.input.check(decode(encode(input)))
    if (!checked.ok) return refusal(describeProblems(checked.problems))
    const args = decode(encode(checked.value))
    const policies = call.policy === undefined ? host.policies : [...host.policies, definePolicy(call.policy)]
    const facts = { tenant, session, principal, callId: '' }
    const approval = bindApproval(tool, args, facts)
    const question = {
      tenant,
      session,
      principal,
      args,
      tool: { ...toolFacts(tool), ...(approval === undefined ? {} : { approval }) },
    }
    const report = (error: unknown): void => host.logger.error('A policy function failed', { tool: tool.name, error })
    const explained = await explain(policies, question, report)
    const { decision } = explained
    if (decision.effect !== 'ask') return { ...explained, would: wouldBe[decision.effect] }
    const required = decision.asking ?? combineTerms([])
    const ruleFacts = {
      session,
      principal,
      toolId: tool.id,
      toolFingerprint: tool.fingerprint,
      args,
      now: host.clock.now(),
    }
    const rules = await host.approvals.remembered({ tenant, session })
    const rule = findRememberedRule(rules, ruleFacts, required, (message, fields) =>
      host.logger.warn(message, { tool: tool.name, ...fields }),
    )
    if (!rule) return { ...explained, would: 'ask' as const }
    return {
      ...explained,
      would: rule.then === 'approve' ? ('run' as const) : ('be denied' as const),
      remembered: rule,
    }
  })
}

function bindApproval(
  { approval }: Tool,
  args: Json,
  facts: ApprovalFacts,
): 'always' | 'never' | (() => unknown) | undefined {
  if (typeof approval !== 'function') return approval
  return () => (approval as (input: Json, about: ApprovalFacts) => unknown)(decode(encode(args)), facts)
}

function refusal(reason: string): Explained {
  const decision = { effect: 'deny', by: 'error', reason } as const
  return { decision, votes: [], default: decision, why: reason, would: 'be refused' }
}
