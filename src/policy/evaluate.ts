// The policy decision: allow, ask or deny. The pipeline calls it between prepare and approval, and again before
// execution.
//
// Every rule that matches, every policy function and the tool's own `approval` is a vote; deny > ask > allow, in any
// order and across layers (runtime, tenant, session). Without a vote, the default follows from the tool's hints. So an
// allow overrides the default's ask, but never an explicit ask or deny. A failure denies.
//
// No clock and no store: the caller must time out a policy function that never answers.

import { chainCatch, isThenable } from '../core/maybe-promise.ts'
import { toRecordedForm } from '../core/tool-value.ts'
import {
  type ApprovalTerms,
  type Effect,
  type Facts,
  isEffect,
  isQuorum,
  isReason,
  isUntrusted,
  matchRule,
  type Policy,
  type RuleMatch,
  type ToolFacts,
} from './rules.ts'

/** A tool's own `approval`: always ask, never ask, or a function bound to this call. */
export type ToolApproval = 'always' | 'never' | (() => unknown)

/** The facts of a call, with the tool's own `approval`. */
export interface PolicyQuestion extends Facts {
  readonly tool: ToolFacts & { readonly approval?: ToolApproval | undefined }
}

/** The decision of the policies about one call. */
export interface Decision {
  /** Whether the call may run, needs an approval, or is refused. */
  readonly effect: Effect
  /** What decided: a rule, a policy function, the tool's `approval`, the default, or an error in one of them. */
  readonly by: 'rule' | 'function' | 'tool' | 'default' | 'error'
  /** Index of the policy, for a rule or a function. */
  readonly layer?: number
  /** Index of the rule in that policy. */
  readonly rule?: number
  /** A sentence for people and the model. It never contains argument values or errors. */
  readonly reason: string
  /** For ask: how many people must approve (the largest quorum of all ask votes). */
  readonly quorum?: number
  /** For ask: the combined terms of all ask votes. */
  readonly asking?: CombinedApprovalTerms
}

/** The strictest terms: the largest quorum, the shortest expiry, and every list of approvers must contain the voter. */
export interface CombinedApprovalTerms {
  readonly quorum: number
  readonly separate: boolean
  readonly approvers: readonly (readonly string[])[]
  readonly expiresMs: number
}

/** One vote on a call: of a rule, a function or the tool. */
export interface Vote extends Omit<Decision, 'asking'> {
  /** For ask: the terms of this vote. */
  readonly terms?: ApprovalTerms
  /** False if it is unclear from the arguments or hints whether the rule matches; the vote then counts anyway. */
  readonly certain: boolean
}

/** A decision and how it came about. */
export interface Explanation {
  /** What would happen. */
  readonly decision: Decision
  /** All votes in order: rules by layer, then functions, then the tool. */
  readonly votes: readonly Vote[]
  /** The decision without any vote. */
  readonly default: Decision
  /** Why this decision won. */
  readonly why: string
}

/** Receives the error or the invalid answer of a policy function. It goes to the operator's log only. */
export type Report = (error: unknown, layer: number | undefined) => void

/** Returns synchronously if no policy function is asynchronous. Never throws, never rejects. */
export function decide(
  policies: readonly Policy[],
  question: PolicyQuestion,
  report?: Report,
): Decision | Promise<Decision> {
  const evaluate = (): Decision | Promise<Decision> => {
    const rules = ruleVotes(policies, question)
    // No function can override a deny, so they are not called.
    if (rules.some((vote) => vote.effect === 'deny')) return conclude(policies, question, rules)
    return whenAllVoted(functionVotes(policies, question, report), (others) =>
      conclude(policies, question, [...rules, ...others]),
    )
  }
  return denyOnError(evaluate, (denied) => denied, report)
}

/** The same evaluation with all votes. It calls policy functions but does not run the tool. */
export function explain(
  policies: readonly Policy[],
  question: PolicyQuestion,
  report?: Report,
): Explanation | Promise<Explanation> {
  const evaluate = (): Explanation | Promise<Explanation> => {
    const rules = ruleVotes(policies, question)
    return whenAllVoted(functionVotes(policies, question, report), (others) => {
      const votes = [...rules, ...others]
      const decision = conclude(policies, question, votes)
      return {
        decision,
        votes,
        default: defaultDecision(policies, question.tool),
        why: explanationText(decision, votes),
      }
    })
  }
  return denyOnError(
    evaluate,
    (denied) => ({ decision: denied, votes: [], default: denied, why: denied.reason }),
    report,
  )
}

function conclude(policies: readonly Policy[], question: PolicyQuestion, votes: readonly Vote[]): Decision {
  const decision = strongest(votes) ?? defaultDecision(policies, question.tool)
  if (decision.effect !== 'ask') return decision
  const terms = votes.flatMap((vote) =>
    vote.effect === 'ask' ? [{ ...vote.terms, ...(vote.quorum && { quorum: vote.quorum }) }] : [],
  )
  return { ...decision, asking: combineTerms([...policies.map(({ approvals }) => approvals), ...terms]) }
}

/** An approval request without an answer is denied after this time. */
const defaultExpiryMs = 15 * 60_000

export function combineTerms(all: readonly ApprovalTerms[]): CombinedApprovalTerms {
  const expiries = all.flatMap(({ expiresMs }) => expiresMs ?? [])
  return {
    quorum: Math.max(1, ...all.map(({ quorum = 1 }) => quorum)),
    separate: all.some(({ separate }) => separate),
    approvers: all.flatMap(({ approvers }) => (approvers ? [approvers] : [])),
    expiresMs: expiries.length > 0 ? Math.min(...expiries) : defaultExpiryMs,
  }
}

const strength: Readonly<Record<Effect, number>> = { allow: 0, ask: 1, deny: 2 }

/** The first of the strongest votes, so that the same votes always give the same winner. */
function strongest(votes: readonly Vote[]): Decision | undefined {
  let winner: Vote | undefined
  for (const vote of votes) if (!winner || strength[vote.effect] > strength[winner.effect]) winner = vote
  if (!winner) return undefined
  const { certain: _, quorum: __, terms: ___, ...decision } = winner
  const wanted = votes.flatMap((vote) => (vote.effect === 'ask' && vote.quorum !== undefined ? [vote.quorum] : []))
  return winner.effect === 'ask' && wanted.length > 0 ? { ...decision, quorum: Math.max(...wanted) } : decision
}

function ruleVotes(policies: readonly Policy[], question: PolicyQuestion): Vote[] {
  const votes: Vote[] = []
  for (const [layer, policy] of policies.entries()) {
    for (const [index, rule] of policy.rules.entries()) {
      const match = matchRule(rule, question)
      if (!match) continue
      const reason = withUncertainty(rule.reason ?? ruleReason(rule.effect, question.tool.name), match, question.tool)
      const { quorum } = rule.asking
      const asks = {
        ...(quorum === undefined ? {} : { quorum }),
        ...(rule.effect === 'ask' ? { terms: rule.asking } : {}),
      }
      votes.push({ effect: rule.effect, by: 'rule', layer, rule: index, reason, certain: match.certain, ...asks })
    }
  }
  return votes
}

function ruleReason(effect: Effect, tool: string): string {
  if (effect === 'deny') return `The policy does not allow this call of '${tool}'.`
  return effect === 'ask'
    ? `The policy asks a person before this call of '${tool}' runs.`
    : `The policy allows this call of '${tool}'.`
}

/** Adds why the rule could not be ruled out: the model may be able to correct the arguments. */
function withUncertainty(reason: string, match: RuleMatch, tool: ToolFacts): string {
  if (match.certain) return reason
  const doubt =
    match.unsurePath === undefined
      ? `What '${tool.name}' says about itself comes from a source that is not trusted, so this could not be ruled out.`
      : `The argument '${match.unsurePath}' is missing or of an unexpected type, so this could not be ruled out.`
  return `${reason}${/[.!?…]$/.test(reason) ? '' : '.'} ${doubt}`
}

/** Calls the functions of all layers concurrently; their votes keep the layer order. */
function functionVotes(
  policies: readonly Policy[],
  question: PolicyQuestion,
  report: Report | undefined,
): (Vote | undefined | Promise<Vote | undefined>)[] {
  const { tenant, session, principal } = question
  const { approval, ...tool } = question.tool
  const votes: (Vote | undefined | Promise<Vote | undefined>)[] = []
  for (const [layer, { decide: ask }] of policies.entries()) {
    if (!ask) continue
    const copy = (): Facts => ({
      tenant,
      session,
      principal,
      tool: { ...tool, hints: { ...tool.hints } },
      args: toRecordedForm(question.args),
    })
    votes.push(callVoter(() => ask(copy()), { by: 'function', layer }, question.tool.name, report))
  }
  if (approval !== undefined) {
    votes.push(
      callVoter(
        typeof approval === 'function' ? approval : () => approval,
        { by: 'tool' },
        question.tool.name,
        report,
        isUntrusted(tool),
      ),
    )
  }
  return votes
}

type Voter = { readonly by: 'function'; readonly layer: number } | { readonly by: 'tool' }

/**
 * Calls one function. An exception, a rejection or an invalid answer is a deny; the error goes to the operator's log
 * only.
 */
function callVoter(
  ask: () => unknown,
  voter: Voter,
  tool: string,
  report: Report | undefined,
  mayNotAllow = false,
): Vote | undefined | Promise<Vote | undefined> {
  const layer = voter.by === 'function' ? { layer: voter.layer } : {}
  const failed = (error: unknown): Vote => {
    reportError(report, error, layer.layer)
    const whose = voter.by === 'function' ? 'A policy function' : `The approval function of '${tool}'`
    return { effect: 'deny', by: 'error', ...layer, reason: `${whose} failed, so the call is denied.`, certain: true }
  }
  const voteOf = (answer: unknown): Vote | undefined => {
    const verdict = readVerdict(answer, voter.by)
    if (verdict === undefined || (mayNotAllow && verdict.effect === 'allow')) return undefined
    return {
      ...verdict,
      by: voter.by,
      ...layer,
      reason: verdict.reason ?? defaultReason(verdict.effect, voter.by, tool),
      certain: true,
    }
  }
  try {
    const answer = ask()
    if (!isThenable(answer)) return voteOf(answer)
    return Promise.resolve(answer).then(voteOf).catch(failed)
  } catch (error) {
    return failed(error)
  }
}

/**
 * A tool's approval may also be 'always', 'never' or a boolean (needs approval). Anything else throws, which denies.
 */
function readVerdict(
  answer: unknown,
  by: Voter['by'],
): { effect: Effect; reason?: string; quorum?: number } | undefined {
  if (answer === undefined) return undefined
  if (isEffect(answer)) return { effect: answer }
  if (by === 'tool') {
    if (answer === 'always' || answer === true) return { effect: 'ask' }
    if (answer === 'never' || answer === false) return { effect: 'allow' }
  }
  if (typeof answer !== 'object' || answer === null)
    throw new TypeError(`A policy function returned a value of type ${typeof answer}, which is not a verdict`)
  const { effect, reason, quorum } = answer as { effect?: unknown; reason?: unknown; quorum?: unknown }
  if (!isEffect(effect))
    throw new TypeError("The effect of a policy function's verdict is not 'allow', 'ask' or 'deny'")
  if (reason !== undefined && !isReason(reason))
    throw new TypeError("The reason of a policy function's verdict is not a string of reasonable length")
  if (quorum !== undefined && !isQuorum(quorum))
    throw new TypeError("The quorum of a policy function's verdict is not a whole number of at least 1")
  return { effect, ...(reason === undefined ? {} : { reason }), ...(quorum === undefined ? {} : { quorum }) }
}

function defaultReason(effect: Effect, by: Voter['by'], tool: string): string {
  if (by === 'function') return ruleReason(effect, tool)
  if (effect === 'ask') return `'${tool}' asks a person before it runs.`
  return effect === 'deny' ? `'${tool}' does not allow this call.` : `'${tool}' needs no approval for this call.`
}

/**
 * The decision without a vote. Destructive or openWorld tools ask, even if readOnly. Other local tools are allowed, or
 * ask if any layer is careful. Remote tools ask unless they are trusted and declare themselves readOnly or not
 * destructive.
 */
export function defaultDecision(policies: readonly Policy[], { name, hints, remote, trusted }: ToolFacts): Decision {
  const ask = (why: string): Decision => ({
    effect: 'ask',
    by: 'default',
    reason: `${why}, so a person is asked first.`,
  })
  if (hints.destructive) return ask(`'${name}' can have effects that cannot be undone`)
  if (hints.openWorld) return ask(`'${name}' reaches beyond the host's own systems`)
  if (remote && !trusted) return ask(`'${name}' comes from a remote source that is not trusted`)
  if (remote && hints.readOnly !== true && hints.destructive !== false)
    return ask(`'${name}' is a remote tool that does not say what it may do`)
  if (policies.some((policy) => policy.careful)) return ask(`No rule speaks about '${name}', and the policy is careful`)
  return { effect: 'allow', by: 'default', reason: `Nothing speaks against '${name}'.` }
}

function explanationText(decision: Decision, votes: readonly Vote[]): string {
  if (decision.by === 'default')
    return `No rule decides about this call, so the default for such a tool applies: ${decision.effect}.`
  const which = {
    rule: `Rule ${decision.rule} of layer ${decision.layer}`,
    function: `The function of layer ${decision.layer}`,
    tool: "The tool's own approval",
    error: 'A failed function',
  }[decision.by]
  const others = votes.length - 1
  if (others === 0) return `${which} decides: ${decision.effect}. No other rule matches.`
  const equals = votes.filter((vote) => vote.effect === decision.effect).length - 1
  const rest =
    equals === others ? 'the others agree' : `deny is stronger than ask, and ask than allow, whatever the order`
  return `${which} decides: ${decision.effect}. ${others === 1 ? '1 other vote was' : `${others} other votes were`} counted; ${rest}.`
}

/** Calls `then` with all votes in order; synchronously if none of them is a promise. */
function whenAllVoted<T>(
  pending: readonly (Vote | undefined | Promise<Vote | undefined>)[],
  then: (votes: readonly Vote[]) => T,
): T | Promise<T> {
  const present = (votes: readonly (Vote | undefined)[]): Vote[] => votes.filter((vote) => vote !== undefined)
  if (pending.some(isThenable))
    return Promise.all(pending.map(async (one) => one)).then((votes) => then(present(votes)))
  return then(present(pending as readonly (Vote | undefined)[]))
}

/** The last line of defence: a bug in this module or malformed facts deny as well. */
function denyOnError<T>(
  evaluate: () => T | Promise<T>,
  fromDenial: (denied: Decision) => T,
  report: Report | undefined,
): T | Promise<T> {
  const failed = (error: unknown): T => {
    reportError(report, error, undefined)
    return fromDenial({
      effect: 'deny',
      by: 'error',
      reason: 'The policy could not be evaluated, so the call is denied.',
    })
  }
  return chainCatch(evaluate, failed)
}

function reportError(report: Report | undefined, error: unknown, layer: number | undefined): void {
  try {
    report?.(error, layer)
  } catch {
    // A failing logger must not turn a deny into an exception.
  }
}
