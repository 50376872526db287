// The inbox (POL-6): all that waits for people, with what would run, its effect, its arguments and a preview. It costs what it shows: an
// item is kept from the moment a call asks until it has its answer.

import type { AskKind } from '../store/records/approval-terms.ts'
import type { AskItem, Preview, QuestionShape, Vote } from '../store/records/approval-request.ts'
import { PawlError } from '../core/errors.ts'
import { decode, type Json } from '../core/value.ts'
import type { Redactor } from '../security/redact.ts'
import { workingName } from '../store/records/conversation.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { StoredDocument, Store } from '../store/store.ts'

export type InboxKind = Exclude<AskKind, 'client'>

export interface InboxQuery {
  /** Everybody's if left out: for operators. */
  readonly tenant?: string
  readonly session?: string
  readonly kind?: InboxKind
  /** The id after which the page begins: of the last item of the page before. */
  readonly after?: string
  /** At most this many; 100 if not said, 1,000 at most. */
  readonly limit?: number
}

/** What may be done with an item: `decide(id, { … })`. */
export type InboxVerb = 'approve' | 'deny' | 'edit' | 'answer' | 'remember'

export interface InboxItem {
  readonly id: string
  readonly kind: InboxKind
  readonly verbs: readonly InboxVerb[]
  readonly tenant: string
  readonly session: string
  /** Who asked. */
  readonly principal: string | null
  readonly tool: string
  readonly title: string
  /** Exactly what would run; values that are secrets are not shown. */
  readonly args: Json
  /** What will happen, in a plain sentence, and more of it where the tool says more. */
  readonly preview: Preview
  /** What it may do. */
  readonly effect: string
  /** Why somebody is asked. */
  readonly reason: string
  /** Of what would run: a decision may name it, and is refused if it is about something else. */
  readonly fingerprint: string
  readonly quorum: number
  readonly approvals: readonly Vote[]
  /** Who asked may not approve. */
  readonly separate: boolean
  /** Lists of patterns; who decides must be in each of them. */
  readonly approvers: readonly (readonly string[])[]
  readonly askedAt: number
  /** An instant; silence until then is no. */
  readonly expiresAt: number
  /** The call as events name it, the model's id of it, and the calls above it, outermost first. */
  readonly call: string
  readonly callId: string
  readonly under: readonly string[]
  readonly question?: QuestionShape & { readonly default?: Json }
  readonly provider?: string
  /** For a finding: the attempt whose end nobody saw. */
  readonly interrupted?: { readonly attempt: number; readonly startedAt: number }
}

const pageSize = 200
const mostListed = 1_000

export async function inbox(
  { store, redact }: { store: Store; redact: Redactor },
  { tenant, session, kind, after = '', limit = 100 }: InboxQuery = {},
): Promise<InboxItem[]> {
  if (!(Number.isSafeInteger(limit) && limit > 0 && limit <= mostListed))
    throw new PawlError(
      'config_invalid',
      `limit is ${String(limit)}; it must be a whole number from 1 to ${mostListed}.`,
    )
  if (session !== undefined && tenant === undefined)
    throw new PawlError('config_invalid', 'A session belongs to a tenant: name both.')
  const page = { kind, after, limit, redact }
  if (tenant === undefined || session === undefined) return listed(store, tenant === undefined ? {} : { tenant }, page)
  // What its agents ask is asked of the same people (SESS-6).
  const all: InboxItem[] = []
  for (const each of await withAgents(store, tenant, session))
    all.push(...(await listed(store, { tenant, session: each }, page)))
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
}

/** A session, and those of all agents that are at work for it, or have left something behind that is. */
async function withAgents(store: Store, tenant: string, session: string): Promise<string[]> {
  const found = [session]
  for (const each of found)
    for await (const { key } of iterateDocuments(store, {
      of: workingName({ tenant, session: each }, '').of,
      tenant,
      session: each,
    }))
      if (!found.includes(key)) found.push(key)
  return found
}

async function listed(
  store: Store,
  whose: { tenant?: string; session?: string },
  { kind, after, limit, redact }: { kind: InboxKind | undefined; after: string; limit: number; redact: Redactor },
): Promise<InboxItem[]> {
  const of = { of: 'inbox', ...whose }
  const found: InboxItem[] = []
  for (let from = after; ;) {
    const page = await store.documentsOf({
      ...of,
      after: from,
      limit: Math.min(pageSize, kind === undefined ? limit - found.length : pageSize),
    })
    for (const kept of page) {
      const item = itemIn(kept)
      if (kind !== undefined && item.kind !== kind) continue
      if (found.push(shown(kept, item, redact)) === limit) return found
    }
    const last = page.at(-1)
    if (!last || page.length < pageSize) return found
    from = last.key
  }
}

export const itemIn = ({ value }: StoredDocument): AskItem => JSON.parse(value) as AskItem

/** What makes sense for each kind. */
export const verbsFor: Readonly<Record<AskKind, readonly InboxVerb[]>> = {
  approval: ['approve', 'deny', 'edit', 'answer', 'remember'],
  finding: ['approve', 'deny', 'answer'],
  connection: ['approve', 'deny'],
  question: ['deny', 'answer'],
  client: [],
}

function shown({ tenant, session, key }: StoredDocument, item: AskItem, redact: Redactor): InboxItem {
  const { kind, votes, of, createdAt, deadline, toolFingerprint: _, toolId: __, final, args, ...rest } = item
  const all = {
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
  return redact.active ? { ...all, ...redacted(all, redact) } : all
}

/** The words; ids and instants stay as they are. */
const redacted = ({ args, preview, reason, approvals, question }: InboxItem, redact: Redactor): Partial<InboxItem> => ({
  ...(question === undefined ? {} : { question: redact.deep(question) }),
  args: redact.deep(args),
  preview: redact.deep(preview),
  reason: redact.text(reason),
  approvals: redact.deep(approvals),
})
