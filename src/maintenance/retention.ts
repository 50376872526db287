// The prune and erase commands. They delete only settled calls, and prune skips sessions with open calls: a body that
// resumes after a crash looks up the calls it made, and a repeated batch must find its settled calls. Deletion runs in
// small transactions, so workers are not blocked; after a crash, run the command again.

import { checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { eraseTokens, pruneTokens } from './erase-tokens.ts'
import { eraseEmittedEvents, pruneEmittedEvents, pruneTasks } from './erase-tasks.ts'
import type { ScopeFilter, Store, Unsettled } from '../store/store.ts'
import { iterateAgentSessions } from '../store/iterate-agent-sessions.ts'
import { eventOf, storeSubject } from '../store/records/event.ts'
import type { Clock } from '../core/clock.ts'
import { collections } from '../store/collections.ts'
import type { Engine } from '../engine/engine.ts'
import type { Foundation } from '../engine/foundation.ts'
import { deletionOf } from '../store/collection.ts'

/** Options of runtime.prune(): which settled calls to delete. */
export interface PruneOptions {
  /** Deletes calls that settled longer ago than this … */
  readonly olderThan?: Duration
  /** … or before this instant, in milliseconds since 1970. Exactly one of the two is required. */
  readonly settledBefore?: number
  /** Prunes only this tenant. Default: all tenants. */
  readonly tenant?: string
  /** Maximum number of calls to delete; `more` in the result is true if there are more. Default: no limit. */
  readonly limit?: number
}

/** Options of runtime.erase(): what to erase. */
export interface EraseOptions {
  /** Tenant to erase from. Default: 'default', if a session is given. */
  readonly tenant?: string
  /** Session to erase, with the sessions of its agents. Default: the whole tenant. */
  readonly session?: string
  /** `refuse`: fails if a call is open, and erases nothing. `cancel`: cancels open calls first. Default: 'refuse'. */
  readonly open?: 'refuse' | 'cancel'
  /** How long to wait for cancelled calls to end. Default: 10 s. */
  readonly within?: Duration
}

/** What prune() or erase() deleted. */
export interface Erased {
  /** Number of calls. */
  readonly calls: number
  /** Number of events. */
  readonly events: number
  /** Number of attachments. */
  readonly attachments: number
  /** True if `limit` was reached and more calls could be deleted. */
  readonly more: boolean
}

/** The result of runtime.erase(). */
export interface EraseResult extends Erased {
  /**
   * True if erased bytes may remain in unused parts of the disk: the store is too large to rewrite at once, or is
   * PostgreSQL.
   */
  readonly traces: boolean
}

export interface RetentionHost extends Pick<Foundation, 'store' | 'clock'> {
  readonly engine: Pick<Engine, 'cancel'>
}

/** Calls per transaction: a page of a hundred with a few steps each takes some milliseconds. */
const pageSize = 100
const pollMs = 20
const maxNamed = 10

export const pruneOptions = {
  olderThan: option.duration,
  settledBefore: option.finiteNumber,
  tenant: option.string,
  limit: option.positiveLimit,
} satisfies OptionTable<PruneOptions>

export const eraseOptions = {
  tenant: option.string,
  session: option.string,
  open: option.oneOf('refuse', 'cancel'),
  within: option.duration,
} satisfies OptionTable<EraseOptions>

export async function prune({ store, clock }: RetentionHost, options: PruneOptions): Promise<Erased> {
  checkRequiredOptions(options, pruneOptions, 'prune()')
  const { olderThan, settledBefore, tenant, limit = Number.POSITIVE_INFINITY } = options
  if ((olderThan === undefined) === (settledBefore === undefined)) {
    throw new PawlError(
      'config_invalid',
      `prune needs either olderThan or settledBefore. Example: prune({ olderThan: '30d' }).`,
    )
  }
  const before = settledBefore ?? clock.now() - milliseconds(olderThan, 'olderThan')
  let documents = await pruneRules(store, before, tenant)
  const erased = await erasePages(
    store,
    { settledBefore: before, ...(tenant === undefined ? {} : { of: { tenant } }) },
    limit,
  )
  documents += await pruneTasks(store, before, tenant)
  documents += await pruneEmittedEvents(store, before, tenant)
  documents += await pruneTokens(store, before, tenant)
  await recordDeletion(store, clock, 'prune', erased, documents)
  return erased
}

/** The deletion itself is many small commits, so its event follows. After a crash, the command is run again. */
async function recordDeletion(
  store: Store,
  clock: Clock,
  by: 'prune' | 'erase',
  { calls, events, attachments }: Erased,
  documents: number,
): Promise<void> {
  if (calls + events + attachments + documents === 0) return
  const body = { by, calls, events, attachments, documents }
  await store.commit({ guards: [], events: [eventOf(storeSubject, 'records.deleted', clock.now(), body)] })
}

/**
 * Deletes remembered rules that expired or were revoked before `before`. Otherwise every approval request would read
 * them.
 */
async function pruneRules(store: Store, before: number, tenant: string | undefined): Promise<number> {
  let pruned = 0
  for await (const page of collections.rule.pages(store, tenant === undefined ? {} : { tenant }, pageSize)) {
    const expired = page.filter(({ value }) => {
      const { until, revoked } = collections.rule.parse(value) as { until: number; revoked?: { at: number } }
      return Math.min(until, revoked?.at ?? until) < before
    })
    const documents = expired.map(deletionOf)
    if (documents.length > 0) await store.commit({ guards: [], documents, events: [] })
    pruned += documents.length
  }
  return pruned
}

export async function erase(host: RetentionHost, options: EraseOptions): Promise<EraseResult> {
  checkRequiredOptions(options, eraseOptions, 'erase()')
  const { tenant, session, open = 'refuse', within = '10s' } = options
  if (tenant === undefined && session === undefined) {
    throw new PawlError('config_invalid', 'erase needs a session or a tenant; it never erases everything.')
  }
  const scope: ScopeFilter = { tenant: tenant ?? 'default', ...(session === undefined ? {} : { session }) }
  if (open === 'cancel') await cancelOpen(host, scope, milliseconds(within, 'within'))
  const scopes: ScopeFilter[] = []
  for await (const each of scopesOf(host.store, scope)) {
    await rejectIfOpen(host.store, each, 'Nothing was erased.')
    scopes.push(each)
  }
  let erased: Erased = { calls: 0, events: 0, attachments: 0, more: false }
  let documents = 0
  // Agent sessions first: the parent session lists them until they are erased.
  for (const each of scopes.toReversed()) {
    erased = addErased(erased, await erasePages(host.store, { of: each }, Number.POSITIVE_INFINITY))
    const { tenant: owner, session: emittedTo } = each
    if (emittedTo === undefined) documents += await eraseTokens(host.store, owner)
    else documents += await eraseEmittedEvents(host.store, { tenant: owner, session: emittedTo })
  }
  await recordDeletion(host.store, host.clock, 'erase', erased, documents)
  const traces = !(await host.store.scrub())
  // A session in which a call has started since was not erased.
  for (const each of scopes)
    await rejectIfOpen(
      host.store,
      each,
      `They started while ${erased.calls} settled calls were erased; their sessions were kept.`,
    )
  return { ...erased, traces }
}

/** A session is erased together with the sessions of agents that worked for it. */
async function* scopesOf(store: Store, { tenant, session }: ScopeFilter): AsyncGenerator<ScopeFilter, void> {
  if (session === undefined) yield { tenant }
  else yield* iterateAgentSessions(store, { tenant, session })
}

const addErased = (a: Erased, b: Erased): Erased => ({
  ...b,
  calls: a.calls + b.calls,
  events: a.events + b.events,
  attachments: a.attachments + b.attachments,
})

async function erasePages(
  store: Store,
  query: { settledBefore?: number; of?: ScopeFilter },
  limit: number,
): Promise<Erased> {
  let [calls, events, attachments] = [0, 0, 0]
  for (let after: string | null = ''; after !== null;) {
    const page = await store.erase({ ...query, after, limit: Math.min(pageSize, limit - calls) })
    calls += page.calls
    events += page.events
    attachments += page.attachments
    after = page.next
    if (calls >= limit) return { calls, events, attachments, more: after !== null }
    await new Promise((resolve) => setImmediate(resolve)) // lets other work run between pages
  }
  return { calls, events, attachments, more: false }
}

async function rejectIfOpen(store: Store, of: ScopeFilter, consequence: string): Promise<void> {
  const open = await store.unsettled({ of, after: '', limit: maxNamed + 1 })
  if (open.length === 0) return
  const named = open.slice(0, maxNamed).map(nameOf)
  throw new PawlError('erase_open', `${named.join(', ')}${open.length > maxNamed ? ' and more' : ''}. ${consequence}`, {
    details: { calls: open.slice(0, maxNamed).map(({ uid, position, state }) => ({ uid, ...position, state })) },
  })
}

const nameOf = ({ position: { session, id }, tool, state }: Unsettled): string =>
  `'${id}' of ${tool} in session '${session}' is ${state}`

/**
 * Cancels all open calls repeatedly, because nested calls end with their parent or a moment later. Parent sessions come
 * first, so that a parent does not see its agent cancelled before it is cancelled itself.
 */
async function cancelOpen(host: RetentionHost, of: ScopeFilter, ms: number): Promise<void> {
  const { store, clock } = host
  const deadline = clock.monotonic() + ms
  const cancelled = new Set<string>()
  for (;;) {
    let open = 0
    for await (const each of scopesOf(store, of)) open += await cancelIn(host, each, cancelled)
    if (open === 0 || clock.monotonic() >= deadline) return
    await new Promise<void>((resolve) => void clock.timer(pollMs, resolve))
  }
}

/** Returns the number of open calls. */
async function cancelIn({ store, engine }: RetentionHost, of: ScopeFilter, cancelled: Set<string>): Promise<number> {
  let open = 0
  for (let after = ''; ;) {
    const page = await store.unsettled({ of, after, limit: pageSize })
    open += page.length
    for (const { uid } of page) {
      if (!cancelled.has(uid) && (await engine.cancel(uid, { reason: 'Its session is erased', by: null })))
        cancelled.add(uid)
    }
    if (page.length < pageSize) return open
    after = (page.at(-1) as Unsettled).uid
  }
}
