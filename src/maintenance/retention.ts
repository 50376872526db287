// KEEP: forgetting, as commands (DUR-10). Only settled calls are forgotten, and none of a session that has open ones: a body that goes on
// after a crash asks for what it had called, and a batch that is asked again must find its settled calls. Everything happens in small
// transactions, so workers go on meanwhile; what a crash leaves undone, the next command does.

import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import { eraseOccurrences, forgetOccurrences, forgetTasks } from './erase-tasks.ts'
import type { Scope, Store, Unsettled } from '../store/store.ts'
import { withAgents } from '../store/agent-sessions.ts'

export interface PruneOptions {
  /** Forget what settled longer ago than this … */
  readonly olderThan?: Duration
  /** … or before this instant, in milliseconds since 1970. One of the two must be given. */
  readonly settledBefore?: number
  /** Of one tenant only. */
  readonly tenant?: string
  /** How many calls at most; the answer says whether there are more. */
  readonly limit?: number
}

export interface EraseOptions {
  /** `default` if only a session is named. */
  readonly tenant?: string
  /** The whole tenant if left out. */
  readonly session?: string
  /** `refuse` (default): nothing is erased while a call is open. `cancel`: open calls are cancelled first. */
  readonly open?: 'refuse' | 'cancel'
  /** How long to wait for cancelled calls to end; default 10 s. */
  readonly within?: Duration
}

export interface Erased {
  readonly calls: number
  readonly events: number
  readonly attachments: number
  /** There was more than `limit`. */
  readonly more: boolean
}

export interface EraseResult extends Erased {
  /** Bytes of it may remain in unused parts of the disk: the store is too large to be written anew in a moment, or is PostgreSQL. */
  readonly traces: boolean
}

export interface KeepHost {
  readonly store: Store
  readonly clock: Clock
  cancel(uid: string, why: { reason: string; by: string | null }): Promise<boolean>
}

/** Calls per transaction: a page of a hundred with a few steps each takes some milliseconds. */
const pageOf = 100
const lookMs = 20
const mostNamed = 10

export async function prune({ store, clock }: KeepHost, options: PruneOptions): Promise<Erased> {
  const { olderThan, settledBefore, tenant, limit = Number.POSITIVE_INFINITY } = options
  if ((olderThan === undefined) === (settledBefore === undefined)) {
    throw new PawlError(
      'config_invalid',
      `prune needs olderThan or settledBefore, one of them: prune({ olderThan: '30d' }).`,
    )
  }
  if (settledBefore !== undefined && !Number.isFinite(settledBefore)) {
    throw new PawlError('config_invalid', `settledBefore is ${String(settledBefore)}; give milliseconds since 1970.`)
  }
  if (!(limit >= 1)) throw new PawlError('config_invalid', `limit is ${String(limit)}; it must be at least 1.`)
  const before = settledBefore ?? clock.now() - milliseconds(olderThan as Duration, 'olderThan')
  await forgetRules(store, before, tenant)
  const erased = await pages(
    store,
    { settledBefore: before, ...(tenant === undefined ? {} : { of: { tenant } }) },
    limit,
  )
  await forgetTasks(store, before, tenant)
  await forgetOccurrences(store, before, tenant)
  return erased
}

/** Rules that people made and that ended, or were revoked, before then: nobody asks about them, and every ask reads past them. */
async function forgetRules(store: Store, before: number, tenant: string | undefined): Promise<void> {
  for (let after = ''; ;) {
    const page = await store.documentsOf({
      of: 'rule',
      ...(tenant === undefined ? {} : { tenant }),
      after,
      limit: pageOf,
    })
    const over = page.filter(({ value }) => {
      const { until, revoked } = JSON.parse(value) as { until: number; revoked?: { at: number } }
      return Math.min(until, revoked?.at ?? until) < before
    })
    const documents = over.map(({ of, tenant: whose, session, key }) => ({
      of,
      tenant: whose,
      session,
      key,
      value: null,
    }))
    if (documents.length > 0) await store.commit({ guards: [], documents: documents, events: [] })
    const last = page.at(-1)
    if (!last || page.length < pageOf) return
    after = last.key
  }
}

export async function erase(host: KeepHost, options: EraseOptions): Promise<EraseResult> {
  const { tenant, session, open = 'refuse', within = '10s' } = options
  if (tenant === undefined && session === undefined) {
    throw new PawlError('config_invalid', 'erase needs a session or a tenant: it never means everything.')
  }
  if (open !== 'refuse' && open !== 'cancel')
    throw new PawlError('config_invalid', `open is ${JSON.stringify(open)}, not 'refuse' or 'cancel'.`)
  const of: Scope = { tenant: tenant ?? 'default', ...(session === undefined ? {} : { session }) }
  if (open === 'cancel') await cancelOpen(host, of, milliseconds(within, 'within'))
  const all: Scope[] = []
  for await (const each of scopesIn(host.store, of)) {
    await refuseOpen(host.store, each, 'Nothing was erased.')
    all.push(each)
  }
  let erased: Erased = { calls: 0, events: 0, attachments: 0, more: false }
  // Those below first: until they are gone, what is above tells of them.
  for (const each of all.toReversed()) {
    erased = sum(erased, await pages(host.store, { of: each }, Number.POSITIVE_INFINITY))
    if (each.session !== undefined) await eraseOccurrences(host.store, { tenant: each.tenant, session: each.session })
  }
  const traces = !(await host.store.scrub())
  // What began meanwhile has kept its session.
  for (const each of all)
    await refuseOpen(
      host.store,
      each,
      `It began while ${erased.calls} settled calls were erased; what is left stands as it was.`,
    )
  return { ...erased, traces }
}

/** A session is erased with those of the agents that worked for it: what they said was said for it. */
async function* scopesIn(store: Store, { tenant, session }: Scope): AsyncGenerator<Scope, void> {
  if (session === undefined) yield { tenant }
  else yield* withAgents(store, { tenant, session })
}

const sum = (a: Erased, b: Erased): Erased => ({
  ...b,
  calls: a.calls + b.calls,
  events: a.events + b.events,
  attachments: a.attachments + b.attachments,
})

async function pages(store: Store, query: { settledBefore?: number; of?: Scope }, most: number): Promise<Erased> {
  let [calls, events, attachments] = [0, 0, 0]
  for (let after: string | null = ''; after !== null;) {
    const page = await store.erase({ ...query, after, limit: Math.min(pageOf, most - calls) })
    calls += page.calls
    events += page.events
    attachments += page.attachments
    after = page.next
    if (calls >= most) return { calls, events, attachments, more: after !== null }
    await new Promise((resolve) => setImmediate(resolve)) // others have their turn
  }
  return { calls, events, attachments, more: false }
}

async function refuseOpen(store: Store, of: Scope, done: string): Promise<void> {
  const open = await store.unsettled({ of, after: '', limit: mostNamed + 1 })
  if (open.length === 0) return
  const named = open.slice(0, mostNamed).map(nameOf)
  throw new PawlError('erase_open', `${named.join(', ')}${open.length > mostNamed ? ' and more' : ''}. ${done}`, {
    details: { calls: open.slice(0, mostNamed).map(({ uid, position, state }) => ({ uid, ...position, state })) },
  })
}

const nameOf = ({ position: { session, id }, tool, state }: Unsettled): string =>
  `'${id}' of ${tool} in session '${session}' is ${state}`

/**
 * Asks all that is open to stop, again and again, because what one call began stops with it or a moment later. From above: who lets an agent work
 * does not hear of its end first.
 */
async function cancelOpen(host: KeepHost, of: Scope, ms: number): Promise<void> {
  const { store, clock } = host
  const giveUp = clock.monotonic() + ms
  const asked = new Set<string>()
  for (;;) {
    let open = 0
    for await (const each of scopesIn(store, of)) open += await cancelIn(host, each, asked)
    if (open === 0 || clock.monotonic() >= giveUp) return
    await new Promise<void>((resolve) => void clock.timer(lookMs, resolve))
  }
}

/** Tells how many are open. */
async function cancelIn({ store, cancel }: KeepHost, of: Scope, asked: Set<string>): Promise<number> {
  let open = 0
  for (let after = ''; ;) {
    const page = await store.unsettled({ of, after, limit: pageOf })
    open += page.length
    for (const { uid } of page) {
      if (!asked.has(uid) && (await cancel(uid, { reason: 'Its session is erased', by: null }))) asked.add(uid)
    }
    if (page.length < pageOf) return open
    after = (page.at(-1) as Unsettled).uid
  }
}
