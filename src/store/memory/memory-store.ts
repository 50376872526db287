// The store without a disk: the same promises, not the survival. Also the readable statement of what a store does, so
// nothing here is clever; the conformance cases hold the others to it.

import { randomBytes } from 'node:crypto'
import { frame } from '../../core/ids.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import {
  type CallProgress,
  type CallRecord,
  progressOf,
  type StepRecord,
  type WaitRecord,
} from '../records/call-record.ts'
import type { NewEvent } from '../records/event.ts'
import { PositionMap } from '../records/position-map.ts'
import { Deadlines } from './wait-deadlines.ts'
import { GroupCommit } from '../group-commit.ts'
import { HeldPlaces } from './semaphores.ts'
import { MemoryKept } from './documents.ts'
import { MemoryFeed } from './events.ts'
import type { AttachmentRecord, Change, Committed, ErasedPage, EraseQuery, Guard, Scope, Store } from '../store.ts'

/** A call, and what moves about it apart: a write replaces a pointer. */
interface Row {
  readonly inserted: CallRecord
  progress: CallProgress
  fence: number
  owner: string | null
}

const recordOf = (row: Row | undefined): CallRecord | undefined =>
  row && { ...row.inserted, ...row.progress, fence: row.fence, owner: row.owner }
const done: Committed = { ok: true }
const copyOf = (attachment: AttachmentRecord): AttachmentRecord => ({
  ...attachment,
  data: Uint8Array.from(attachment.data),
})

const isIn = ({ inserted: { position } }: Row, of: Scope | undefined): boolean =>
  !of || (position.tenant === of.tenant && (of.session === undefined || position.session === of.session))

/** Methods, not closures: what one store has taught the compiler serves the next. */
class Tables {
  readonly calls = new Map<string, Row>()
  readonly positions = new PositionMap<Row>()
  /** Those that want a worker, or have one: looking for work costs neither what is settled nor what is parked. */
  readonly wanting = new Set<Row>()
  /** Not settled, parked or not. */
  readonly unsettled = new Set<Row>()
  readonly steps = new Map<string, Map<string, StepRecord>>()
  readonly waits = new Map<string, WaitRecord>()
  readonly keys = new Map<string, string>()
  readonly waitsOf = new Map<string, string[]>()
  readonly open = new Set<string>()
  /** Of those. */
  readonly deadlines = new Deadlines()
  readonly attachments = new Map<string, AttachmentRecord>()
  readonly places: HeldPlaces
  /** The calls that speak of each attachment, and the attachments of each call. */
  readonly users = new Map<string, Set<string>>()
  readonly usedBy = new Map<string, Set<string>>()
  readonly feed = new MemoryFeed()
  readonly kept = new MemoryKept()

  constructor(places: HeldPlaces) {
    this.places = places
  }

  apply(change: Change): Committed {
    for (const guard of change.guards) if (!this.#holds(guard)) return { ok: false, refused: guard }
    if (change.take) {
      const name = this.places.full(change.take)
      if (name !== null) return { ok: false, refused: { kind: 'room', name } }
      this.places.take(change.take)
    }
    if (change.line) this.places.line(change.line)
    if (change.give) this.places.give(change.give)
    if (change.insertCall) {
      const { insertCall: inserted } = change
      const row = { inserted, progress: progressOf(inserted), fence: inserted.fence, owner: inserted.owner }
      this.calls.set(inserted.uid, row)
      this.positions.set(inserted.position, row)
      if (inserted.state !== 'settled') this.unsettled.add(row)
      if (inserted.state !== 'settled' && inserted.state !== 'parked') this.wanting.add(row)
    }
    if (change.updateCall) {
      const { uid, progress, release } = change.updateCall
      const row = this.calls.get(uid) as Row
      row.progress = progress
      if (release) row.owner = null
      if (progress.state === 'settled') this.unsettled.delete(row)
      if (progress.state === 'settled' || progress.state === 'parked') this.wanting.delete(row)
      else this.wanting.add(row)
    }
    // Most changes have none of these: nothing is walked for them.
    if (change.steps)
      for (const step of change.steps) {
        const own = this.steps.get(step.call) ?? new Map<string, StepRecord>()
        this.steps.set(step.call, own.set(step.key, step))
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
        this.wanting.add(call)
      }
    }
    if (change.attachments)
      for (const each of change.attachments) {
        const id = frame(each.tenant, each.id)
        // A copy: the caller's buffer may be used again, ours is the record.
        if (!this.attachments.has(id)) this.attachments.set(id, copyOf(each))
      }
    if (change.uses)
      for (const { tenant, id, call } of change.uses) {
        const name = frame(tenant, id)
        this.users.set(name, (this.users.get(name) ?? new Set()).add(call))
        this.usedBy.set(call, (this.usedBy.get(call) ?? new Set()).add(name))
      }
    if (change.documents) for (const each of change.documents) this.kept.put(each)
    for (const event of change.events) this.feed.add(event)
    return done
  }

  erase({ of, settledBefore = Number.POSITIVE_INFINITY, limit }: EraseQuery, anew: boolean): ErasedPage {
    const busy = new Set(
      [...this.unsettled].map(({ inserted: { position } }) => frame(position.tenant, position.session)),
    )
    const taken: Row[] = []
    for (const row of this.calls.values()) {
      if (taken.length >= limit) break
      const { tenant, session } = row.inserted.position
      if (row.progress.state !== 'settled' || (row.progress.settledAt ?? 0) >= settledBefore) continue
      if (isIn(row, of) && !busy.has(frame(tenant, session))) taken.push(row)
    }
    const had = this.attachments.size
    this.feed.begin()
    for (const row of taken) this.#forget(row)
    const uids = new Set(taken.map(({ inserted }) => inserted.uid))
    const sessions = new Map(
      taken.map(({ inserted: { position } }) => [frame(position.tenant, position.session), position]),
    )
    let events = 0
    for (const session of sessions.values()) events += this.feed.erase(session, ({ call }) => uids.has(call), anew)
    const next = taken.length < limit ? null : 'more'
    // What is told of no call.
    const isLoose = ({ call, at }: NewEvent): boolean => at < settledBefore && !this.calls.has(call)
    if (next === null) for (const session of this.feed.sessions(of)) events += this.feed.erase(session, isLoose, anew)
    if (of && anew && next === null) this.kept.erase(of)
    // Of a whole tenant, also what no call speaks of.
    if (of && of.session === undefined && anew && next === null) {
      for (const [name, { tenant }] of this.attachments)
        if (tenant === of.tenant && !this.users.has(name)) this.attachments.delete(name)
    }
    return { calls: taken.length, events, attachments: had - this.attachments.size, next }
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

  #holds(guard: Guard): boolean {
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
        return (this.kept.get(guard)?.revision ?? 0) === guard.revision
      case 'room':
        return true
    }
  }
}

export function memoryStore({ clock = systemClock }: { clock?: Clock } = {}): Store {
  const workers = new Map<string, number>()
  const alive = (worker: string | null): boolean => worker !== null && (workers.get(worker) ?? 0) > clock.monotonic()
  const places = new HeldPlaces(clock, alive)
  const tables = new Tables(places)
  const { calls, positions, wanting, unsettled, steps, waits, keys, waitsOf, deadlines, attachments, feed, kept } =
    tables
  const settings = new Map<string, string>()
  const secret = randomBytes(32)
  const group = new GroupCommit(clock, (changes) => changes.map((change) => tables.apply(change)))

  return {
    kind: 'memory',
    commit: (change) => group.commit(change),
    write: (change, heard, how) => group.write(change, heard, how),
    callAt: (position) => recordOf(positions.get(position)),
    call: (uid) => recordOf(calls.get(uid)),
    callsOf: ({ tenant, session }, { after, limit }) =>
      positions
        .within(tenant, session)
        .filter(({ inserted }) => inserted.uid > after)
        .toSorted((a, b) => (a.inserted.uid < b.inserted.uid ? -1 : 1))
        .slice(0, limit)
        .map((row) => recordOf(row) as CallRecord),
    steps: (call) => [...(steps.get(call)?.values() ?? [])],
    waitsOf: (call) => (waitsOf.get(call) ?? []).map((id) => waits.get(id) as WaitRecord),
    wait: (id) => waits.get(id),
    waitByKeyHash: (hash) => waits.get(keys.get(hash) ?? ''),
    dueWaits: (now, limit) => deadlines.due(now, limit).map((id) => waits.get(id) as WaitRecord),
    nextDeadline: () => deadlines.soonest,
    attachment: (tenant, id) => {
      const found = attachments.get(frame(tenant, id))
      return found && copyOf(found)
    },
    document: (name) => kept.get(name),
    documentsOf: (query) => kept.list(query),
    keptIn: (of, scope) => of.filter((each) => kept.has(each, scope)),
    events: (query) => feed.read(query),
    full: (takes) => takes.map((take) => places.full(take) !== null),
    holds: () => places.all(),
    lastPosition: () => feed.last,
    erased: (of) => feed.erased(of),
    unsettled: ({ of, after, limit }) =>
      [...unsettled]
        .filter((row) => row.inserted.uid > after && isIn(row, of))
        .toSorted((a, b) => (a.inserted.uid < b.inserted.uid ? -1 : 1))
        .slice(0, limit)
        .map(
          ({ inserted: { uid, position, tool, createdAt }, progress: { state, startedAt, wait, deaths }, owner }) => ({
            uid,
            position,
            tool,
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
      // A line of which a living worker has a part is that one's; what lands an answer has left its line.
      const lineOf = ({ inserted, progress }: Row): string | null => (progress.wait === null ? inserted.line : null)
      const others = new Set(
        [...wanting].flatMap((row) => (row.owner !== worker && alive(row.owner) ? (lineOf(row) ?? []) : [])),
      )
      const free = [...wanting]
        .filter((row) => isFree(row) && !others.has(lineOf(row) ?? ''))
        .toSorted(({ inserted: a }, { inserted: b }) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
      const lines = new Set(free.slice(0, limit).flatMap((row) => lineOf(row) ?? []))
      const taken = free.filter((row, index) => index < limit || lines.has(lineOf(row) ?? ''))
      return taken.map((row) => {
        const { state } = row.progress
        const atWork = state === 'running' || (state === 'queued' && row.progress.wait !== null)
        if (atWork && row.owner !== null) row.progress = { ...row.progress, deaths: row.progress.deaths + 1 }
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
