// Carries live events (deltas, progress, output) between the processes that share a store. Nothing here is durable:
// entries are never synced, expire after a minute, and are dropped if no other process subscribes to their session.
//
// A subscribing process registers a row that it renews. A publishing process knows these rows and writes entries only
// for sessions that have one. When a row appears or asks again, the publisher hears it and sends what is under way.

import type { Clock } from '../core/clock.ts'
import { chainCatch, isThenable, type MaybePromise } from '../core/maybe-promise.ts'
import type { Scope } from '../core/scope.ts'

export interface LiveChannel {
  /** Receives the entries that other processes publish for the session (null: for all sessions). */
  subscribe(of: Scope | null, onEntry: (entry: string, of: Scope) => void): LiveSubscription
  /** Whether another process subscribes to the session, as far as this process knows. */
  hasReaders(of: Scope): boolean
  /** Sends an entry to the processes that subscribe to the session. */
  publish(of: Scope, entry: string): void
  /** Calls the listener when another process has subscribed to the session, or asks for what is under way. */
  onSubscribed(listener: (of: Scope | null) => void): () => void
  /** Resolves when the buffered entries are written, so that they precede the next commit. */
  flush(): MaybePromise<void>
  /** Resolves when the entries written so far have been received. */
  catchUp(): Promise<void>
  close(): MaybePromise<void>
}

export interface LiveSubscription {
  /** Asks the publishers to send what is under way again, after an entry was missed. */
  askAgain(): void
  stop(): void
}

export interface LiveEntry extends Scope {
  readonly entry: string
}

/** A subscription of one process. `tenant` and `session` are '' for a subscription to all sessions. */
export interface LiveReader extends Scope {
  readonly id: string
  /** Increases when the process asks again. */
  readonly asked: number
}

/** The tables behind the channel. Rows of other processes only. */
export interface LiveTable {
  append(entries: readonly LiveEntry[], expiresInMs: number): MaybePromise<void>
  /** Entries after the sequence number, oldest first. */
  entriesAfter(seq: number): MaybePromise<readonly (LiveEntry & { readonly seq: number })[]>
  lastSeq(): MaybePromise<number>
  putReader(reader: LiveReader, expiresInMs: number): MaybePromise<void>
  removeReader(id: string): MaybePromise<void>
  readers(): MaybePromise<readonly LiveReader[]>
  /** Deletes expired entries and readers. */
  purge(): MaybePromise<void>
  /** Deletes the entries of a session, of a tenant, or all. */
  erase(of: { readonly tenant: string; readonly session?: string } | null): MaybePromise<void>
  /** How often to look for changes, in addition to `onChange`. */
  readonly pollMs: number
  /** Whether anything was written since the last call; true if unknown. */
  changed(): MaybePromise<boolean>
  /** Calls the listener when another process wrote. The poll finds what is missed. */
  onChange(listener: (what: 'entries' | 'readers') => void): void
  /** True if `onChange` reports every new reader, so that the readers are known without asking. */
  readonly reportsReaders: boolean
  close(): MaybePromise<void>
}

/** Entries written within this time share one write. */
const batchMs = 15
const entryLifeMs = 60_000
const readerLifeMs = 30_000
const renewMs = 10_000
/** Expired entries are deleted once per this many writes. */
const writesPerPurge = 256

interface Subscription {
  readonly of: Scope | null
  readonly onEntry: (entry: string, of: Scope) => void
  readonly id: string
  asked: number
  /** False until its row is written with the current `asked`. */
  isRegistered: boolean
}

const covers = (of: Scope | null, scope: Scope): boolean =>
  of === null || (of.tenant === scope.tenant && of.session === scope.session)

const scopeOf = ({ tenant, session }: LiveReader): Scope | null => (session === '' ? null : { tenant, session })

export class TableLiveChannel implements LiveChannel {
  readonly #table: LiveTable
  readonly #clock: Clock
  readonly #process: string
  readonly #subscriptions = new Set<Subscription>()
  readonly #listeners = new Set<(of: Scope | null) => void>()
  /** Subscriptions of other processes, by id. */
  #readers = new Map<string, LiveReader>()
  #knowsReaders = false
  #seq: number | null = null
  #count = 0
  #buffer: LiveEntry[] = []
  #cancelBatch: (() => void) | null = null
  #cancelPoll: (() => void) | null = null
  #cancelRenew: (() => void) | null = null
  #polling: Promise<void> | null = null
  #appending: Promise<void> | null = null
  #writes = 0
  #pollAgain = false
  #closed = false

  constructor(table: LiveTable, clock: Clock, processId: string) {
    this.#table = table
    this.#clock = clock
    this.#process = processId
    table.onChange((what) => {
      if (what === 'readers') this.#knowsReaders = false
      if (what === 'readers' || this.#isWatching) this.#poll()
    })
    if (table.reportsReaders) this.#poll()
  }

  subscribe(of: Scope | null, onEntry: Subscription['onEntry']): LiveSubscription {
    const id = `${this.#process}:${++this.#count}`
    const subscription: Subscription = { of, onEntry, id, asked: 1, isRegistered: false }
    this.#subscriptions.add(subscription)
    this.#cancelRenew ??= this.#clock.every(renewMs, () => this.#renew())
    this.#watch()
    this.#poll() // registers it
    return {
      askAgain: () => {
        subscription.asked++
        subscription.isRegistered = false
        this.#poll()
      },
      stop: () => {
        if (!this.#subscriptions.delete(subscription)) return
        this.#attempt(() => this.#table.removeReader(subscription.id))
        this.#attempt(() => this.#table.purge())
        if (this.#subscriptions.size > 0) return this.#watch()
        this.#cancelRenew?.()
        this.#cancelRenew = null
        this.#seq = null
        this.#watch()
      },
    }
  }

  hasReaders(of: Scope): boolean {
    if (!this.#knowsReaders) this.#findReaders()
    if (this.#readers.size === 0) return false
    return [...this.#readers.values()].some((reader) => covers(scopeOf(reader), of))
  }

  /** At once where the store allows that, else with a look. */
  #findReaders(): void {
    if (this.#closed) return
    if (this.#table.reportsReaders) return this.#poll()
    const found = this.#table.readers()
    if (!isThenable(found)) return this.#setReaders(found)
    found.then(undefined, () => {}) // the look reports and repeats it
    this.#poll()
  }

  publish(of: Scope, entry: string): void {
    if (this.#closed || !this.hasReaders(of)) return
    this.#buffer.push({ tenant: of.tenant, session: of.session, entry: `${this.#process} ${entry}` })
    if (this.#cancelBatch) return
    void this.flush()
    this.#startBatch()
  }

  /** The first entry is written at once; while more follow, there is one write per batch. */
  #startBatch(): void {
    this.#cancelBatch = this.#clock.timer(batchMs, () => {
      this.#cancelBatch = null
      if (this.#buffer.length === 0) return
      void this.flush()
      this.#startBatch()
    })
  }

  onSubscribed(listener: (of: Scope | null) => void): () => void {
    this.#listeners.add(listener)
    // The listener hears of the subscriptions that exist already, too.
    this.#readers = new Map()
    this.#knowsReaders = false
    this.#findReaders()
    this.#watch()
    return () => {
      this.#listeners.delete(listener)
      this.#watch()
    }
  }

  flush(): MaybePromise<void> {
    if (this.#buffer.length > 0) {
      const entries = this.#buffer
      this.#buffer = []
      // One write at a time, so that the entries keep their order.
      if (this.#appending) this.#appending = this.#appending.then(() => this.#append(entries))
      else {
        const appending = this.#append(entries)
        if (isThenable(appending)) this.#appending = appending
      }
      const last = this.#appending
      void last?.finally(() => {
        if (this.#appending === last) this.#appending = null
      })
    }
    return this.#appending ?? undefined
  }

  async catchUp(): Promise<void> {
    if (this.#closed || this.#subscriptions.size === 0) return
    this.#poll()
    await this.#polling
  }

  async close(): Promise<void> {
    if (this.#closed) return
    await this.flush()
    this.#closed = true
    for (const cancel of [this.#cancelBatch, this.#cancelPoll, this.#cancelRenew]) cancel?.()
    await this.#polling
    for (const { id } of this.#subscriptions) await this.#try(() => this.#table.removeReader(id))
    await this.#table.close()
  }

  /** A failed write is repeated by the next poll. */
  async #register(): Promise<void> {
    if (this.#subscriptions.size === 0) return
    // Read first, so that no entry written for the new row is skipped.
    this.#seq ??= await this.#table.lastSeq()
    for (const subscription of this.#subscriptions) {
      if (subscription.isRegistered) continue
      const { id, asked, of } = subscription
      subscription.isRegistered = true
      try {
        await this.#table.putReader({ id, asked, tenant: of?.tenant ?? '', session: of?.session ?? '' }, readerLifeMs)
      } catch (error) {
        subscription.isRegistered = false
        throw error
      }
      if (!this.#subscriptions.has(subscription)) await this.#table.removeReader(id)
    }
  }

  #renew(): void {
    for (const subscription of this.#subscriptions) subscription.isRegistered = false
    this.#poll()
    this.#attempt(() => this.#table.purge())
  }

  get #isWatching(): boolean {
    return this.#subscriptions.size + this.#listeners.size > 0
  }

  /** Polls while this process receives entries, or has something under way that a subscriber would ask for. */
  #watch(): void {
    if (!this.#isWatching) {
      this.#knowsReaders &&= this.#table.reportsReaders
      return
    }
    this.#cancelPoll ??= this.#clock.every(this.#table.pollMs, () => {
      if (!this.#isWatching) return this.#stopPolling()
      // Finds readers that have expired, and those whose report was lost.
      if (this.#table.reportsReaders) this.#knowsReaders = false
      this.#poll()
    })
  }

  /** With the next poll, so that a sequence of short answers does not set a timer for each. */
  #stopPolling(): void {
    this.#cancelPoll?.()
    this.#cancelPoll = null
  }

  /** One look at a time; a change during a look causes another. */
  #poll(): void {
    if (this.#closed) return
    this.#pollAgain = true
    this.#polling ??= this.#look().finally(() => (this.#polling = null))
  }

  async #look(): Promise<void> {
    while (this.#pollAgain && !this.#closed) {
      this.#pollAgain = false
      await this.#try(async () => {
        await this.#register()
        if (this.#knowsReaders && !(await this.#table.changed())) return
        if (!this.#knowsReaders || !this.#table.reportsReaders) await this.#readReaders()
        await this.#readEntries()
      })
    }
  }

  async #readReaders(): Promise<void> {
    this.#setReaders(await this.#table.readers())
  }

  #setReaders(found: readonly LiveReader[]): void {
    const before = this.#readers
    this.#readers = new Map(
      found.filter(({ id }) => !id.startsWith(`${this.#process}:`)).map((reader) => [reader.id, reader]),
    )
    this.#knowsReaders = this.#isWatching || this.#table.reportsReaders
    for (const reader of this.#readers.values())
      if (before.get(reader.id)?.asked !== reader.asked)
        for (const listener of this.#listeners) listener(scopeOf(reader))
  }

  async #readEntries(): Promise<void> {
    if (this.#seq === null) return
    for (const row of await this.#table.entriesAfter(this.#seq)) {
      this.#seq = Math.max(this.#seq ?? 0, row.seq)
      const end = row.entry.indexOf(' ')
      if (row.entry.slice(0, end) === this.#process) continue
      const entry = row.entry.slice(end + 1)
      for (const { of, onEntry } of this.#subscriptions) if (covers(of, row)) onEntry(entry, row)
    }
  }

  /** Synchronous on embedded stores. */
  #append(entries: readonly LiveEntry[]): MaybePromise<void> {
    if (++this.#writes % writesPerPurge === 0) this.#attempt(() => this.#table.purge())
    return chainCatch(
      () => this.#table.append(entries, entryLifeMs),
      () => {
        // Forgets the readers: the next look finds them again and sends them what is under way.
        this.#readers = new Map()
        this.#knowsReaders = false
      },
    )
  }

  /** Live events are best effort: a failed read or write is repeated by the next poll or replaced by the record. */
  #attempt(run: () => MaybePromise<void>): void {
    if (!this.#closed) void this.#try(run)
  }

  async #try(run: () => MaybePromise<void>): Promise<void> {
    try {
      await run()
    } catch {
      this.#knowsReaders = false
    }
  }
}
