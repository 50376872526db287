// A person decides (POL-2, POL-3). The first decision wins, by compare-and-set on the item and its wait in one write; who comes later hears
// what was decided. Where it takes several people, an approval is a vote until there are enough. Every word is an event: who, through which
// door, on what exactly.

import { type AskItem, type Decided, decidedOf, itemName, type Vote } from '../store/records/approval-request.ts'
import { type CallRecord, type WaitRecord, waitTermsOf } from '../store/records/call-record.ts'
import { type EventBodies, eventOf } from '../store/records/event.ts'
import type { Ids } from '../core/ids.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Clock } from '../core/clock.ts'
import { decode, encode, type Json } from '../core/value.ts'
import { mayNot, type MayNot, mayNotWords } from '../policy/approvers.ts'
import type { RememberedRule } from '../policy/match-remembered.ts'
import type { Seal } from '../security/seal.ts'
import type { Change, StoredDocument, Store } from '../store/store.ts'
import { decodeResolution, timedOut } from '../store/records/resolution.ts'
import type { Engine } from '../engine/engine.ts'
import { itemIn, verbsFor } from './inbox.ts'
import { answerTo } from './check-answer.ts'
import { ruleName } from './remembered-rules.ts'
import { type InboxDecision, type Word, wordOf } from './decision-input.ts'

export type DecidedAs = 'approved' | 'denied' | 'edited' | 'answered'

export type DecideAnswer =
  /** `pending`: it counts, and more people must approve. */
  | {
      readonly answer: 'accepted'
      readonly status: DecidedAs | 'pending'
      readonly approvals: number
      readonly quorum: number
      /** The rule that was made of it. */
      readonly rule?: string
    }
  /** Somebody, or the clock, was first. */
  | {
      readonly answer: 'already_decided'
      readonly status: DecidedAs | 'expired' | 'withdrawn'
      readonly by: readonly Vote[]
    }
  /** It is not for this person to say, or not about this. Nothing changed but the record of the try. */
  | { readonly answer: 'refused'; readonly why: MayNot | 'fingerprint_mismatch'; readonly message: string }
  | { readonly answer: 'invalid'; readonly problems: readonly string[] }
  /** Never was, or is another's, or ended with its call. */
  | { readonly answer: 'unknown' }

export interface DecideHost {
  readonly store: Store
  readonly engine: () => Pick<Engine, 'answer'>
  readonly clock: Clock
  readonly ids: Ids
  readonly seal: Seal
  readonly mostBytes: number
  /**
   * What an approval of arguments that a person wrote is bound to, for the tool they were shown, and the arguments with what was hidden from them; or what is
   * wrong.
   */
  judgeEdit(
    call: CallRecord,
    input: Json,
    shown: Pick<AskItem, 'toolFingerprint' | 'args'>,
  ): Promise<{ fingerprint: string; input: Json } | { problems: readonly string[] }>
  /** What is wrong with a result that a person gives instead of the tool's. */
  judgeAnswer(call: CallRecord, value: unknown, must: boolean): MaybePromise<readonly string[]>
}

/** What is asked about, as it stands on record. */
interface Found {
  readonly wait: WaitRecord
  readonly call: CallRecord
  readonly kept: StoredDocument
  readonly item: AskItem
}

/** With every conflict somebody else has got further, so this ends; but nothing is tried without end. */
const mostTries = 1_000

export async function decide(host: DecideHost, id: string, given: InboxDecision): Promise<DecideAnswer> {
  const word = wordOf(given, host.mostBytes)
  if ('problems' in word) return { answer: 'invalid', problems: word.problems }
  for (let tries = 0; tries < mostTries; tries++) {
    const found = await find(host, id, word)
    if ('answer' in found) return found
    const answer = await decideNow(host, found, word)
    if (answer) return answer
  }
  return { answer: 'unknown' }
}

async function find(
  { store, clock, engine }: DecideHost,
  id: string,
  { tenant, session }: Word,
): Promise<Found | DecideAnswer> {
  const wait = typeof id === 'string' ? await store.wait(id) : undefined
  const call = wait && (await store.call(wait.call))
  const { asks } = wait ? waitTermsOf(wait) : {}
  if (!wait || !call || !asks || asks.kind === 'client') return unknown
  const { position } = call
  if ((tenant ?? position.tenant) !== position.tenant || (session ?? position.session) !== position.session)
    return unknown
  if (wait.resolution !== null) return already(wait.resolution)
  // It ended between the two looks, with an answer or without one.
  if (call.state === 'settled') return already((await store.wait(wait.id))?.resolution ?? null)
  if (clock.now() >= wait.deadline) {
    // The clock was first, even if its timer has not fired yet.
    await engine().answer(wait, call, timedOut(wait), { events: [] })
    return already((await store.wait(wait.id))?.resolution ?? null)
  }
  const kept = await store.document(itemName(asks.kind, position, wait.id))
  if (kept) return { wait, call, kept, item: itemIn(kept) }
  // It was answered between the two looks, or its call ended.
  const now = await store.wait(wait.id)
  return now?.resolution ? already(now.resolution) : unknown
}

const unknown: DecideAnswer = { answer: 'unknown' }

const statusOf: Readonly<Record<Decided['decision'], DecidedAs>> = {
  approve: 'approved',
  deny: 'denied',
  edit: 'edited',
  answer: 'answered',
}

function already(resolution: string | null): DecideAnswer {
  if (resolution === null) return unknown
  const ended = decodeResolution(resolution)
  const decided = decidedOf(ended)
  if (decided) return { answer: 'already_decided', status: statusOf[decided.decision], by: decided.votes }
  return { answer: 'already_decided', status: 'timeout' in ended ? 'expired' : 'withdrawn', by: [] }
}

/** Null: somebody was faster, so it is looked at again. */
async function decideNow(host: DecideHost, found: Found, word: Word): Promise<DecideAnswer | null> {
  const { item } = found
  const approves = word.verb !== 'deny'
  if (!verbsFor[item.kind].includes(word.verb) || (item.final && word.verb === 'approve'))
    return cannot(item, word.verb)
  if (word.remember && !verbsFor[item.kind].includes('remember'))
    return { answer: 'invalid', problems: ['Only approvals can be remembered.'] }
  // A rule for nobody would be one for everybody.
  if (word.remember?.scope === 'principal' && item.principal === null)
    return {
      answer: 'invalid',
      problems: ['Who asked is not on record, so nothing can be remembered for them. It still waits.'],
    }
  if (word.fingerprint !== undefined && word.fingerprint !== item.fingerprint)
    return refused(
      host,
      found,
      word,
      'fingerprint_mismatch',
      'What waits is not what this decision is about. It still waits: look at it again.',
    )
  const why = mayNot(item, word.by, approves)
  if (why) return refused(host, found, word, why, mayNotWords[why])
  const vote: Vote = {
    by: word.by,
    door: word.door,
    at: host.clock.now(),
    ...(word.reason === undefined ? {} : { reason: word.reason }),
  }
  const votes = word.verb === 'approve' ? [...item.votes, vote] : [vote]
  // Others must approve too; what a person changed goes before them as well, so an edit ends this item whatever the quorum.
  if (word.verb === 'approve' && votes.length < item.of.quorum) return counted(host, found, word, votes)
  const decided = await decidedBy(host, found, word, votes)
  if ('answer' in decided) return decided
  // Who approved this one call has not said anything about the next: a rule has the vote of who makes it.
  const rule = word.remember && ruleOf(host, found, word, [vote])
  const { tenant } = found.call.position
  const also = {
    guards: [revisionOf(found.kept)],
    ...(rule ? { documents: [{ ...ruleName(tenant, rule.session ?? '', rule.id), value: JSON.stringify(rule) }] } : {}),
    events: [madeOf(found, word, votes, rule?.id)],
  }
  if (!(await host.engine().answer(found.wait, found.call, { value: decided }, also))) return null
  const made = rule ? { rule: rule.id } : {}
  return {
    answer: 'accepted',
    status: statusOf[decided.decision],
    approvals: votes.length,
    quorum: item.of.quorum,
    ...made,
  }
}

const revisionOf = ({ of, tenant, session, key, revision }: StoredDocument): Change['guards'][number] => ({
  kind: 'kept',
  of,
  tenant,
  session,
  key,
  revision,
})

const subjectOf = ({ call: { position, uid } }: Found) => ({
  tenant: position.tenant,
  session: position.session,
  call: uid,
})

function madeOf(
  found: Found,
  { verb, by, door, reason }: Word,
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
  return eventOf(subjectOf(found), 'decision.made', votes.at(-1)?.at ?? 0, body)
}

/** One of several that it takes. */
async function counted(
  host: DecideHost,
  found: Found,
  word: Word,
  votes: readonly Vote[],
): Promise<DecideAnswer | null> {
  const { kept, item, wait } = found
  const { of, tenant, session, key } = kept
  const next = JSON.stringify({ ...item, votes })
  const { ok } = await host.store.commit({
    guards: [{ kind: 'open', wait: wait.id }, revisionOf(kept)],
    documents: [{ of, tenant, session, key, value: next }],
    events: [madeOf(found, word, votes)],
  })
  return ok ? { answer: 'accepted', status: 'pending', approvals: votes.length, quorum: item.of.quorum } : null
}

async function refused(
  { store, clock }: DecideHost,
  found: Found,
  { by, door }: Word,
  why: MayNot | 'fingerprint_mismatch',
  message: string,
): Promise<DecideAnswer | null> {
  const tried = eventOf(subjectOf(found), 'decision.refused', clock.now(), {
    wait: found.wait.id,
    asks: found.item.kind,
    by,
    door,
    why,
  })
  const { ok } = await store.commit({ guards: [{ kind: 'open', wait: found.wait.id }], events: [tried] })
  return ok ? { answer: 'refused', why, message } : null
}

function cannot({ kind, final }: AskItem, verb: string): DecideAnswer {
  const verbs = verbsFor[kind].filter((each) => !(final && each === 'approve') && each !== 'remember')
  const why = final && verb === 'approve' ? ' A step that must run once had begun, so it cannot be run again.' : ''
  return { answer: 'invalid', problems: [`A ${kind} takes ${verbs.join(', ')}, not ${verb}.${why} It still waits.`] }
}

/** What answers the wait. */
async function decidedBy(
  host: DecideHost,
  { call, item, wait }: Found,
  { verb, value }: Word,
  votes: readonly Vote[],
): Promise<Decided | DecideAnswer> {
  const at = votes.at(-1)?.at ?? 0
  if (verb === 'approve' || verb === 'deny') return { decision: verb, at, votes }
  const given = decode(value as string)
  const invalid = (problems: readonly string[]): DecideAnswer => ({ answer: 'invalid', problems })
  if (verb === 'edit') {
    const judged = await host.judgeEdit(call, given, item)
    return 'problems' in judged ? invalid(judged.problems) : { decision: 'edit', at, votes, ...judged }
  }
  if (item.question) {
    const answer = answerTo(item.question, given)
    if ('problem' in answer) return invalid([answer.problem])
    // A secret is sealed, whatever else is: only the body that asked opens it.
    const kept =
      item.question.kind === 'secret'
        ? { sealed: host.seal.text(encode(answer.value), secretPlace(wait.id)) }
        : answer.value
    return { decision: 'answer', at, votes, value: kept }
  }
  const problems = await host.judgeAnswer(call, given, true)
  return problems.length > 0 ? invalid(problems) : { decision: 'answer', at, votes, value: given }
}

export const secretPlace = (wait: string) => ({ record: `answer ${wait}`, field: 'value' })

function ruleOf(
  { ids, clock }: DecideHost,
  { call, item }: Found,
  { verb, remember, reason }: Word,
  votes: readonly Vote[],
): RememberedRule {
  const { tenant, session } = call.position
  const { scope, when, forMs } = remember as NonNullable<Word['remember']>
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
