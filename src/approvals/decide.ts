// Applies a person's decision to an inbox item. The first decision wins: one commit compares and sets both the item and
// its wait, and a later decision gets `already_decided`. With a quorum, an approval is a vote until enough people have
// approved. Every decision and every refused attempt is recorded as an event.

import { type AskItem, type DecisionRecord, decisionOf, type Vote } from '../store/records/approval-request.ts'
import { type CallRecord, type WaitRecord, waitTermsOf } from '../store/records/call-record.ts'
import { type EventBodies, eventOf } from '../store/records/event.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import { decode, encode, type Json } from '../core/tool-value.ts'
import { voteRefusal, type VoteRefusal, voteRefusalText } from '../policy/approvers.ts'
import type { RememberedRule } from '../policy/match-remembered-rules.ts'
import type { Change, StoredDocument } from '../store/store.ts'
import { decodeResolution, timeoutResolution } from '../store/records/wait-resolution.ts'
import { parseItem, verbsFor } from './inbox.ts'
import { checkAnswer } from './check-question-answer.ts'
import { type InboxDecision, type ParsedDecision, parseDecision } from './decision-input.ts'
import type { Foundation } from '../engine/foundation.ts'
import { itemsOf, collections } from '../store/collections.ts'

export type DecisionStatus = 'approved' | 'denied' | 'edited' | 'answered'

/** The answer of runtime.decide(). */
export type DecideAnswer =
  /** `pending`: the vote was recorded and more approvals are needed. */
  | {
      readonly answer: 'accepted'
      readonly status: DecisionStatus | 'pending'
      readonly approvals: number
      readonly quorum: number
      /** Id of the remembered rule, if one was created. */
      readonly rule?: string
    }
  /** Another decision or the deadline came first. */
  | {
      readonly answer: 'already_decided'
      readonly status: DecisionStatus | 'expired' | 'withdrawn'
      readonly by: readonly Vote[]
    }
  /** This person may not decide it, or the fingerprint differs. Only the refused attempt is recorded. */
  | { readonly answer: 'refused'; readonly why: VoteRefusal | 'fingerprint_mismatch'; readonly message: string }
  | { readonly answer: 'invalid'; readonly problems: readonly string[] }
  /** No such item, an item of another tenant or session, or one that ended with its call. */
  | { readonly answer: 'unknown' }

export interface DecideHost extends Pick<Foundation, 'store' | 'engine' | 'clock' | 'ids' | 'seal' | 'sizes'> {
  /**
   * Validates arguments edited by a person against the tool version they were shown. Returns the fingerprint to bind
   * the approval to and the arguments with hidden fields restored, or the problems.
   */
  validateEdit(
    call: CallRecord,
    input: Json,
    shown: Pick<AskItem, 'toolFingerprint' | 'args'>,
  ): Promise<{ fingerprint: string; input: Json } | { problems: readonly string[] }>
  /** Problems with a result that a person supplies in place of the tool's result. */
  validateAnswer(call: CallRecord, value: unknown, must: boolean): MaybePromise<readonly string[]>
}

/** An undecided item with its stored records. */
interface OpenItem {
  readonly wait: WaitRecord
  readonly call: CallRecord
  readonly document: StoredDocument
  readonly item: AskItem
}

/** Upper bound on commit conflicts. Every conflict means another decision made progress, so the loop ends earlier. */
const maxTries = 1_000

export async function decide(host: DecideHost, id: string, input: InboxDecision): Promise<DecideAnswer> {
  const decision = parseDecision(input, host.sizes.result)
  if ('problems' in decision) return { answer: 'invalid', problems: decision.problems }
  for (let tries = 0; tries < maxTries; tries++) {
    const found = await findOpenItem(host, id, decision)
    if ('answer' in found) return found
    const answer = await tryDecide(host, found, decision)
    if (answer) return answer
  }
  return { answer: 'unknown' }
}

async function findOpenItem(
  { store, clock, engine }: DecideHost,
  id: string,
  { tenant, session }: ParsedDecision,
): Promise<OpenItem | DecideAnswer> {
  const wait = typeof id === 'string' ? await store.wait(id) : undefined
  const call = wait && (await store.call(wait.call))
  const { asks } = wait ? waitTermsOf(wait) : {}
  if (!wait || !call || !asks || asks.kind === 'client') return unknown
  const { position } = call
  if ((tenant ?? position.tenant) !== position.tenant || (session ?? position.session) !== position.session)
    return unknown
  if (wait.resolution !== null) return alreadyDecided(wait.resolution)
  // The call ended between the two reads, with or without an answer.
  if (call.state === 'settled') return alreadyDecided((await store.wait(wait.id))?.resolution ?? null)
  if (clock.now() >= wait.deadline) {
    // The deadline has passed even though its timer has not fired yet: record the timeout.
    await engine.answer(wait, call, timeoutResolution(wait), { events: [] })
    return alreadyDecided((await store.wait(wait.id))?.resolution ?? null)
  }
  const document = await store.document(itemsOf(asks.kind).name(position, wait.id))
  if (document) return { wait, call, document, item: parseItem(document) }
  // The item was answered between the two reads, or its call ended.
  const now = await store.wait(wait.id)
  return now?.resolution ? alreadyDecided(now.resolution) : unknown
}

const unknown: DecideAnswer = { answer: 'unknown' }

const statusOf: Readonly<Record<DecisionRecord['decision'], DecisionStatus>> = {
  approve: 'approved',
  deny: 'denied',
  edit: 'edited',
  answer: 'answered',
}

/** The end of an inbox item. */
export interface EndedItem {
  /** Uid of the call that asked. */
  readonly call: string
  /** Tenant of the call. */
  readonly tenant: string
  /** Session of the call. */
  readonly session: string
  /** `withdrawn`: the call ended without an answer. */
  readonly status: DecisionStatus | 'expired' | 'withdrawn'
  /** The votes of people; empty without a decision. */
  readonly by: readonly Vote[]
}

/** Undefined if the item is open, or if there never was such an item in the tenant. */
export async function endedItem(
  { store }: Pick<DecideHost, 'store'>,
  id: string,
  tenant: string | undefined,
): Promise<EndedItem | undefined> {
  const wait = await store.wait(id)
  const call = wait && (await store.call(wait.call))
  const { asks } = wait ? waitTermsOf(wait) : {}
  if (!wait || !call || !asks || asks.kind === 'client') return undefined
  if ((tenant ?? call.position.tenant) !== call.position.tenant) return undefined
  if (wait.resolution === null && call.state !== 'settled') return undefined
  const answer = alreadyDecided(wait.resolution)
  const ended = answer.answer === 'already_decided' ? answer : { status: 'withdrawn' as const, by: [] }
  const { session } = call.position
  return { call: call.uid, tenant: call.position.tenant, session, status: ended.status, by: ended.by }
}

function alreadyDecided(resolution: string | null): DecideAnswer {
  if (resolution === null) return unknown
  const resolved = decodeResolution(resolution)
  const decided = decisionOf(resolved)
  if (decided) return { answer: 'already_decided', status: statusOf[decided.decision], by: decided.votes }
  return { answer: 'already_decided', status: 'timeout' in resolved ? 'expired' : 'withdrawn', by: [] }
}

/** Null: another commit won; the caller reads the item again. */
async function tryDecide(host: DecideHost, found: OpenItem, decision: ParsedDecision): Promise<DecideAnswer | null> {
  const { item } = found
  const approves = decision.verb !== 'deny'
  if (!verbsFor[item.kind].includes(decision.verb) || (item.final && decision.verb === 'approve'))
    return unsupportedVerb(item, decision.verb)
  if (decision.remember && !verbsFor[item.kind].includes('remember'))
    return { answer: 'invalid', problems: ['Only approvals can be remembered.'] }
  // A rule without a principal would match every principal.
  if (decision.remember?.scope === 'principal' && item.principal === null)
    return {
      answer: 'invalid',
      problems: [
        "The call has no principal, so a rule with scope 'principal' cannot be created. The call still waits.",
      ],
    }
  if (decision.fingerprint !== undefined && decision.fingerprint !== item.fingerprint)
    return recordRefusal(
      host,
      found,
      decision,
      'fingerprint_mismatch',
      'The fingerprint of the decision differs from the item. The call still waits: read the item again.',
    )
  const refusal = voteRefusal(item, decision.by, approves)
  if (refusal) return recordRefusal(host, found, decision, refusal, voteRefusalText[refusal])
  const vote: Vote = {
    by: decision.by,
    door: decision.door,
    at: host.clock.now(),
    ...(decision.reason === undefined ? {} : { reason: decision.reason }),
  }
  const votes = decision.verb === 'approve' ? [...item.votes, vote] : [vote]
  // More approvals are needed. An edit always ends the item: the edited arguments are then checked as a new request.
  if (decision.verb === 'approve' && votes.length < item.of.quorum) return recordVote(host, found, decision, votes)
  const decided = await buildResolution(host, found, decision, votes)
  if ('answer' in decided) return decided
  // The rule carries only the vote of the person who creates it: the others approved this call, not future ones.
  const rule = decision.remember && buildRule(host, found, decision, [vote])
  const { tenant } = found.call.position
  const attached = {
    guards: [revisionGuard(found.document)],
    ...(rule ? { documents: [collections.rule.write(rule, { tenant, session: rule.session ?? '' }, rule.id)] } : {}),
    events: [decisionEvent(found, decision, votes, rule?.id)],
  }
  if (!(await host.engine.answer(found.wait, found.call, { value: decided }, attached))) return null
  const remembered = rule ? { rule: rule.id } : {}
  return {
    answer: 'accepted',
    status: statusOf[decided.decision],
    approvals: votes.length,
    quorum: item.of.quorum,
    ...remembered,
  }
}

const revisionGuard = ({ of, tenant, session, key, revision }: StoredDocument): Change['guards'][number] => ({
  kind: 'kept',
  of,
  tenant,
  session,
  key,
  revision,
})

const eventSubject = ({ call: { position, uid } }: OpenItem) => ({
  tenant: position.tenant,
  session: position.session,
  call: uid,
})

function decisionEvent(
  found: OpenItem,
  { verb, by, door, reason }: ParsedDecision,
  votes: readonly Vote[],
  rule?: string,
): Change['events'][number] {
  const { item, wait } = found
  const { quorum } = item.of
  const body: EventBodies['decision.made'] = {
    wait: wait.id,
    asks: item.kind,
    decision: verb,
    by,
    door,
    fingerprint: item.fingerprint,
    ...(reason === undefined ? {} : { reason }),
    ...(quorum > 1 && verb === 'approve' ? { votes: { have: votes.length, need: quorum } } : {}),
    ...(rule === undefined ? {} : { remembered: rule }),
  }
  return eventOf(eventSubject(found), 'decision.made', votes.at(-1)?.at ?? 0, body)
}

/** Records one of several required approvals. */
async function recordVote(
  host: DecideHost,
  found: OpenItem,
  decision: ParsedDecision,
  votes: readonly Vote[],
): Promise<DecideAnswer | null> {
  const { document, item, wait } = found
  const { of, tenant, session, key } = document
  const next = JSON.stringify({ ...item, votes })
  const { ok } = await host.store.commit({
    guards: [{ kind: 'open', wait: wait.id }, revisionGuard(document)],
    documents: [{ of, tenant, session, key, value: next }],
    events: [decisionEvent(found, decision, votes)],
  })
  return ok ? { answer: 'accepted', status: 'pending', approvals: votes.length, quorum: item.of.quorum } : null
}

async function recordRefusal(
  { store, clock }: DecideHost,
  found: OpenItem,
  { by, door }: ParsedDecision,
  why: VoteRefusal | 'fingerprint_mismatch',
  message: string,
): Promise<DecideAnswer | null> {
  const event = eventOf(eventSubject(found), 'decision.refused', clock.now(), {
    wait: found.wait.id,
    asks: found.item.kind,
    by,
    door,
    why,
  })
  const { ok } = await store.commit({ guards: [{ kind: 'open', wait: found.wait.id }], events: [event] })
  return ok ? { answer: 'refused', why, message } : null
}

function unsupportedVerb({ kind, final }: AskItem, verb: string): DecideAnswer {
  const verbs = verbsFor[kind].filter((each) => !(final && each === 'approve') && each !== 'remember')
  const why =
    final && verb === 'approve' ? ' A step that must run only once had started, so the call cannot run again.' : ''
  return {
    answer: 'invalid',
    problems: [`An item of kind '${kind}' accepts ${verbs.join(', ')}, not ${verb}.${why} The call still waits.`],
  }
}

/** The value that resolves the wait, or the reason why the decision is invalid. */
async function buildResolution(
  host: DecideHost,
  { call, item, wait }: OpenItem,
  { verb, value }: ParsedDecision,
  votes: readonly Vote[],
): Promise<DecisionRecord | DecideAnswer> {
  const at = votes.at(-1)?.at ?? 0
  if (verb === 'approve' || verb === 'deny') return { decision: verb, at, votes }
  const input = decode(value as string)
  const invalid = (problems: readonly string[]): DecideAnswer => ({ answer: 'invalid', problems })
  if (verb === 'edit') {
    const checked = await host.validateEdit(call, input, item)
    return 'problems' in checked ? invalid(checked.problems) : { decision: 'edit', at, votes, ...checked }
  }
  if (item.question) {
    const answer = checkAnswer(item.question, input)
    if ('problem' in answer) return invalid([answer.problem])
    // A secret answer is always sealed; only the body that asked opens it.
    const recordedValue =
      item.question.kind === 'secret'
        ? { sealed: host.seal.text(encode(answer.value), secretAnswerPosition(wait.id)) }
        : answer.value
    return { decision: 'answer', at, votes, value: recordedValue }
  }
  const problems = await host.validateAnswer(call, input, true)
  return problems.length > 0 ? invalid(problems) : { decision: 'answer', at, votes, value: input }
}

export const secretAnswerPosition = (wait: string) => ({ record: `answer ${wait}`, field: 'value' })

function buildRule(
  { ids, clock }: DecideHost,
  { call, item }: OpenItem,
  { verb, remember, reason }: ParsedDecision,
  votes: readonly Vote[],
): RememberedRule {
  const { tenant, session } = call.position
  const { scope, when, forMs } = remember as NonNullable<ParsedDecision['remember']>
  const madeAt = clock.now()
  return {
    id: ids.next(),
    tenant,
    session: scope === 'session' ? session : null,
    principal: scope === 'principal' ? item.principal : null,
    tool: item.tool,
    toolId: item.toolId,
    toolFingerprint: item.toolFingerprint,
    ...(when === undefined ? {} : { when }),
    then: verb === 'approve' ? 'approve' : 'deny',
    votes,
    ...(reason === undefined ? {} : { reason }),
    madeAt,
    until: madeAt + forMs,
    call: call.uid,
    madeIn: session,
  }
}
