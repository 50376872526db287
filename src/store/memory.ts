// The store without a disk: the same promises, not the survival. Also the readable statement of what a store does, so
// nothing here is clever; the conformance cases hold the others to it.

import { randomBytes } from 'node:crypto'
import { frame } from '../kernel/id.ts'
import { type Clock, systemClock } from '../kernel/time.ts'
import { type CallProgress, type CallRecord, progressOf, type StepRecord, type WaitRecord } from '../journal/call-state.ts'
import { Places } from '../journal/places.ts'
import { GroupCommit } from './group.ts'
import { MemoryFeed } from './memory-feed.ts'
import type { AttachmentRecord, Change, Committed, ErasedPage, EraseQuery, Guard, Scope, Store } from './store.ts'

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
const copyOf = (attachment: AttachmentRecord): AttachmentRecord => ({ ...attachment, data: Uint8Array.from(attachment.data) })

const isIn = ({ inserted: { position } }: Row, of: Scope | undefined): boolean =>
  !of || (position.tenant === of.tenant && (of.session === undefined || position.session === of.session))

/** Methods, not closures: what one store has taught the compiler serves the next. */
class Tables {
  readonly calls = new Map<string, Row>()
  readonly positions = new Places<Row>()
  /** Not settled: looking for work costs what is open, not what was. */
  readonly unsettled = new Set<Row>()
  readonly steps = new Map<string, Map<string, StepRecord>>()
  readonly waits = new Map<string, WaitRecord>()
  readonly keys = new Map<string, string>()
  readonly waitsOf = new Map<string, string[]>()
  readonly open = new Set<string>()
  readonly attachments = new Map<string, AttachmentRecord>()
  /** The calls that speak of each attachment, and the attachments of each call. */
  readonly users = new Map<string, Set<string>>()
  readonly usedBy = new Map<string, Set<string>>()
  readonly feed = new MemoryFeed()

  apply(change: Change): Committed {
    for (const guard of change.guards) if (!this.#holds(guard)) return { ok: false, refused: guard }
    if (change.insertCall) {
      const { insertCall: inserted } = change
      const row = { inserted, progress: progressOf(inserted), fence: inserted.fence, owner: inserted.owner }
      this.calls.set(inserted.uid, row)
      this.positions.set(inserted.position, row)
      if (inserted.state !== 'settled') this.unsettled.add(row)
    }
    if (change.updateCall) {
      const { uid, progress, release } = change.updateCall
      const row = this.calls.get(uid) as Row
      row.progress = progress
      if (release) row.owner = null
      if (progress.state === 'settled') this.unsettled.delete(row)
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
        this.open.add(wait.id)
      }
    if (change.resolveWait) {
      const { id, resolution } = change.resolveWait
      const wait = this.waits.get(id) as WaitRecord
      this.waits.set(id, { ...wait, resolution })
      this.open.delete(id)
      const call = this.calls.get(wait.call)
      if (call?.progress.state === 'parked' && call.progress.wait === id) call.progress = { ...call.progress, state: 'queued' }
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
    for (const event of change.events) this.feed.add(event)
    return done
  }

  erase({ of, settledBefore = Number.POSITIVE_INFINITY, limit }: EraseQuery, anew: boolean): ErasedPage {
    const busy = new Set([...this.unsettled].map(({ inserted: { position } }) => frame(position.tenant, position.session)))
    const taken: Row[] = []
    for (const row of this.calls.values()) {
      if (taken.length >= limit) break
      const { tenant, session } = row.inserted.position
      if (row.progress.state !== 'settled' || (row.progress.settledAt ?? 0) >= settledBefore) continue
      if (isIn(row, of) && !busy.has(frame(tenant, session))) taken.push(row)
    }
    const had = this.attachments.size
    if (taken.length > 0) this.feed.begin()
    for (const row of taken) this.#forget(row)
    const uids = new Set(taken.map(({ inserted }) => inserted.uid))
    const sessions = new Map(taken.map(({ inserted: { position } }) => [frame(position.tenant, position.session), position]))
    let events = 0
    for (const session of sessions.values()) events += this.feed.erase(session, uids, anew)
    const next = taken.length < limit ? null : 'more'
    // Of a whole tenant, also what no call speaks of.
    if (of && of.session === undefined && anew && next === null) {
      for (const [name, { tenant }] of this.attachments) if (tenant === of.tenant && !this.users.has(name)) this.attachments.delete(name)
    }
    return { calls: taken.length, events, attachments: had - this.attachments.size, next }
  }

  #forget({ inserted: { uid, position } }: Row): void {
    this.calls.delete(uid)
    this.positions.delete(position)
    this.steps.delete(uid)
    for (const id of this.waitsOf.get(uid) ?? []) {
      this.keys.delete((this.waits.get(id) as WaitRecord).keyHash)
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
      case 'held':
        return this.calls.get(guard.call)?.fence === guard.fence
      case 'open':
        return this.open.has(guard.wait)
    }
  }
}

export function memoryStore({ clock = systemClock }: { clock?: Clock } = {}): Store {
  const tables = new Tables()
  const { calls, positions, unsettled, steps, waits, keys, waitsOf, open, attachments, feed } = tables
  const workers = new Map<string, number>()
  const settings = new Map<string, string>()
  const secret = randomBytes(32)
  const group = new GroupCommit(clock, (changes) => changes.map((change) => tables.apply(change)))
  const openWaits = (): WaitRecord[] =>
    [...open].map((id) => waits.get(id) as WaitRecord).toSorted((a, b) => a.deadline - b.deadline || (a.id < b.id ? -1 : 1))
  const alive = (worker: string | null): boolean => worker !== null && (workers.get(worker) ?? 0) > clock.monotonic()

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
    dueWaits: (now, limit) =>
      openWaits()
        .filter((wait) => wait.deadline <= now)
        .slice(0, limit),
    nextDeadline: () => openWaits()[0]?.deadline,
    attachment: (tenant, id) => {
      const found = attachments.get(frame(tenant, id))
      return found && copyOf(found)
    },
    events: (query) => feed.read(query),
    erased: (of) => feed.erased(of),
    unsettled: ({ of, after, limit }) =>
      [...unsettled]
        .filter((row) => row.inserted.uid > after && isIn(row, of))
        .toSorted((a, b) => (a.inserted.uid < b.inserted.uid ? -1 : 1))
        .slice(0, limit)
        .map(({ inserted: { uid, position, tool, createdAt }, progress: { state, startedAt, wait, deaths }, owner }) => ({
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
        })),
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
    },
    claim: (worker, tools, limit) => {
      const free = [...unsettled].filter(
        ({ inserted, progress: { state }, owner }) =>
          state !== 'settled' && state !== 'parked' && owner !== worker && !alive(owner) && tools.includes(inserted.tool),
      )
      return free
        .toSorted(({ inserted: a }, { inserted: b }) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
        .slice(0, limit)
        .map((row) => {
          if (row.progress.state === 'running' && row.owner !== null) row.progress = { ...row.progress, deaths: row.progress.deaths + 1 }
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
    secret: () => secret,
    onHint: (listener) => group.onHint(listener),
    close: () => group.close(),
  }
}
