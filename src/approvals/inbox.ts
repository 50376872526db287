// The inbox: every request that waits for a person, with the tool, its effect, its arguments and a preview. An item
// document exists from the moment a call asks until it is answered, so the cost of listing depends only on the number
// of items returned.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import type { AskKind } from '../store/records/approval-wait-terms.ts'
import type { AskItem, Preview, QuestionShape, Vote } from '../store/records/approval-request.ts'
import { waitTermsOf } from '../store/records/call-record.ts'
import { PawlError } from '../core/errors.ts'
import { decode, type Json } from '../core/tool-value.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { Redactor } from '../security/redact.ts'
import type { StoredDocument, Store } from '../store/store.ts'
import type { PersonAnnouncement } from '../calls/deliver-wait-announcement.ts'
import { collections } from '../store/collections.ts'

/** What an inbox item asks of a person. */
export type InboxKind = Exclude<AskKind, 'client'>

/** Which items runtime.inbox() returns. Default: all open ones. */
export interface InboxQuery {
  /** Default: all tenants (for operators). */
  readonly tenant?: string
  /** Only items of this session. */
  readonly session?: string
  /** Only items of this kind. */
  readonly kind?: InboxKind
  /** Only the item with this id; the list is empty if there is none, or if it is decided. */
  readonly id?: string
  /** The page starts after this id; pass the id of the last item of the previous page. */
  readonly after?: string
  /** Maximum number of items; default 100, at most 1,000. */
  readonly limit?: number
}

/** Verbs accepted by `decide(id, { … })`. */
export type InboxVerb = 'approve' | 'deny' | 'edit' | 'answer' | 'remember'

/** Something that waits for a person: an approval, a question, a connection or an unknown outcome. */
export interface InboxItem {
  /** For runtime.decide(). */
  readonly id: string
  /** What is asked of the person. */
  readonly kind: InboxKind
  /** The decisions that are possible. */
  readonly verbs: readonly InboxVerb[]
  /** Tenant of the call. */
  readonly tenant: string
  /** Session of the call. */
  readonly session: string
  /** Principal of the call. */
  readonly principal: string | null
  /** Name of the tool. */
  readonly tool: string
  /** Title of the tool, or its name. */
  readonly title: string
  /** The arguments that would run, with secret values redacted. */
  readonly args: Json
  /** One sentence on what will happen, plus the preview the tool provides. */
  readonly preview: Preview
  /** Effect declared by the tool. */
  readonly effect: string
  /** Why a decision is needed. */
  readonly reason: string
  /** Fingerprint of what would run. A decision that names another fingerprint is refused. */
  readonly fingerprint: string
  /** How many people must approve. */
  readonly quorum: number
  /** The approvals so far. */
  readonly approvals: readonly Vote[]
  /** True if the principal of the call may not approve it. */
  readonly separate: boolean
  /** Lists of patterns; the decider must match one pattern of every list. */
  readonly approvers: readonly (readonly string[])[]
  /** When it was asked, in milliseconds since 1970. */
  readonly askedAt: number
  /** Milliseconds since 1970. Without a decision by then the request is denied. */
  readonly expiresAt: number
  /** Uid of the call, as in events. */
  readonly call: string
  /** The model's id of the call. */
  readonly callId: string
  /** Uids of the calls that it is nested in, outermost first. */
  readonly under: readonly string[]
  /** The question, for kind `question`. */
  readonly question?: QuestionShape & { readonly default?: Json }
  /** The provider to connect, for kind `connection`. */
  readonly provider?: string
  /** For a `finding`: the attempt whose outcome is unknown. */
  readonly interrupted?: { readonly attempt: number; readonly startedAt: number }
}

const pageSize = 200
const maxLimit = 1_000

export const inboxOptions = {
  tenant: option.string,
  session: option.string,
  kind: option.oneOf('approval', 'finding', 'connection', 'question'),
  id: option.string,
  after: option.string,
  limit: option.wholeNumber(1, maxLimit),
} satisfies OptionTable<InboxQuery>

export type InboxHost = Pick<Foundation, 'store' | 'clock' | 'redact' | 'knownSecrets'>

/** One open item as runtime.inbox() shows it. `tenant`: any other item is unknown. Expired items count as decided. */
export async function readInboxItem(
  { store, clock, redact, knownSecrets }: InboxHost,
  id: string,
  tenant?: string,
): Promise<InboxItem | 'unknown' | 'decided'> {
  const wait = await store.wait(id)
  const { asks } = wait ? waitTermsOf(wait) : {}
  const call = wait && (await store.call(wait.call))
  if (!wait || !call || !asks || asks.kind === 'client' || (tenant ?? call.position.tenant) !== call.position.tenant)
    return 'unknown'
  const document = await store.document(collections.inbox.name(call.position, id))
  if (!document || clock.now() >= wait.deadline) return 'decided'
  await knownSecrets.ensure(document)
  return toInboxItem(document, parseItem(document), redact)
}

/** The announcement of an open item; null if it is decided or has ended. */
export async function readRequest(host: InboxHost, id: string): Promise<Omit<PersonAnnouncement, 'about'> | null> {
  const item = await readInboxItem(host, id)
  if (typeof item === 'string') return null
  const { kind, tool, title, preview, reason, fingerprint, expiresAt, call, callId, session, tenant } = item
  return { id, kind, tool, title, preview, reason, fingerprint, expiresAt, call, callId, session, tenant }
}

export async function inbox(
  { store, redact, knownSecrets }: Omit<InboxHost, 'clock'>,
  query: InboxQuery = {},
): Promise<InboxItem[]> {
  checkOptions(query, inboxOptions, 'inbox()')
  const { tenant, session, kind, id, after = '', limit = 100 } = query
  if (session !== undefined && tenant === undefined)
    throw new PawlError('config_invalid', '`session` is set without `tenant`. Pass both.')
  const options = { kind, after, limit, redact, knownSecrets }
  if (id !== undefined) {
    const found = id > after ? await findItem(store, id, options) : undefined
    if (!found || (tenant !== undefined && found.tenant !== tenant)) return []
    const isCovered =
      session === undefined || (await sessionWithAgents(store, found.tenant, session)).includes(found.session)
    return isCovered ? [found] : []
  }
  if (tenant === undefined || session === undefined)
    return listItems(store, tenant === undefined ? {} : { tenant }, options)
  // Requests of the session's agents belong to the same inbox.
  const all: InboxItem[] = []
  for (const each of await sessionWithAgents(store, tenant, session))
    all.push(...(await listItems(store, { tenant, session: each }, options)))
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
}

/** The session, and the sessions of its agents that are still running or have open work. */
async function sessionWithAgents(store: Store, tenant: string, session: string): Promise<string[]> {
  const found = [session]
  for (const each of found)
    for await (const { key } of collections.sessionWorking.iterate(store, { tenant, session: each }))
      if (!found.includes(key)) found.push(key)
  return found
}

/** Reads the wait, its call and its item. An item is deleted when it is decided or its call ends. */
async function findItem(
  store: Store,
  id: string,
  { kind, redact, knownSecrets }: ListOptions,
): Promise<InboxItem | undefined> {
  const wait = await store.wait(id)
  const call = wait?.resolution === null ? await store.call(wait.call) : undefined
  const document = call && (await store.document(collections.inbox.name(call.position, id)))
  if (!document) return undefined
  const item = parseItem(document)
  if (kind !== undefined && item.kind !== kind) return undefined
  await knownSecrets.ensure(document)
  return toInboxItem(document, item, redact)
}

interface ListOptions extends Pick<Foundation, 'redact' | 'knownSecrets'> {
  readonly kind: InboxKind | undefined
  readonly after: string
  readonly limit: number
}

async function listItems(
  store: Store,
  scope: { tenant?: string; session?: string },
  { kind, after, limit, redact, knownSecrets }: ListOptions,
): Promise<InboxItem[]> {
  const of = { of: collections.inbox.of, ...scope }
  const found: InboxItem[] = []
  for (let from = after; ;) {
    const page = await store.documentsOf({
      ...of,
      after: from,
      limit: Math.min(pageSize, kind === undefined ? limit - found.length : pageSize),
    })
    for (const document of page) {
      const item = parseItem(document)
      if (kind !== undefined && item.kind !== kind) continue
      await knownSecrets.ensure(document)
      if (found.push(toInboxItem(document, item, redact)) === limit) return found
    }
    const last = page.at(-1)
    if (!last || page.length < pageSize) return found
    from = last.key
  }
}

export const parseItem = ({ value }: StoredDocument): AskItem => collections.inbox.parse(value)

/** Verbs that apply to each kind. */
export const verbsFor: Readonly<Record<AskKind, readonly InboxVerb[]>> = {
  approval: ['approve', 'deny', 'edit', 'answer', 'remember'],
  finding: ['approve', 'deny', 'answer'],
  connection: ['approve', 'deny'],
  question: ['deny', 'answer'],
  client: [],
}

function toInboxItem({ tenant, session, key }: StoredDocument, item: AskItem, redact: Redactor): InboxItem {
  const { kind, votes, of, createdAt, deadline, toolFingerprint: _, toolId: __, final, args, ...rest } = item
  const shown = {
    ...rest,
    id: key,
    kind: kind as InboxKind,
    verbs: final ? verbsFor[kind].filter((verb) => verb !== 'approve') : verbsFor[kind],
    tenant,
    session,
    args: decode(args),
    quorum: of.quorum,
    approvals: votes,
    separate: of.separate,
    approvers: of.approvers,
    askedAt: createdAt,
    expiresAt: deadline,
  }
  return redact.active ? { ...shown, ...redacted(shown, redact) } : shown
}

/** The fields that contain text; ids and timestamps need no redaction. */
const redacted = ({ args, preview, reason, approvals, question }: InboxItem, redact: Redactor): Partial<InboxItem> => ({
  ...(question === undefined ? {} : { question: redact.deep(question) }),
  args: redact.deep(args),
  preview: redact.deep(preview),
  reason: redact.text(reason),
  approvals: redact.deep(approvals),
})
