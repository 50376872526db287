// Policy rules: data that says allow, ask or deny. They are checked and compiled when the policy is defined, so that
// matching a call cannot fail. evaluate.ts combines the matches into a decision.
//
// A rule matches if all fields it names match; an omitted field matches everything. A list in one field means any of
// them.

import type { Hints } from '../tools/tool-hints.ts'
import { option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds, parseDuration } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { defined, type Json } from '../core/tool-value.ts'
import {
  type ArgumentMatch,
  type ArgumentMatcher,
  type ArgumentPatterns,
  checkKeys,
  compilePatterns,
  isPlain,
  type Refuse,
  refuseAt,
  type Truth,
} from './conditions.ts'
import { type Glob, glob } from './glob.ts'

export type Effect = 'allow' | 'ask' | 'deny'
export type ToolClass = 'readOnly' | 'destructive' | 'idempotent' | 'openWorld' | 'remote'

/** A rule of a policy. It applies to calls that match all of its conditions. */
export interface Rule {
  /** Tool name or id; `*` matches any characters, including none. */
  readonly tool?: string | readonly string[]
  /** Risk classes of the tool, from its hints; one of them must apply. */
  readonly class?: ToolClass | readonly ToolClass[]
  /** Conditions on the final arguments. */
  readonly when?: ArgumentPatterns
  /** A call without a principal matches no pattern, not even `*`. */
  readonly principal?: string | readonly string[]
  /** Tenants, or patterns with `*`. Default: all. */
  readonly tenant?: string | readonly string[]
  /** Session ids, or patterns with `*`. Default: all. */
  readonly session?: string | readonly string[]
  /** What happens to calls that match. */
  readonly then: Effect
  /** A sentence that people and the model read. */
  readonly reason?: string
  /** How many people must approve; only for `ask`. Default: 1. */
  readonly quorum?: number
  /** Principals who may decide, with `*` for any characters; only for `ask`. Default: anyone. */
  readonly approvers?: string | readonly string[]
  /** The requester may not approve; only for `ask`. Default: false. */
  readonly separate?: boolean
  /** How long the request waits before it is denied; only for `ask`. Default: 15 minutes. */
  readonly expires?: Duration
}

/** Terms of an approval request. If several apply to one call, the strictest value of each field wins. */
export interface ApprovalTerms {
  readonly quorum?: number
  readonly approvers?: readonly string[]
  readonly separate?: boolean
  readonly expiresMs?: number
}

/** The input of a policy: a call with its final arguments, before it runs. */
export interface Facts {
  /** Tenant of the session. */
  readonly tenant: string
  /** Id of the session. */
  readonly session: string
  /** The person or service the call is made for. */
  readonly principal: string | null
  /** The tool. */
  readonly tool: ToolFacts
  /** The final arguments. */
  readonly args: Json
}

/** The tool of a call, as policies see it. */
export interface ToolFacts {
  /** Its name. */
  readonly name: string
  /** Its id. */
  readonly id: string
  /** Its hints. */
  readonly hints: Hints
  /** The tool comes from a provider, such as an MCP server. */
  readonly remote: boolean
  /** The operator trusts the hints of the provider. Has no meaning for local tools. */
  readonly trusted: boolean
}

/** The answer of a policy function. */
export type Verdict = Effect | { readonly effect: Effect; readonly reason?: string; readonly quorum?: number }

/** Adds a vote to those of the rules; undefined means no vote. It receives copies, so it cannot change the call. */
export type PolicyFunction = (facts: Facts) => Verdict | undefined | Promise<Verdict | undefined>

/** Which calls are allowed, need an approval or are refused: deny beats ask beats allow, in any order. */
export interface PolicyDefinition {
  /** Rules as data. All rules that match a call vote. */
  readonly rules?: readonly Rule[]
  /** For calls without a vote. `careful`: they ask, even readOnly ones. Default: `normal`. */
  readonly default?: 'normal' | 'careful'
  /** A function that votes besides the rules. If it throws or does not answer in 30 s, the call is refused. */
  readonly decide?: PolicyFunction
  /** Terms for every approval request under this policy. */
  readonly approvals?: Pick<Rule, 'quorum' | 'approvers' | 'separate' | 'expires'>
}

export interface Policy {
  readonly rules: readonly CompiledRule[]
  readonly careful: boolean
  readonly decide: PolicyFunction | undefined
  readonly approvals: ApprovalTerms
}

export interface CompiledRule {
  readonly effect: Effect
  readonly reason: string | undefined
  readonly asking: ApprovalTerms
  /** A copy of the rule as it was written, for display. */
  readonly source: Rule
  readonly tool: Glob | undefined
  readonly classes: readonly ToolClass[] | undefined
  readonly when: ArgumentMatcher | undefined
  readonly principal: Glob | undefined
  readonly tenant: Glob | undefined
  readonly session: Glob | undefined
}

export interface RuleMatch {
  /** False: the rule matches because it could not be ruled out. Always true for an allow. */
  readonly certain: boolean
  /** The path of the argument that could not be compared. */
  readonly unsurePath?: string
}

const effects = ['allow', 'ask', 'deny'] as const satisfies Effect[]
const classes = ['readOnly', 'destructive', 'idempotent', 'openWorld', 'remote'] satisfies ToolClass[]
const maxReasonLength = 1_000

export const isEffect = (value: unknown): value is Effect => effects.includes(value as Effect)

export const isReason = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= maxReasonLength && value.isWellFormed()

export const isQuorum = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1

const names = option.either(option.string, option.array)
const approvalOptions = {
  quorum: option.wholeNumber(1),
  approvers: names,
  separate: option.boolean,
  expires: {
    expected: 'a duration of at least 1 second, because people need time to decide',
    valid: (value) => (parseDuration(value) ?? 0) >= 1_000,
  },
} satisfies OptionTable<NonNullable<PolicyDefinition['approvals']>>

export const ruleOptions = {
  ...approvalOptions,
  tool: names,
  class: names,
  when: option.object,
  principal: names,
  tenant: names,
  session: names,
  then: option.required(option.oneOf(...effects)),
  reason: { expected: `a string of 1 to ${maxReasonLength} characters`, valid: isReason },
} satisfies OptionTable<Rule>

export const policyOptions = {
  rules: option.array,
  default: option.oneOf('normal', 'careful'),
  decide: option.func,
  approvals: option.object,
} satisfies OptionTable<PolicyDefinition>

/** Checks and compiles a policy. Throws config_invalid, naming the rule and the field. */
export function definePolicy(definition: PolicyDefinition): Policy {
  if (isPlain(definition) && Object.keys(definition).some((key) => key in ruleOptions && !(key in policyOptions)))
    throw new PawlError('config_invalid', '`policy` is a rule; a policy has a list of rules. Write { rules: [ … ] }.')
  checkKeys(definition, policyOptions, 'policy')
  const { rules = [], default: mode = 'normal', decide, approvals = {} } = definition
  checkKeys(approvals, approvalOptions, 'policy.approvals')
  return Object.freeze({
    rules: Object.freeze(Array.from(rules, (rule, index) => compileRule(rule, `policy.rules[${index}]`))),
    careful: mode === 'careful',
    decide,
    approvals: readApprovalTerms(approvals, refuseAt('policy.approvals')),
  })
}

/**
 * Names in rules that match none of these tools, with the path of the rule. Such a rule is often a misspelt name, but the
 * tool may also be added later or belong to a session, so it is reported and not refused.
 */
export function unmatchedToolNames(
  policies: readonly Policy[],
  tools: readonly { readonly name: string; readonly id: string }[],
): { readonly rule: string; readonly name: string }[] {
  const known = new Set(tools.flatMap(({ name, id }) => [name, id]))
  return policies.flatMap(({ rules }) =>
    rules.flatMap(({ source: { tool } }, index) =>
      [tool ?? []].flat().flatMap((name) => {
        const matches = name.includes('*') ? [...known].some(glob(name)) : known.has(name)
        return matches ? [] : [{ rule: `policy.rules[${index}]`, name }]
      }),
    ),
  )
}

/** Compiles a single rule. */
export function compileRule(rule: Rule, path = 'rule'): CompiledRule {
  checkKeys(rule, ruleOptions, path)
  const refuse = refuseAt(path)
  const asking = readApprovalTerms(rule, refuse)
  for (const field of Object.keys(asking))
    if (rule.then !== 'ask') refuse(field === 'expiresMs' ? 'expires' : field, "is for then: 'ask'")
  return Object.freeze({
    effect: rule.then,
    reason: rule.reason,
    asking,
    tool: compileToolGlobs(rule.tool, 'tool', refuse),
    classes: compileClasses(rule.class, refuse),
    when: rule.when === undefined ? undefined : compilePatterns(rule.when, refuse),
    principal: compileGlobs(rule.principal, 'principal', refuse),
    tenant: compileGlobs(rule.tenant, 'tenant', refuse),
    session: compileGlobs(rule.session, 'session', refuse),
    source: Object.freeze(structuredClone(rule)),
  })
}

function readApprovalTerms({ quorum, approvers, separate, expires }: Partial<Rule>, refuse: Refuse): ApprovalTerms {
  compileGlobs(approvers, 'approvers', refuse)
  const expiresMs = expires === undefined ? undefined : milliseconds(expires, 'expires')
  const patterns = typeof approvers === 'string' ? [approvers] : approvers && [...approvers]
  return defined({ quorum, approvers: patterns, separate, expiresMs })
}

/** Matches a rule against a call. Cheap checks first; arguments last. */
export function matchRule(rule: CompiledRule, facts: Facts): RuleMatch | null {
  if (rule.tool && !rule.tool(facts.tool.name) && !(mayMatchById(rule.effect, facts.tool) && rule.tool(facts.tool.id)))
    return null
  if (rule.tenant && !rule.tenant(facts.tenant)) return null
  if (rule.session && !rule.session(facts.session)) return null
  if (rule.principal && (facts.principal === null || !rule.principal(facts.principal))) return null
  const ofClass = rule.classes ? matchClasses(rule.classes, facts.tool) : 'yes'
  if (!matchesEffect(rule.effect, ofClass)) return null
  const onArguments = rule.when ? rule.when(facts.args) : anyArguments
  if (!matchesEffect(rule.effect, onArguments.truth)) return null
  const certain = ofClass === 'yes' && onArguments.truth === 'yes'
  return onArguments.unsurePath === undefined ? { certain } : { certain, unsurePath: onArguments.unsurePath }
}

const anyArguments: ArgumentMatch = { truth: 'yes' }

/** An unsure match counts for ask and deny, never for allow. */
const matchesEffect = (effect: Effect, truth: Truth): boolean =>
  truth === 'yes' || (truth === 'unsure' && effect !== 'allow')

/** An untrusted provider chooses the ids of its tools, so an id must not match an allow rule. */
const mayMatchById = (effect: Effect, tool: ToolFacts): boolean => effect !== 'allow' || !isUntrusted(tool)

export const isUntrusted = (tool: ToolFacts): boolean => tool.remote && !tool.trusted

function matchClasses(wanted: readonly ToolClass[], tool: ToolFacts): Truth {
  const truths = wanted.map((one) => classTruth(one, tool))
  return truths.includes('yes') ? 'yes' : truths.includes('unsure') ? 'unsure' : 'no'
}

/**
 * The hints of an untrusted provider may raise the risk of its tools but never lower it. Its `readOnly` and
 * `idempotent` are at most unsure, and `destructive: false` or a missing hint does not rule out that a tool is
 * destructive or openWorld.
 */
function classTruth(wanted: ToolClass, tool: ToolFacts): Truth {
  if (wanted === 'remote') return tool.remote ? 'yes' : 'no'
  const lowers = wanted === 'readOnly' || wanted === 'idempotent'
  const claimed = lowers ? tool.hints[wanted] === true : Boolean(tool.hints[wanted])
  if (isUntrusted(tool) && claimed === lowers) return 'unsure'
  return claimed ? 'yes' : 'no'
}

function compileClasses(value: unknown, refuse: Refuse): readonly ToolClass[] | undefined {
  if (value === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0) refuse('class', 'is an empty list, which matches nothing')
  if (list.some((one) => !classes.includes(one as ToolClass)))
    refuse('class', `is not one of ${classes.join(', ')}, or a list of them`)
  return [...(list as readonly ToolClass[])]
}

/**
 * The characters of tool names and ids. A space, other glob syntax or a look-alike letter is refused at configuration.
 */
const toolGlobShape = /^[A-Za-z0-9_.:/@*-]+$/
const anyGlobShape = /^[^\p{Cc}\p{Cs}]+$/u

export function compileGlobs(value: unknown, field: string, refuse: Refuse, shape = anyGlobShape): Glob | undefined {
  if (value === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0) refuse(field, 'is an empty list, which matches nothing')
  const literals = new Set<string>()
  const globs: Glob[] = []
  for (const one of list) {
    if (typeof one !== 'string' || !shape.test(one))
      return refuse(field, `has ${JSON.stringify(one) ?? typeof one}, which is not a name or a name with *`)
    if (one.includes('*')) globs.push(glob(one))
    else literals.add(one)
  }
  return (text) => literals.has(text) || globs.some((matches) => matches(text))
}

export const compileToolGlobs = (value: unknown, field: string, refuse: Refuse): Glob | undefined =>
  compileGlobs(value, field, refuse, toolGlobShape)
