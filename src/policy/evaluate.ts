// POLICY, the decision (POL-1): may this call run. It stands between prepare and approval (CALL-1), and again before execution.
//
// Every rule that matches, every policy function and the tool's own `approval` is a vote; deny > ask > allow, whatever the order
// and whatever the layer (runtime, tenant, session). Only if nobody votes, the default speaks from the tool's hints. So an allow
// beats the default's ask, and never an ask or a deny that someone wrote. What fails, denies.
//
// No clock and no store here: a function that never answers is for the caller to time out.

import { isThenable } from '../core/maybe-promise.ts'
import { recorded } from '../core/value.ts'
import {
  type AskingTerms,
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

/** What a tool's own `approval` says: always ask, never ask, or a function bound to this call. */
export type ToolApproval = 'always' | 'never' | (() => unknown)

/** The facts of a call, with the tool's own wish. */
export interface Question extends Facts {
  readonly tool: ToolFacts & { readonly approval?: ToolApproval | undefined }
}

export interface Decision {
  readonly effect: Effect
  readonly by: 'rule' | 'function' | 'tool' | 'default' | 'error'
  /** Which of the policies given, for a rule or a function. */
  readonly layer?: number
  /** Which rule of that policy. */
  readonly rule?: number
  /** A plain sentence for people and the model; argument values and errors are never in it. */
  readonly reason: string
  /** For ask: how many people must approve; the most that any asking vote wants. */
  readonly quorum?: number
  /** For ask: how, as all that asks wants it together. */
  readonly asking?: AskedTogether
}

/** The strictest of all that asks: the largest quorum, the shortest time, everybody's approvers. */
export interface AskedTogether {
  readonly quorum: number
  readonly separate: boolean
  readonly approvers: readonly (readonly string[])[]
  readonly expiresMs: number
}

export interface Vote extends Omit<Decision, 'asking'> {
  readonly terms?: AskingTerms
  /** False: it holds because the arguments or hints could not rule it out. */
  readonly certain: boolean
}

export interface Explanation {
  readonly decision: Decision
  /** Every vote, in order: rules by layer, then functions, then the tool. */
  readonly votes: readonly Vote[]
  /** What would be without any vote. */
  readonly default: Decision
  /** Why this decision and no other. */
  readonly why: string
}

/** Hears what a policy function threw or answered wrongly: for the operator's log, as nobody else may read it. */
export type Report = (error: unknown, layer: number | undefined) => void

/** Answers at once if nothing asynchronous was asked. Never throws, never rejects. */
export function decide(policies: readonly Policy[], question: Question, report?: Report): Decision | Promise<Decision> {
  const evaluate = (): Decision | Promise<Decision> => {
    const rules = ruleVotes(policies, question)
    // A deny stands whatever the functions say, so they are not bothered.
    if (rules.some((vote) => vote.effect === 'deny')) return conclude(policies, question, rules)
    return whenHeard(functionVotes(policies, question, report), (others) =>
      conclude(policies, question, [...rules, ...others]),
    )
  }
  return contained(evaluate, (denied) => denied, report)
}

/** The same evaluation, told in full. Functions are asked; nothing runs. */
export function explain(
  policies: readonly Policy[],
  question: Question,
  report?: Report,
): Explanation | Promise<Explanation> {
  const evaluate = (): Explanation | Promise<Explanation> => {
    const rules = ruleVotes(policies, question)
    return whenHeard(functionVotes(policies, question, report), (others) => {
      const votes = [...rules, ...others]
      const decision = conclude(policies, question, votes)
      return { decision, votes, default: defaultDecision(policies, question.tool), why: whyOf(decision, votes) }
    })
  }
  return contained(evaluate, (denied) => ({ decision: denied, votes: [], default: denied, why: denied.reason }), report)
}

function conclude(policies: readonly Policy[], question: Question, votes: readonly Vote[]): Decision {
  const decision = strongest(votes) ?? defaultDecision(policies, question.tool)
  if (decision.effect !== 'ask') return decision
  const terms = votes.flatMap((vote) =>
    vote.effect === 'ask' ? [{ ...vote.terms, ...(vote.quorum && { quorum: vote.quorum }) }] : [],
  )
  return { ...decision, asking: together([...policies.map(({ approvals }) => approvals), ...terms]) }
}

/** Silence for so long is no. */
const defaultExpiryMs = 15 * 60_000

export function together(all: readonly AskingTerms[]): AskedTogether {
  const expiries = all.flatMap(({ expiresMs }) => expiresMs ?? [])
  return {
    quorum: Math.max(1, ...all.map(({ quorum = 1 }) => quorum)),
    separate: all.some(({ separate }) => separate),
    approvers: all.flatMap(({ approvers }) => (approvers ? [approvers] : [])),
    expiresMs: expiries.length > 0 ? Math.min(...expiries) : defaultExpiryMs,
  }
}

const strength: Readonly<Record<Effect, number>> = { allow: 0, ask: 1, deny: 2 }

/** The first of the strongest, so that the same votes always name the same winner. */
function strongest(votes: readonly Vote[]): Decision | undefined {
  let winner: Vote | undefined
  for (const vote of votes) if (!winner || strength[vote.effect] > strength[winner.effect]) winner = vote
  if (!winner) return undefined
  const { certain: _, quorum: __, terms: ___, ...decision } = winner
  const wanted = votes.flatMap((vote) => (vote.effect === 'ask' && vote.quorum !== undefined ? [vote.quorum] : []))
  return winner.effect === 'ask' && wanted.length > 0 ? { ...decision, quorum: Math.max(...wanted) } : decision
}

function ruleVotes(policies: readonly Policy[], question: Question): Vote[] {
  const votes: Vote[] = []
  for (const [layer, policy] of policies.entries()) {
    for (const [index, rule] of policy.rules.entries()) {
      const match = matchRule(rule, question)
      if (!match) continue
      const reason = withDoubt(rule.reason ?? ruleReason(rule.effect, question.tool.name), match, question.tool)
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

/** A rule that holds because it could not be ruled out says so: the model may be able to mend it. */
function withDoubt(reason: string, match: RuleMatch, tool: ToolFacts): string {
  if (match.certain) return reason
  const doubt =
    match.unsureOf === undefined
      ? `What '${tool.name}' says about itself comes from a source that is not trusted, so this could not be ruled out.`
      : `The argument '${match.unsureOf}' is missing or of an unexpected type, so this could not be ruled out.`
  return `${reason}${/[.!?…]$/.test(reason) ? '' : '.'} ${doubt}`
}

/** Functions of all layers are asked at once; their votes keep the order of the layers. */
function functionVotes(
  policies: readonly Policy[],
  question: Question,
  report: Report | undefined,
): (Vote | undefined | Promise<Vote | undefined>)[] {
  const { tenant, session, principal } = question
  const { approval, ...tool } = question.tool
  const asked: (Vote | undefined | Promise<Vote | undefined>)[] = []
  for (const [layer, { decide: ask }] of policies.entries()) {
    if (!ask) continue
    const copy = (): Facts => ({
      tenant,
      session,
      principal,
      tool: { ...tool, hints: { ...tool.hints } },
      args: recorded(question.args),
    })
    asked.push(hear(() => ask(copy()), { by: 'function', layer }, question.tool.name, report))
  }
  if (approval !== undefined) {
    asked.push(
      hear(
        typeof approval === 'function' ? approval : () => approval,
        { by: 'tool' },
        question.tool.name,
        report,
        isUntrusted(tool),
      ),
    )
  }
  return asked
}

type Voter = { readonly by: 'function'; readonly layer: number } | { readonly by: 'tool' }

/** Asks one function. What it throws, rejects with or answers wrongly is a deny, and only the operator's log hears of it. */
function hear(
  ask: () => unknown,
  voter: Voter,
  tool: string,
  report: Report | undefined,
  mayNotAllow = false,
): Vote | undefined | Promise<Vote | undefined> {
  const layer = voter.by === 'function' ? { layer: voter.layer } : {}
  const failed = (error: unknown): Vote => {
    tell(report, error, layer.layer)
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
      reason: verdict.reason ?? spokenReason(verdict.effect, voter.by, tool),
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

/** A tool's approval may also be 'always', 'never', or whether approval is needed. Everything else unknown throws: it denies. */
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
    throw new TypeError(`The answer of a policy function is of type ${typeof answer}, which is no verdict`)
  const { effect, reason, quorum } = answer as { effect?: unknown; reason?: unknown; quorum?: unknown }
  if (!isEffect(effect))
    throw new TypeError("The effect of a policy function's verdict is not 'allow', 'ask' or 'deny'")
  if (reason !== undefined && !isReason(reason))
    throw new TypeError("The reason of a policy function's verdict is not a text of reasonable length")
  if (quorum !== undefined && !isQuorum(quorum))
    throw new TypeError("The quorum of a policy function's verdict is not a whole number of at least 1")
  return { effect, ...(reason === undefined ? {} : { reason }), ...(quorum === undefined ? {} : { quorum }) }
}

function spokenReason(effect: Effect, by: Voter['by'], tool: string): string {
  if (by === 'function') return ruleReason(effect, tool)
  if (effect === 'ask') return `'${tool}' asks a person before it runs.`
  return effect === 'deny' ? `'${tool}' does not allow this call.` : `'${tool}' needs no approval for this call.`
}

/**
 * POL-1, no vote: destructive or openWorld ask, even if readOnly; other own tools allow, or ask if any layer is careful.
 * TOOL-2: remote tools ask unless they are trusted and say that they do no harm; saying nothing is not saying so.
 */
export function defaultDecision(policies: readonly Policy[], { name, hints, remote, trusted }: ToolFacts): Decision {
  const ask = (why: string): Decision => ({
    effect: 'ask',
    by: 'default',
    reason: `${why}, so a person is asked first.`,
  })
  if (hints.destructive) return ask(`'${name}' may destroy something that cannot be brought back`)
  if (hints.openWorld) return ask(`'${name}' reaches beyond the host's own systems`)
  if (remote && !trusted) return ask(`'${name}' comes from a remote source that is not trusted`)
  if (remote && hints.readOnly !== true && hints.destructive !== false)
    return ask(`'${name}' is a remote tool that does not say what it may do`)
  if (policies.some((policy) => policy.careful)) return ask(`No rule speaks about '${name}', and the policy is careful`)
  return { effect: 'allow', by: 'default', reason: `Nothing speaks against '${name}'.` }
}

function whyOf(decision: Decision, votes: readonly Vote[]): string {
  if (decision.by === 'default') return `No rule, function or tool voted, so the default decides: ${decision.effect}.`
  const which = {
    rule: `Rule ${decision.rule} of layer ${decision.layer}`,
    function: `The function of layer ${decision.layer}`,
    tool: "The tool's own approval",
    error: 'A failed function',
  }[decision.by]
  const others = votes.length - 1
  if (others === 0) return `${which} decides: ${decision.effect}. Nothing else voted.`
  const equals = votes.filter((vote) => vote.effect === decision.effect).length - 1
  const rest =
    equals === others ? 'the others agree' : `deny is stronger than ask, and ask than allow, whatever the order`
  return `${which} decides: ${decision.effect}. ${others === 1 ? 'One other vote was' : `${others} other votes were`} heard; ${rest}.`
}

/** Once all have answered, in their order; at once if nobody has to be waited for. */
function whenHeard<T>(
  asked: readonly (Vote | undefined | Promise<Vote | undefined>)[],
  then: (votes: readonly Vote[]) => T,
): T | Promise<T> {
  const present = (votes: readonly (Vote | undefined)[]): Vote[] => votes.filter((vote) => vote !== undefined)
  if (asked.some((one) => one instanceof Promise))
    return Promise.all(asked.map(async (one) => one)).then((votes) => then(present(votes)))
  return then(present(asked as readonly (Vote | undefined)[]))
}

/** The last line of defence: a fault of this module, or facts that are not what they should be, deny too. */
function contained<T>(
  evaluate: () => T | Promise<T>,
  give: (denied: Decision) => T,
  report: Report | undefined,
): T | Promise<T> {
  const failed = (error: unknown): T => {
    tell(report, error, undefined)
    return give({ effect: 'deny', by: 'error', reason: 'The policy could not be evaluated, so the call is denied.' })
  }
  try {
    const result = evaluate()
    return result instanceof Promise ? result.catch(failed) : result
  } catch (error) {
    return failed(error)
  }
}

function tell(report: Report | undefined, error: unknown, layer: number | undefined): void {
  try {
    report?.(error, layer)
  } catch {
    // A log that fails must not turn a deny into a throw.
  }
}
