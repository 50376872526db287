// THE STORE PORT: what a place to keep things must promise. Promises, not tables: docs/decisions/0003.
//
// The unit of writing is one Change: guards, state rows and events, all or nothing. Concurrent changes may share one
// transaction; each has its own answer, so a refused one does not spoil its neighbours. Reads see every change whose commit()
// has resolved. src/testing/store-cases holds the promises as cases; every store runs all of them.

import type { CallPosition, CallProgress, CallRecord, StepRecord, WaitRecord } from './records/call-record.ts'
import type { EventRecord, NewEvent } from './records/event.ts'
import type { AttachmentUse } from './records/attachment-refs.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Heart } from './lease-heartbeat.ts'

/** What must be true at the moment of the write. Checked in the same transaction. */
export type Guard =
  /** No call stands at this position. */
  | { readonly kind: 'absent'; readonly position: CallPosition }
  /** The call exists, is not settled, and its fence is this one: the writer still holds it. */
  | { readonly kind: 'holds'; readonly call: string; readonly fence: number }
  /** The call exists and its fence is this one, settled or not: for what its last holder learns too late. */
  | { readonly kind: 'held'; readonly call: string; readonly fence: number }
  /** The call exists and has no outcome, whoever holds it: for what is asked of it from outside. */
  | { readonly kind: 'unsettled'; readonly call: string }
  /** The wait exists and has no answer yet. */
  | { readonly kind: 'open'; readonly wait: string }
  /** What is kept under this name has this revision; 0: nothing is. */
  | ({ readonly kind: 'kept'; readonly revision: number } & DocumentName)
  /** There is room for all that the change takes. Never asked for by itself: it is what refuses a `take`. */
  | { readonly kind: 'room'; readonly name: string }

/**
 * Of some things only so many calls may have a place at once, on whatever worker: a key, an exclusive, the places of a tool. A place is the
 * call's, not its worker's: it outlives both until it is given back, or until its time has passed.
 */
export interface Take {
  /** Whose places they are; what it has already is not counted against it, nor what the calls above it have. */
  readonly holder: string
  readonly above?: readonly string[]
  readonly worker: string
  readonly places: readonly TakenPlace[]
}

export interface TakenPlace {
  readonly name: string
  readonly capacity: number
  /** It is free by itself after this time, and not before: for rates. Then `entry` is its holder, as one call may begin more than once. */
  readonly lasts?: { readonly ms: number; readonly entry: string }
}

/** A place, or a turn in line for one (then it has a ticket). */
export interface Hold {
  readonly name: string
  readonly holder: string
  readonly worker: string
  readonly ticket: number | null
}

/**
 * Things that are kept by name beside calls: what waits for people, rules they made, connections, pins. `session` is '' for what belongs to the
 * whole tenant, `tenant` is '' for what belongs to nobody. Erased with its session or tenant.
 */
export interface DocumentName {
  /** Which collection. */
  readonly of: string
  readonly tenant: string
  readonly session: string
  readonly key: string
}

export interface StoredDocument extends DocumentName {
  /** 1 when it is made; every write raises it. */
  readonly revision: number
  readonly value: string
}

export interface DocumentQuery {
  readonly of: string
  /** Everybody's if left out; then keys must be unique in the whole collection. */
  readonly tenant?: string
  /** All of the tenant's if left out; '' for what belongs to no session. */
  readonly session?: string
  readonly after: string
  readonly limit: number
  /** The highest key first; then `after` is where to go on downwards. */
  readonly newest?: boolean
}

export interface Change {
  readonly guards: readonly Guard[]
  readonly insertCall?: CallRecord
  /** Replaces all that moves about a call. `release` also gives up ownership. */
  readonly updateCall?: { readonly uid: string; readonly progress: CallProgress; readonly release?: boolean }
  /**
   * All of these places or none: where another has the last one, or stands in line before it (on a worker that lives), the change is refused
   * with `room`. Those in line are not before one who has a place there, nor before what runs under another call: what that one has,
   * they may be waiting for. Who had a ticket has a place instead.
   */
  readonly take?: Take
  /**
   * A ticket for this name, and for no other any more. Its number is behind all there are; who has a ticket keeps its number wherever it goes,
   * so that of any two who wait one is before the other everywhere.
   */
  readonly line?: { readonly holder: string; readonly worker: string; readonly name: string }
  /** Places and tickets that are given back; of all names if none are told. */
  readonly give?: { readonly holder: string; readonly names?: readonly string[] }
  /** Each replaces what stands under its (call, key). */
  readonly steps?: readonly StepRecord[]
  readonly insertWaits?: readonly WaitRecord[]
  /** Answers a wait; a call that is parked on it becomes queued, in the same transaction. */
  readonly resolveWait?: { readonly id: string; readonly resolution: string }
  /** An id names its bytes: one that is on record in its tenant stays as it was first written. */
  readonly attachments?: readonly AttachmentRecord[]
  /** Which calls speak of which attachments: one is kept as long as any of them is. */
  readonly uses?: readonly AttachmentUse[]
  /** Each replaces what is kept under its name; null: nothing is kept there any more. `secret`: sealed at rest, whatever else is. */
  readonly documents?: readonly (DocumentName & { readonly value: string | null; readonly secret?: true })[]
  readonly events: readonly NewEvent[]
}

export type Committed =
  /** Everything in the change is on record, as durable as the store's commit mode says. */
  | { readonly ok: true }
  /** Nothing of it is; this guard failed. */
  | { readonly ok: false; readonly refused: Guard }

/** Or it is not known; or, with `alone`, the store works, and this change can never be written: nothing of it is on record. */
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
  /** One session only; all of them if left out. */
  readonly of?: { readonly tenant: string; readonly session: string }
}

export interface CallPage {
  readonly after: string
  readonly limit: number
}

/** What is open, without its payloads. */
export type Unsettled = Pick<
  CallRecord,
  'uid' | 'position' | 'tool' | 'state' | 'createdAt' | 'startedAt' | 'wait' | 'deaths' | 'owner'
> & {
  /** Whether its owner's lease holds, by the store's clock. */
  readonly alive: boolean
}

export interface Scope {
  readonly tenant: string
  /** All of the tenant's if left out. */
  readonly session?: string
}

export interface EraseQuery {
  /** Everybody's if left out. */
  readonly of?: Scope
  /** Only calls that settled before this instant. Without it a session that has nothing left begins anew, from sequence 1. */
  readonly settledBefore?: number
  /** Where the page before ended; '' to begin. */
  readonly after: string
  /** How many calls at most. */
  readonly limit: number
}

export interface ErasedPage {
  readonly calls: number
  readonly events: number
  readonly attachments: number
  /** Where to go on; null when there is no more. */
  readonly next: string | null
}

/** How far the journal is no longer whole. */
export interface Erasure {
  /** Of all erasures: each has its number. The last one that took events from what was asked about. */
  readonly count: number
  /** The highest position that was ever taken from it. */
  readonly position: number
}

/** What a store can tell of itself. */
export interface StoreFacts {
  readonly schema: number
  readonly bytes: number
  /** The last position given out. */
  readonly position: number
  readonly workers: readonly {
    readonly id: string
    /** How long its lease still holds; not more than 0 if it does not. */ readonly leaseMs: number
  }[]
  /** What is wrong with it, a sentence each. */
  readonly problems: readonly string[]
}

/** A hint that something changed; never the truth, always followed by a read. */
export interface Hint {
  /** The change may have made a call claimable or answered a wait. */
  readonly wakes: boolean
  /** Another process wrote: anything may have changed. */
  readonly outside: boolean
}

export interface Store {
  readonly kind: string

  /** Resolves when the change is durable (or refused). Rejects with store_unavailable when that cannot be known. */
  commit(change: Change): Promise<Committed>
  /**
   * The same for those who need no promise of it. With `ride` nobody waits for this one: it may linger a moment to share the sync of the
   * next change. Order is kept.
   */
  write(change: Change, heard: (answer: Written) => void, how?: { ride: boolean }): void

  callAt(position: CallPosition): MaybePromise<CallRecord | undefined>
  call(uid: string): MaybePromise<CallRecord | undefined>
  /** The calls of a session whose uid comes after this one ('' for all), in the order of their uids. Costs no more for other sessions. */
  callsOf(of: { readonly tenant: string; readonly session: string }, page: CallPage): MaybePromise<CallRecord[]>
  /** All steps of a call, in one read. */
  steps(call: string): MaybePromise<StepRecord[]>
  waitsOf(call: string): MaybePromise<WaitRecord[]>
  wait(id: string): MaybePromise<WaitRecord | undefined>
  waitByKeyHash(hash: string): MaybePromise<WaitRecord | undefined>
  /** Open waits whose deadline is at or before `now`, soonest first. */
  dueWaits(now: number, limit: number): MaybePromise<WaitRecord[]>
  /** The soonest deadline of all open waits. */
  nextDeadline(): MaybePromise<number | undefined>
  attachment(tenant: string, id: string): MaybePromise<AttachmentRecord | undefined>
  document(name: DocumentName): MaybePromise<StoredDocument | undefined>
  /** In the order of their keys (or the other way round), after this one ('' for all). Costs what is found, not what there is. */
  documentsOf(query: DocumentQuery): MaybePromise<StoredDocument[]>
  /** Which of these collections have something of a session: one look instead of one for each. */
  keptIn(of: readonly string[], scope: Required<Scope>): MaybePromise<string[]>
  /** Events after a position, oldest first. Once a reader has seen position n, nothing below n appears later. */
  events(query: EventQuery): MaybePromise<EventRecord[]>
  /** Of the newest event; 0 if there is none. */
  lastPosition(): MaybePromise<number>
  /** What was erased of a session's events, or of all. */
  erased(of?: EventQuery['of']): MaybePromise<Erasure>
  /** Calls that are not settled, in the order of their uids. Costs what is open, not what was. */
  unsettled(page: CallPage & { readonly of?: Scope }): MaybePromise<Unsettled[]>

  /** Whether each of these would be refused now. */
  full(takes: readonly Take[]): MaybePromise<boolean[]>
  /** All places and tickets that count now. */
  holds(): MaybePromise<Hold[]>

  /** Makes this worker's lease count from now, by the store's clock. Everything it owns is protected by it. Tells how many workers live. */
  renew(worker: string, leaseMs: number): MaybePromise<number>
  /**
   * Takes calls that want a worker (received, queued, running) and have no living owner, oldest (createdAt) first: each gets
   * this owner and the next fence, durably, and one that runs, or lands an answer, and whose worker died one more of its deaths. Two workers never get the same
   * call, and none gets its own again, not even when its lease has run out: it is at work on it. What is open of a line goes to one worker,
   * whatever the limit, and not while another that lives has some of it; what lands an answer (it has a wait) has left its line.
   */
  claim(worker: string, tools: readonly string[], limit: number): MaybePromise<CallRecord[]>
  /**
   * From now on, until leave() or close(), a thread with a connection of its own renews the lease whenever the heart says that the event
   * loop is late with it. Only a store whose leases count by the system's clock or by its own has it; where there can be no thread it does
   * nothing. Never keeps the program alive.
   */
  keepAlive?(worker: string, heart: Heart): void
  /** Ends the worker's lease: what it still owns may be claimed at once. */
  leave(worker: string): MaybePromise<void>

  /**
   * Forgets one page of settled calls: with their steps, waits and events, and with the attachments that no other call uses, in one
   * transaction. A session that has an open call is left whole: a body or a batch that goes on asks for what it had called. After the last
   * call come the events that tell of no call on record, many at a time: all of them, or with `settledBefore` those that are older. The
   * sequence of a session goes on after what was erased; where one without `settledBefore` took the last, it begins anew.
   */
  erase(query: EraseQuery): MaybePromise<ErasedPage>
  /** Makes what was erased unreadable on the disk too, if that can be done in a moment; false if bytes of it may remain in unused parts. */
  scrub(): MaybePromise<boolean>
  /** What the store knows of itself. Bounded, whatever is in it. */
  inspect(): MaybePromise<StoreFacts>

  /** A value kept with the store, written by whoever comes first; everyone reads the same. */
  setting(key: string, ifAbsent: string): MaybePromise<string>
  /** The same, as far as there is one: writes nothing. */
  settingNow(key: string): MaybePromise<string | undefined>
  /** The host's secret: where the store can keep one privately, made on first use. */
  secret(): MaybePromise<Uint8Array | undefined>

  onHint(listener: (hint: Hint) => void): () => void
  /** Writes what is still queued, then lets go of everything. */
  close(): Promise<void>
}
