// The store port: what every store guarantees (docs/decisions/0003). Called by the engine and by everything that
// persists state.
//
// The unit of writing is one Change: guards, state rows and events, applied atomically. Concurrent changes may share
// one transaction, but each has its own result, so a refused change does not affect the others. Reads see every
// change whose commit() has resolved. src/testing/store-cases tests these guarantees; every store passes all of them.

import type {
  AttachmentUse,
  CallPosition,
  CallProgress,
  CallRecord,
  StepRecord,
  WaitRecord,
} from './records/call-record.ts'
import type { EventRecord, NewEvent } from './records/event.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Scope } from '../core/scope.ts'
import type { LeaseHeartbeat } from './lease-heartbeat.ts'
import type { LiveChannel } from './live-channel.ts'

/** A precondition of a change, checked in the same transaction as its writes. */
export type Guard =
  /** No call exists at this position. */
  | { readonly kind: 'absent'; readonly position: CallPosition }
  /** The call exists, is not settled, and has this fence: the writer still holds it. */
  | { readonly kind: 'holds'; readonly call: string; readonly fence: number }
  /**
   * The call exists and has this fence, settled or not. For facts that the last holder learns after the call settled.
   */
  | { readonly kind: 'held'; readonly call: string; readonly fence: number }
  /**
   * The call exists and is not settled, no matter which worker holds it. For requests from outside, such as a cancel.
   */
  | { readonly kind: 'unsettled'; readonly call: string }
  /** The wait exists and is unanswered. */
  | { readonly kind: 'open'; readonly wait: string }
  /** The document has this revision; 0: it does not exist. */
  | ({ readonly kind: 'kept'; readonly revision: number } & DocumentName)
  /** All requested slots are available. Callers never pass it: it is the refusal reason of `takeSlots`. */
  | { readonly kind: 'room'; readonly name: string }

/**
 * A request for semaphore slots. A semaphore limits how many calls may hold a slot at once across all workers: a
 * concurrency key, an exclusive tool, a tool's limit. A slot belongs to the call, not to its worker: it is held until
 * it is released or expires, even if the worker dies.
 */
export interface TakeSlots {
  /**
   * The call that takes the slots. Slots it already holds, and slots held by its ancestors (`above`), do not count
   * against it.
   */
  readonly holder: string
  readonly above?: readonly string[]
  readonly worker: string
  readonly slots: readonly TakenSlot[]
}

export interface TakenSlot {
  readonly name: string
  readonly capacity: number
  /**
   * For rate limits: the slot frees itself after `ms`, and cannot be released earlier. Its holder is then `entry`,
   * because one call may start several times.
   */
  readonly lasts?: { readonly ms: number; readonly entry: string }
}

/** A held slot, or a queue entry for one (then `ticket` is set). */
export interface SlotHold {
  readonly name: string
  readonly holder: string
  readonly worker: string
  readonly ticket: number | null
}

/**
 * Name of a document: a JSON value stored by name, apart from calls (inbox items, remembered rules, connections,
 * pins). `session` is '' for documents of the whole tenant, `tenant` is '' for documents of no tenant. A document is
 * erased with its session or tenant.
 */
export interface DocumentName {
  /** The collection. */
  readonly of: string
  readonly tenant: string
  readonly session: string
  readonly key: string
}

/** Replaces the document of that name; null deletes it. `secret`: always sealed at rest. */
export interface DocumentWrite extends DocumentName {
  readonly value: string | null
  readonly secret?: true
}

export interface StoredDocument extends DocumentName {
  /** 1 when the document is created; every write increments it. */
  readonly revision: number
  readonly value: string
}

export interface DocumentQuery {
  readonly of: string
  /** Default: all tenants. Then keys must be unique in the whole collection. */
  readonly tenant?: string
  /** Default: all sessions of the tenant. '' selects documents that belong to no session. */
  readonly session?: string
  readonly after: string
  readonly limit: number
  /** Descending key order; `after` is then the exclusive upper bound. */
  readonly newest?: boolean
}

export interface Change {
  readonly guards: readonly Guard[]
  readonly insertCall?: CallRecord
  /** Replaces the mutable part of a call. `release` also gives up ownership. */
  readonly updateCall?: { readonly uid: string; readonly progress: CallProgress; readonly release?: boolean }
  /**
   * Takes all of these slots or none. If a semaphore has no free slot, or its free slots go to calls that are ahead in
   * the queue (on living workers), the change is refused with `room`. The queue is skipped by a call that already holds
   * a slot of that semaphore and by a call that runs under another call: the queued calls may be waiting for a slot its
   * ancestor holds. Taking the slots removes the call's ticket.
   */
  readonly takeSlots?: TakeSlots
  /**
   * Queues the call for one semaphore and removes it from any other queue. A new ticket is higher than all existing
   * ones. A call that moves to another queue keeps its ticket, so any two waiting calls have the same order
   * everywhere, which prevents deadlock.
   */
  readonly queueForSlot?: { readonly holder: string; readonly worker: string; readonly name: string }
  /** Releases slots and tickets; those of all semaphores if `names` is left out. */
  readonly releaseSlots?: { readonly holder: string; readonly names?: readonly string[] }
  /** Each replaces the step with the same (call, key). */
  readonly steps?: readonly StepRecord[]
  readonly insertWaits?: readonly WaitRecord[]
  /** Answers a wait. A call that is parked on it becomes queued in the same transaction. */
  readonly resolveWait?: { readonly id: string; readonly resolution: string }
  /** An id identifies its bytes: an attachment that already exists in the tenant is not overwritten. */
  readonly attachments?: readonly AttachmentRecord[]
  /** References from calls to attachments. An attachment is kept as long as one referencing call is. */
  readonly uses?: readonly AttachmentUse[]
  readonly documents?: readonly DocumentWrite[]
  readonly events: readonly NewEvent[]
}

export type Committed =
  /** Every part of the change is recorded, as durably as the store's commit mode says. */
  | { readonly ok: true }
  /** Nothing was written; this guard failed. */
  | { readonly ok: false; readonly refused: Guard }

/**
 * `failed` without `alone`: it is unknown whether the change was written. With `alone`: the store works, but this
 * change can never be written, and no part of it was.
 */
export type Written = Committed | { readonly failed: unknown; readonly alone?: boolean }

export interface AttachmentRecord {
  readonly id: string
  readonly tenant: string
  readonly mediaType: string
  readonly name: string | null
  readonly data: Uint8Array
}

export interface EventQuery {
  readonly after: number
  readonly limit: number
  /** Default: all sessions. */
  readonly of?: Scope
}

export interface CallPage {
  readonly after: string
  readonly limit: number
}

/** A window of the calls of all tenants, newest first. */
export interface RecentCallsQuery {
  /** Only calls of this tenant. Default: all. */
  readonly tenant?: string
  /** The window starts below this uid; null: at the newest call. */
  readonly before: string | null
  /** How many calls of all tenants the store may look at. */
  readonly scan: number
}

export interface RecentCalls {
  /** Those of the tenant, newest first. */
  readonly calls: readonly CallRecord[]
  /** The lowest uid of the window, where the next one starts; null if there are no older calls. */
  readonly next: string | null
}

export interface SessionPage {
  /** Default: all tenants. */
  readonly tenant?: string
  /** The page starts after this session, which need not exist. Its tenant is `tenant`, if that is set. */
  readonly after?: Scope
  /** Leaves out the sessions whose name starts with this. */
  readonly exceptPrefix?: string
  readonly limit: number
}

/** A session that has calls. */
export interface SessionRecord extends Scope {
  /** When its newest call was recorded, in milliseconds since 1970. A call that was erased since may still count. */
  readonly lastCallAt: number
}

/** An unsettled call, without its payloads. */
export type Unsettled = Pick<
  CallRecord,
  'uid' | 'position' | 'tool' | 'terms' | 'state' | 'createdAt' | 'startedAt' | 'wait' | 'deaths' | 'owner'
> & {
  /** Whether the owner's lease is valid by the store's clock. */
  readonly alive: boolean
}

export interface ScopeFilter {
  readonly tenant: string
  /** Default: all sessions of the tenant. */
  readonly session?: string
}

export interface EraseQuery {
  /** Default: all tenants. */
  readonly of?: ScopeFilter
  /**
   * Erase only calls that settled before this instant (ms). If left out, a session with nothing left restarts at
   * sequence 1.
   */
  readonly settledBefore?: number
  /** `next` of the previous page; '' to start. */
  readonly after: string
  /** Maximum number of calls. */
  readonly limit: number
}

export interface ErasedPage {
  readonly calls: number
  readonly events: number
  readonly attachments: number
  /** Cursor for the next page; null at the end. */
  readonly next: string | null
}

/** How far events have been erased from the journal. */
export interface Erasure {
  /** Number of the last erasure that removed events from the scope. Erasures are numbered across the whole store. */
  readonly count: number
  /** Highest position ever erased from the scope. */
  readonly position: number
}

/** The store's self-report, for health(). */
export interface StoreFacts {
  /** Version of its tables. */
  readonly schema: number
  /** Size of the store, in bytes. */
  readonly bytes: number
  /** The last position assigned. */
  readonly position: number
  /** Workers that hold a lease. */
  readonly workers: readonly {
    readonly id: string
    /** Remaining lease time; 0 or less if it has expired. */ readonly leaseMs: number
  }[]
  /** Problems found, one sentence each. */
  readonly problems: readonly string[]
}

/** A hint that something changed. Hints may be spurious; the receiver always reads the store. */
export interface Hint {
  /** The change may have made a call claimable or answered a wait. */
  readonly wakes: boolean
  /** Another process wrote: anything may have changed. */
  readonly outside: boolean
  /** False: no call began to wait. Absent: one may have. */
  readonly parks?: boolean
}

export interface Store {
  readonly kind: string

  /** Resolves when the change is durable or refused. Rejects with store_unavailable if the result is unknown. */
  commit(change: Change): Promise<Committed>
  /**
   * Like commit(), with a callback instead of a promise. With `ride` no caller waits: the change may stay queued
   * briefly to share the sync of the next change. Order is preserved.
   */
  write(change: Change, onResult: (answer: Written) => void, how?: { ride: boolean }): void

  callAt(position: CallPosition): MaybePromise<CallRecord | undefined>
  call(uid: string): MaybePromise<CallRecord | undefined>
  /** Calls of a session with uid greater than `after`, ordered by uid. The cost does not depend on other sessions. */
  callsOf(of: Scope, page: CallPage): MaybePromise<CallRecord[]>
  /**
   * The newest calls of a tenant within a window of the calls of all tenants. The cost depends on the window only, so
   * there is no index by tenant, which every new call would have to write.
   */
  recentCalls(query: RecentCallsQuery): MaybePromise<RecentCalls>
  /**
   * Sessions with at least one recorded call, in an order of the store's choice, which never changes; session '' is
   * left out. A page is shorter than its limit only at the end. The cost depends on the sessions, not on their calls; a
   * store may also step through the sessions between those returned.
   */
  sessions(page: SessionPage): MaybePromise<SessionRecord[]>
  /** All steps of a call, in one read. */
  steps(call: string): MaybePromise<StepRecord[]>
  waitsOf(call: string): MaybePromise<WaitRecord[]>
  wait(id: string): MaybePromise<WaitRecord | undefined>
  waitByKeyHash(hash: string): MaybePromise<WaitRecord | undefined>
  /** Open waits whose deadline is at or before `now`, earliest first. */
  dueWaits(now: number, limit: number): MaybePromise<WaitRecord[]>
  /** The earliest deadline of all open waits. */
  nextDeadline(): MaybePromise<number | undefined>
  attachment(tenant: string, id: string): MaybePromise<AttachmentRecord | undefined>
  document(name: DocumentName): MaybePromise<StoredDocument | undefined>
  /**
   * Documents after the given key ('' for all), ordered by key. The cost depends on the rows returned, not on the
   * size of the collection.
   */
  documentsOf(query: DocumentQuery): MaybePromise<StoredDocument[]>
  /** Which of these collections contain documents of a session, in one query instead of one per collection. */
  nonEmptyCollections(of: readonly string[], scope: Scope): MaybePromise<string[]>
  /** Events after a position, oldest first. Once a reader has seen position n, no event below n appears later. */
  events(query: EventQuery): MaybePromise<EventRecord[]>
  /** Position of the newest event; 0 if there is none. */
  lastPosition(): MaybePromise<number>
  /** The last erasure of a session's events, or of all events. */
  erased(of?: EventQuery['of']): MaybePromise<Erasure>
  /** Unsettled calls, ordered by uid. The cost depends on open calls only, not on the history. */
  unsettled(page: CallPage & { readonly of?: ScopeFilter }): MaybePromise<Unsettled[]>

  /** Whether each request would be refused now. */
  full(takes: readonly TakeSlots[]): MaybePromise<boolean[]>
  /** All active slots and tickets. */
  holds(): MaybePromise<SlotHold[]>

  /**
   * Renews this worker's lease from now, by the store's clock. The lease protects every call the worker owns. Returns
   * the number of living workers.
   */
  renew(worker: string, leaseMs: number): MaybePromise<number>
  /**
   * Claims calls that need a worker (received, queued, running) and have no living owner, oldest (createdAt) first.
   * Each gets this owner and the next fence, durably; one that was running, or processing an answer, when its worker
   * died also has its number of deaths increased by one. Two workers never claim the same call, and a worker never
   * claims its own call again, even after its lease expired, because it may still be running it. The open calls of one
   * batch order (`line`) go to one worker, regardless of the limit, and are not claimed while another living worker
   * owns one of them. A call that processes an answer (`wait` is set) no longer counts as part of its batch order.
   */
  claim(worker: string, tools: readonly string[], limit: number): MaybePromise<CallRecord[]>
  /**
   * Until leave() or close(), a thread with its own connection renews the lease whenever the heartbeat says that the
   * event loop is late. Only stores whose leases use the system clock or their own clock have this method. Does
   * nothing where threads are unavailable. The thread never keeps the process alive.
   */
  keepAlive?(worker: string, heart: LeaseHeartbeat): void
  /** Ends the worker's lease: its calls may be claimed at once. */
  leave(worker: string): MaybePromise<void>

  /**
   * Erases one page of settled calls with their steps, waits, events, and attachments that no other call uses, in one
   * transaction. Sessions with an open call are skipped, because a body or batch that resumes reads its earlier
   * calls. After the last call, events that belong to no recorded call are erased in larger pages: all of them, or
   * with `settledBefore` the older ones. A session's sequence continues after the erased events; without
   * `settledBefore` a session with nothing left restarts at 1.
   */
  erase(query: EraseQuery): MaybePromise<ErasedPage>
  /** Removes the bytes of erased data from disk too, if that is quick; false if some may remain in unused pages. */
  scrub(): MaybePromise<boolean>
  /** Facts for health(). The cost is bounded, whatever the store holds. */
  inspect(): MaybePromise<StoreFacts>

  /**
   * Reads a setting; writes `ifAbsent` first if it does not exist. The first writer wins, so all processes read the
   * same value.
   */
  setting(key: string, ifAbsent: string): MaybePromise<string>
  /** Reads a setting without creating it. */
  settingNow(key: string): MaybePromise<string | undefined>
  /** The host's secret, created on first use, if the store can keep one privately. */
  secret(): MaybePromise<Uint8Array | undefined>

  onHint(listener: (hint: Hint) => void): () => void
  /** Carries live events to other processes that use the same store. Left out if there can be none. */
  readonly live?: LiveChannel
  /** Writes the queued changes, then releases all resources. */
  close(): Promise<void>
}
