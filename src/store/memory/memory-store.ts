// The in-memory store: same guarantees as the others except surviving a restart. It is also the readable reference
// for what a store does, so it stays simple; the conformance cases in src/testing/store-cases hold the other stores
// to it.

import { randomBytes } from 'node:crypto'
import { checkOptions, option } from '../../core/check-options.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import {
  type CallProgress,
  type CallRecord,
  progressOf,
  type StepRecord,
  type WaitRecord,
} from '../records/call-record.ts'
import type { NewEvent } from '../records/event.ts'
import { PositionMap } from '../records/map-by-call-position.ts'
import { WaitDeadlines } from './wait-deadlines.ts'
import { GroupCommit } from '../group-commit.ts'
import { MemorySemaphores } from './semaphores.ts'
import { MemoryDocuments } from './documents.ts'
import { MemoryFeed } from './events.ts'
import type {
  AttachmentRecord,
  Change,
  Committed,
  ErasedPage,
  EraseQuery,
  Guard,
  ScopeFilter,
  Store,
} from '../store.ts'
import { recentCallsOf } from '../recent-calls.ts'

/** A call. The mutable part is separate, so that a write replaces one reference. */
interface Row {
  readonly inserted: CallRecord
  progress: CallProgress
  fence: number
  owner: string | null
}

const recordOf = (row: Row | undefined): CallRecord | undefined =>
  row && { ...row.inserted, ...row.progress, fence: row.fence, owner: row.owner }
const committed: Committed = { ok: true }
const copyOf = (attachment: AttachmentRecord): AttachmentRecord => ({
  ...attachment,
  data: Uint8Array.from(attachment.data),
})

const isIn = ({ inserted: { position } }: Row, of: ScopeFilter | undefined): boolean =>
  !of || (position.tenant === of.tenant && (of.session === undefined || position.session === of.session))

const newestOf = (rows: readonly Row[]): number =>
  rows.reduce((newest, { inserted }) => Math.max(newest, inserted.createdAt), 0)

/** A class rather than closures, so that code optimized by the JIT is shared between store instances. */
class Tables {
  readonly calls = new Map<string, Row>()
  readonly positions = new PositionMap<Row>()
  /** Calls that need a worker or have one. Claiming scans neither settled nor parked calls. */
  readonly runnable = new Set<Row>()
  /** Calls that are not settled, including parked ones. */
  readonly unsettled = new Set<Row>()
  readonly steps = new Map<string, Map<string, StepRecord>>()
  readonly waits = new Map<string, WaitRecord>()
  readonly keys = new Map<string, string>()
  readonly waitsOf = new Map<string, string[]>()
  readonly open = new Set<string>()
  /** Deadlines of the open waits. */
  readonly deadlines = new WaitDeadlines()
  readonly attachments = new Map<string, AttachmentRecord>()
  readonly semaphores: MemorySemaphores
  /** Calls by attachment, and attachments by call. */
  readonly users = new Map<string, Set<string>>()
  readonly usedBy = new Map<string, Set<string>>()
  readonly feed = new MemoryFeed()
  readonly documents = new MemoryDocuments()

  constructor(semaphores: MemorySemaphores) {
    this.semaphores = semaphores
  }

  apply(change: Change): Committed {
    for (const guard of change.guards) if (!this.#isSatisfied(guard)) return { ok: false, refused: guard }
    if (change.takeSlots) {
      const name = this.semaphores.findFull(change.takeSlots)
      if (name !== null) return { ok: false, refused: { kind: 'room', name } }
      this.semaphores.take(change.takeSlots)
    }
    if (change.queueForSlot) this.semaphores.enqueue(change.queueForSlot)
    if (change.releaseSlots) this.semaphores.release(change.releaseSlots)
    if (change.insertCall) {
      const { insertCall: inserted } = change
      const row = { inserted, progress: progressOf(inserted), fence: inserted.fence, owner: inserted.owner }
      this.calls.set(inserted.uid, row)
      this.positions.set(inserted.position, row)
      if (inserted.state !== 'settled') this.unsettled.add(row)
      if (inserted.state !== 'settled' && inserted.state !== 'parked') this.runnable.add(row)
    }
    if (change.updateCall) {
      const { uid, progress, release } = change.updateCall
      const row = this.calls.get(uid) as Row
      row.progress = progress
      if (release) row.owner = null
      if (progress.state === 'settled') this.unsettled.delete(row)
      if (progress.state === 'settled' || progress.state === 'parked') this.runnable.delete(row)
      else this.runnable.add(row)
    }
    // Most changes have none of the following parts, so each is skipped with one check.
    if (change.steps)
      for (const step of change.steps) {
        const ownSteps = this.steps.get(step.call) ?? new Map<string, StepRecord>()
        this.steps.set(step.call, ownSteps.set(step.key, step))
      }
    if (change.insertWaits)
      for (const wait of change.insertWaits) {
        this.waits.set(wait.id, wait)
        this.keys.set(wait.keyHash, wait.id)
        this.waitsOf.set(wait.call, [...(this.waitsOf.get(wait.call) ?? []), wait.id])
        if (wait.resolution !== null) continue
        this.open.add(wait.id)
        this.deadlines.add(wait)
      }
    if (change.resolveWait) {
      const { id, resolution } = change.resolveWait
      const wait = this.waits.get(id) as WaitRecord
      this.waits.set(id, { ...wait, resolution })
      this.open.delete(id)
      this.deadlines.remove(wait)
      const call = this.calls.get(wait.call)
      if (call?.progress.state === 'parked' && call.progress.wait === id) {
        call.progress = { ...call.progress, state: 'queued' }
        this.runnable.add(call)
      }
    }
    if (change.attachments)
      for (const each of change.attachments) {
        const id = lengthPrefixed(each.tenant, each.id)
        // Copied, because the caller may reuse its buffer.
        if (!this.attachments.has(id)) this.attachments.set(id, copyOf(each))
      }
    if (change.uses)
      for (const { tenant, id, call } of change.uses) {
        const name = lengthPrefixed(tenant, id)
        this.users.set(name, (this.users.get(name) ?? new Set()).add(call))
        this.usedBy.set(call, (this.usedBy.get(call) ?? new Set()).add(name))
      }
    if (change.documents) for (const each of change.documents) this.documents.put(each)
    for (const event of change.events) this.feed.add(event)
    return committed
  }

  erase({ of, settledBefore = Number.POSITIVE_INFINITY, limit }: EraseQuery, restart: boolean): ErasedPage {
    const busy = new Set(
      [...this.unsettled].map(({ inserted: { position } }) => lengthPrefixed(position.tenant, position.session)),
    )
    const erased: Row[] = []
    for (const row of this.calls.values()) {
      if (erased.length >= limit) break
      const { tenant, session } = row.inserted.position
      if (row.progress.state !== 'settled' || (row.progress.settledAt ?? 0) >= settledBefore) continue
      if (isIn(row, of) && !busy.has(lengthPrefixed(tenant, session))) erased.push(row)
    }
    const attachmentsBefore = this.attachments.size
    this.feed.beginErasure()
    for (const row of erased) this.#forget(row)
    const uids = new Set(erased.map(({ inserted }) => inserted.uid))
    const sessions = new Map(
      erased.map(({ inserted: { position } }) => [lengthPrefixed(position.tenant, position.session), position]),
    )
    let events = 0
    for (const session of sessions.values()) events += this.feed.erase(session, ({ call }) => uids.has(call), restart)
    const next = erased.length < limit ? null : 'more'
    // Events that belong to no recorded call.
    const isOrphan = ({ call, at }: NewEvent): boolean => at < settledBefore && !this.calls.has(call)
    if (next === null)
      for (const session of this.feed.sessions(of)) events += this.feed.erase(session, isOrphan, restart)
    if (of && restart && next === null) this.documents.erase(of)
    // When a whole tenant is erased, attachments that no call refers to are erased too.
    if (of && of.session === undefined && restart && next === null) {
      for (const [name, { tenant }] of this.attachments)
        if (tenant === of.tenant && !this.users.has(name)) this.attachments.delete(name)
    }
    return { calls: erased.length, events, attachments: attachmentsBefore - this.attachments.size, next }
  }

  #forget({ inserted: { uid, position } }: Row): void {
    this.calls.delete(uid)
    this.positions.delete(position)
    this.steps.delete(uid)
    for (const id of this.waitsOf.get(uid) ?? []) {
      const wait = this.waits.get(id) as WaitRecord
      this.keys.delete(wait.keyHash)
      if (wait.resolution === null) this.deadlines.remove(wait)
      this.waits.delete(id)
      this.open.delete(id)
    }
    this.waitsOf.delete(uid)
    for (const name of this.usedBy.get(uid) ?? []) {
      const users = this.users.get(name)
      users?.delete(uid)
      if (users?.size !== 0) continue
      this.users.delete(name)
      this.attachments.delete(name)
    }
    this.usedBy.delete(uid)
  }

  #isSatisfied(guard: Guard): boolean {
    switch (guard.kind) {
      case 'absent':
        return this.positions.get(guard.position) === undefined
      case 'holds': {
        const call = this.calls.get(guard.call)
        return call !== undefined && call.fence === guard.fence && call.progress.state !== 'settled'
      }
      case 'unsettled':
        return (this.calls.get(guard.call)?.progress.state ?? 'settled') !== 'settled'
      case 'held':
        return this.calls.get(guard.call)?.fence === guard.fence
      case 'open':
        return this.open.has(guard.wait)
      case 'kept':
        return (this.documents.get(guard)?.revision ?? 0) === guard.revision
      case 'room':
        return true
    }
  }
}

export const memoryStoreOptions = { clock: option.object }

/**
 * A store in memory: nothing survives the process. `createRuntime({ store: 'memory:' })` opens one; several runtimes
 * that
 * share one object act like workers on one database.
 */
export function memoryStore(options: { clock?: Clock } = {}): Store {
  checkOptions(options, memoryStoreOptions, 'memoryStore()')
  const { clock = systemClock } = options
  const workers = new Map<string, number>()
  const alive = (worker: string | null): boolean => worker !== null && (workers.get(worker) ?? 0) > clock.monotonic()
  const semaphores = new MemorySemaphores(clock, alive)
  const tables = new Tables(semaphores)
  const {
    calls,
    positions,
    runnable,
    unsettled,
    steps,
    waits,
    keys,
    waitsOf,
    deadlines,
    attachments,
    feed,
    documents,
  } = tables
  const settings = new Map<string, string>()
  const secret = randomBytes(32)
  const group = new GroupCommit(clock, (changes) => changes.map((change) => tables.apply(change)))

  return {
    kind: 'memory',
    commit: (change) => group.commit(change),
    write: (change, onResult, options) => group.write(change, onResult, options),
    callAt: (position) => recordOf(positions.get(position)),
    call: (uid) => recordOf(calls.get(uid)),
    callsOf: ({ tenant, session }, { after, limit }) =>
      positions
        .within(tenant, session)
        .filter(({ inserted }) => inserted.uid > after)
        .toSorted((a, b) => (a.inserted.uid < b.inserted.uid ? -1 : 1))
        .slice(0, limit)
        .map((row) => recordOf(row) as CallRecord),
    recentCalls: (query) => {
      const { before, scan } = query
      const window = [...calls.keys()]
        .filter((uid) => before === null || uid < before)
        .toSorted((a, b) => (a < b ? 1 : -1))
        .slice(0, scan)
        .map((uid) => recordOf(calls.get(uid)) as CallRecord)
      return recentCallsOf(window, query)
    },
    sessions: ({ tenant, after = { tenant: tenant ?? '', session: '' }, exceptPrefix, limit }) =>
      (tenant === undefined ? positions.tenants().toSorted() : [tenant])
        .filter((each) => each >= after.tenant)
        .flatMap((each) =>
          positions
            .sessions(each)
            .filter((session) => session > (each === after.tenant ? after.session : ''))
            .filter((session) => exceptPrefix === undefined || !session.startsWith(exceptPrefix))
            .toSorted()
            .map((session) => ({ tenant: each, session })),
        )
        .slice(0, limit)
        .map((of) => ({ ...of, lastCallAt: newestOf(positions.within(of.tenant, of.session)) })),
    steps: (call) => [...(steps.get(call)?.values() ?? [])],
    waitsOf: (call) => (waitsOf.get(call) ?? []).map((id) => waits.get(id) as WaitRecord),
    wait: (id) => waits.get(id),
    waitByKeyHash: (hash) => waits.get(keys.get(hash) ?? ''),
    dueWaits: (now, limit) => deadlines.due(now, limit).map((id) => waits.get(id) as WaitRecord),
    nextDeadline: () => deadlines.soonest,
    attachment: (tenant, id) => {
      const found = attachments.get(lengthPrefixed(tenant, id))
      return found && copyOf(found)
    },
    document: (name) => documents.get(name),
    documentsOf: (query) => documents.list(query),
    nonEmptyCollections: (of, scope) => of.filter((each) => documents.has(each, scope)),
    events: (query) => feed.read(query),
    full: (takes) => takes.map((take) => semaphores.findFull(take) !== null),
    holds: () => semaphores.all(),
    lastPosition: () => feed.last,
    erased: (of) => feed.erased(of),
    unsettled: ({ of, after, limit }) =>
      [...unsettled]
        .filter((row) => row.inserted.uid > after && isIn(row, of))
        .toSorted((a, b) => (a.inserted.uid < b.inserted.uid ? -1 : 1))
        .slice(0, limit)
        .map(
          ({
            inserted: { uid, position, tool, createdAt },
            progress: { terms, state, startedAt, wait, deaths },
            owner,
          }) => ({
            uid,
            position,
            tool,
            terms,
            state,
            createdAt,
            startedAt,
            wait,
            deaths,
            owner,
            alive: alive(owner),
          }),
        ),
    erase: (query) => tables.erase(query, query.settledBefore === undefined),
    scrub: () => true,
    inspect: () => ({
      schema: 0,
      bytes: 0,
      position: feed.last,
      workers: [...workers].map(([id, until]) => ({ id, leaseMs: until - clock.monotonic() })),
      problems: [],
    }),
    renew: (worker, leaseMs) => {
      workers.set(worker, clock.monotonic() + leaseMs)
      group.shared = workers.size > 1
      return [...workers.keys()].filter(alive).length
    },
    claim: (worker, tools, limit) => {
      const isFree = ({ owner, inserted }: Row): boolean =>
        owner !== worker && !alive(owner) && tools.includes(inserted.tool)
      // A batch order partly owned by a living worker belongs to that worker. A call that processes an answer has
      // left its batch order.
      const lineOf = ({ inserted, progress }: Row): string | null => (progress.wait === null ? inserted.line : null)
      const othersLines = new Set(
        [...runnable].flatMap((row) => (row.owner !== worker && alive(row.owner) ? (lineOf(row) ?? []) : [])),
      )
      const free = [...runnable]
        .filter((row) => isFree(row) && !othersLines.has(lineOf(row) ?? ''))
        .toSorted(({ inserted: a }, { inserted: b }) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
      const lines = new Set(free.slice(0, limit).flatMap((row) => lineOf(row) ?? []))
      const claimed = free.filter((row, index) => index < limit || lines.has(lineOf(row) ?? ''))
      return claimed.map((row) => {
        const { state } = row.progress
        const wasRunning = state === 'running' || (state === 'queued' && row.progress.wait !== null)
        if (wasRunning && row.owner !== null) row.progress = { ...row.progress, deaths: row.progress.deaths + 1 }
        row.owner = worker
        row.fence++
        return recordOf(row) as CallRecord
      })
    },
    leave: (worker) => void workers.delete(worker),
    setting: (key, ifAbsent) => {
      if (!settings.has(key)) settings.set(key, ifAbsent)
      return settings.get(key) as string
    },
    settingNow: (key) => settings.get(key),
    secret: () => secret,
    onHint: (listener) => group.onHint(listener),
    close: () => group.close(),
  }
}
