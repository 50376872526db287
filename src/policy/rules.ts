// POLICY, the rules (POL-1): data that says allow, ask or deny, checked and compiled when the policy is made, so that nothing
// about it can fail when a call comes. evaluate.ts weighs what the rules say.
//
// A rule holds if everything it names holds; what it leaves out it does not ask about. Within one field a list means any of.

import type { Hints } from '../tools/hints.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import type { Json } from '../core/value.ts'
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

export type Effect = 'allow' | 'ask' | 'deny'
export type ToolClass = 'readOnly' | 'destructive' | 'idempotent' | 'openWorld' | 'remote'

export interface Rule {
  /** By name or id; `*` stands for any characters, also none. */
  readonly tool?: string | readonly string[]
  readonly class?: ToolClass | readonly ToolClass[]
  /** On the final arguments. */
  readonly when?: ArgumentPatterns
  /** Nobody (no principal) matches no pattern, not even `*`. */
  readonly principal?: string | readonly string[]
  readonly tenant?: string | readonly string[]
  readonly session?: string | readonly string[]
  readonly then: Effect
  /** Why, in a sentence that people and the model read. */
  readonly reason?: string
  /** How many people must approve; for `ask`. */
  readonly quorum?: number
  /** Who may decide: names of principals, with `*` for any characters; for `ask`. */
  readonly approvers?: string | readonly string[]
  /** Who asked may not approve; for `ask`. */
  readonly separate?: boolean
  /** How long people have; for `ask`. Default: 15 minutes. Silence is no. */
  readonly expires?: Duration
}

/** How people are asked. Of several that speak about one call the strictest holds of each. */
export interface AskingTerms {
  readonly quorum?: number
  readonly approvers?: readonly string[]
  readonly separate?: boolean
  readonly expiresMs?: number
}

/** What a policy is asked about: a call with its final arguments, before it runs. */
export interface Facts {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  readonly tool: ToolFacts
  readonly args: Json
}

export interface ToolFacts {
  readonly name: string
  readonly id: string
  readonly hints: Hints
  /** It comes from elsewhere: an MCP server, a plug-in of others. */
  readonly remote: boolean
  /** The operator vouches for what the remote source says of itself. Of no meaning for own tools. */
  readonly trusted: boolean
}

/** What a policy function answers. */
export type Verdict = Effect | { readonly effect: Effect; readonly reason?: string; readonly quorum?: number }

/** One more vote beside the rules; undefined is no opinion. It gets copies: it cannot change what will run. */
export type PolicyFunction = (facts: Facts) => Verdict | undefined | Promise<Verdict | undefined>

export interface PolicyDefinition {
  readonly rules?: readonly Rule[]
  /** What happens to calls that nothing speaks about. `careful`: they ask, those that only read included. */
  readonly default?: 'normal' | 'careful'
  readonly decide?: PolicyFunction
  /** How people are asked about any call that has to ask. */
  readonly approvals?: Pick<Rule, 'quorum' | 'approvers' | 'separate' | 'expires'>
}

export interface Policy {
  readonly rules: readonly CompiledRule[]
  readonly careful: boolean
  readonly decide: PolicyFunction | undefined
  readonly approvals: AskingTerms
}

export interface CompiledRule {
  readonly effect: Effect
  readonly reason: string | undefined
  readonly asking: AskingTerms
  /** As it was written, for people; a copy. */
  readonly source: Rule
  readonly tool: Glob | undefined
  readonly classes: readonly ToolClass[] | undefined
  readonly when: ArgumentMatcher | undefined
  readonly principal: Glob | undefined
  readonly tenant: Glob | undefined
  readonly session: Glob | undefined
}

export interface RuleMatch {
  /** False: the rule holds because it could not be ruled out. Never for an allow. */
  readonly certain: boolean
  /** The path of the argument that left it open. */
  readonly unsureOf?: string
}

export type Glob = (text: string) => boolean

const effects: readonly unknown[] = ['allow', 'ask', 'deny'] satisfies Effect[]
const classes = ['readOnly', 'destructive', 'idempotent', 'openWorld', 'remote'] satisfies ToolClass[]
const ruleKeys = [
  'tool',
  'class',
  'when',
  'principal',
  'tenant',
  'session',
  'then',
  'reason',
  'quorum',
  'approvers',
  'separate',
  'expires',
]
const longestReason = 1_000

export const isEffect = (value: unknown): value is Effect => effects.includes(value)

/** Checks and compiles. Throws config_invalid, naming the rule and the field. */
export function definePolicy(definition: PolicyDefinition): Policy {
  const refuse = refuseAt('policy')
  if (!isPlain(definition)) refuse('', 'is not an object')
  checkKeys(definition, ['rules', 'default', 'decide', 'approvals'], refuse)
  const { rules = [], default: mode = 'normal', decide, approvals = {} } = definition
  if (!Array.isArray(rules)) refuse('rules', 'is not a list')
  if (mode !== 'normal' && mode !== 'careful') refuse('default', "is not 'normal' or 'careful'")
  if (decide !== undefined && typeof decide !== 'function') refuse('decide', 'is not a function')
  return Object.freeze({
    rules: Object.freeze(Array.from(rules, (rule, index) => compileRule(rule, refuseAt(`policy.rules[${index}]`)))),
    careful: mode === 'careful',
    decide,
    approvals: approvalsOf(approvals, refuse),
  })
}

/** One rule alone: a remembered approval is matched like a rule, although it answers an ask and is none. */
export function compileRule(rule: Rule, refuse: Refuse = refuseAt('rule')): CompiledRule {
  if (!isPlain(rule)) return refuse('', 'is not an object')
  checkKeys(rule, ruleKeys, refuse)
  if (!isEffect(rule.then)) refuse('then', "is not 'allow', 'ask' or 'deny'")
  if (rule.reason !== undefined && !isReason(rule.reason))
    refuse('reason', `is not a text of 1 to ${longestReason} characters`)
  const asking = askingTermsOf(rule, refuse)
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

const askingKeys = ['quorum', 'approvers', 'separate', 'expires']

function approvalsOf(given: unknown, refuse: Refuse): AskingTerms {
  if (!isPlain(given)) return refuse('approvals', 'is not an object')
  const within: Refuse = (field, why) => refuse(`approvals.${field}`, why)
  checkKeys(given, askingKeys, within)
  return askingTermsOf(given, within)
}

function askingTermsOf({ quorum, approvers, separate, expires }: Partial<Rule>, refuse: Refuse): AskingTerms {
  if (quorum !== undefined && !isQuorum(quorum)) refuse('quorum', 'is not a whole number of at least 1')
  if (separate !== undefined && typeof separate !== 'boolean') refuse('separate', 'is not true or false')
  compileGlobs(approvers, 'approvers', refuse)
  const expiresMs = expires === undefined ? undefined : milliseconds(expires, 'expires')
  if (expiresMs !== undefined && !(expiresMs >= 1_000))
    refuse('expires', 'is less than a second, in which nobody can decide')
  return {
    ...(quorum === undefined ? {} : { quorum }),
    ...(approvers === undefined ? {} : { approvers: typeof approvers === 'string' ? [approvers] : [...approvers] }),
    ...(separate === undefined ? {} : { separate }),
    ...(expiresMs === undefined ? {} : { expiresMs }),
  }
}

export const isReason = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= longestReason && value.isWellFormed()

export const isQuorum = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1

/** Whether a rule speaks about this call. Cheap questions first; arguments last. */
export function matchRule(rule: CompiledRule, facts: Facts): RuleMatch | null {
  if (rule.tool && !rule.tool(facts.tool.name) && !(idCounts(rule.effect, facts.tool) && rule.tool(facts.tool.id)))
    return null
  if (rule.tenant && !rule.tenant(facts.tenant)) return null
  if (rule.session && !rule.session(facts.session)) return null
  if (rule.principal && (facts.principal === null || !rule.principal(facts.principal))) return null
  const ofClass = rule.classes ? anyClass(rule.classes, facts.tool) : 'yes'
  if (!counts(rule.effect, ofClass)) return null
  const onArguments = rule.when ? rule.when(facts.args) : anyArguments
  if (!counts(rule.effect, onArguments.truth)) return null
  const certain = ofClass === 'yes' && onArguments.truth === 'yes'
  return onArguments.unsureOf === undefined ? { certain } : { certain, unsureOf: onArguments.unsureOf }
}

const anyArguments: ArgumentMatch = { truth: 'yes' }

/** What is unsure never opens the gate: it holds for ask and deny, not for allow. */
const counts = (effect: Effect, truth: Truth): boolean => truth === 'yes' || (truth === 'unsure' && effect !== 'allow')

/** An untrusted source chooses the ids of its tools; it must not choose one that is allowed. */
const idCounts = (effect: Effect, tool: ToolFacts): boolean => effect !== 'allow' || !isUntrusted(tool)

export const isUntrusted = (tool: ToolFacts): boolean => tool.remote && !tool.trusted

function anyClass(wanted: readonly ToolClass[], tool: ToolFacts): Truth {
  const truths = wanted.map((one) => classTruth(one, tool))
  return truths.includes('yes') ? 'yes' : truths.includes('unsure') ? 'unsure' : 'no'
}

/**
 * TOOL-2: what an untrusted source says of its tools may raise their risk and never lower it. Its "readOnly" and "idempotent" are
 * at most unsure, and "not destructive" or silence does not rule out that they are destructive or reach the open world.
 */
function classTruth(wanted: ToolClass, tool: ToolFacts): Truth {
  if (wanted === 'remote') return tool.remote ? 'yes' : 'no'
  const lowers = wanted === 'readOnly' || wanted === 'idempotent'
  const said = lowers ? tool.hints[wanted] === true : Boolean(tool.hints[wanted])
  if (isUntrusted(tool) && said === lowers) return 'unsure'
  return said ? 'yes' : 'no'
}

function compileClasses(given: unknown, refuse: Refuse): readonly ToolClass[] | undefined {
  if (given === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (list.length === 0) refuse('class', 'is an empty list, which matches nothing')
  if (list.some((one) => !classes.includes(one as ToolClass)))
    refuse('class', `is not one of ${classes.join(', ')}, or a list of them`)
  return [...(list as readonly ToolClass[])]
}

/** What names and ids of tools are made of: so a space, another glob syntax or a look-alike letter is found when configured. */
const toolGlobShape = /^[A-Za-z0-9_.:/@*-]+$/
const anyGlobShape = /^[^\p{Cc}\p{Cs}]+$/u

export function compileGlobs(given: unknown, field: string, refuse: Refuse, shape = anyGlobShape): Glob | undefined {
  if (given === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
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

export const compileToolGlobs = (given: unknown, field: string, refuse: Refuse): Glob | undefined =>
  compileGlobs(given, field, refuse, toolGlobShape)

/** The pieces between the stars, found one after the other: no backtracking, so no text makes it slow. */
function glob(pattern: string): Glob {
  const pieces = pattern.split('*')
  const first = pieces[0] as string
  const last = pieces.at(-1) as string
  const middle = pieces.slice(1, -1)
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    const end = text.length - last.length
    let at = first.length
    for (const piece of middle) {
      const found = text.indexOf(piece, at)
      if (found === -1 || found + piece.length > end) return false
      at = found + piece.length
    }
    return true
  }
}
