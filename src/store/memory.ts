// The store without a disk: the same promises, not the survival. Also the readable statement of what a store does, so
// nothing here is clever; the conformance cases hold the others to it.

import { randomBytes } from 'node:crypto'
import { frame } from '../kernel/id.ts'
import type { Clock } from '../kernel/time.ts'
import { type CallProgress, type CallRecord, progressOf, type StepRecord, type WaitRecord } from '../journal/call-state.ts'
import type { EventRecord, NewEvent } from '../journal/event.ts'
import { Places } from '../journal/places.ts'
import { Deadlines } from './deadlines.ts'
import { GroupCommit } from './group.ts'
import { HeldPlaces } from './held-places.ts'
import type { AttachmentRecord, Change, Committed, Guard, Store } from './store.ts'

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

/** Methods, not closures: what one store has taught the compiler serves the next. */
class Tables {
  readonly calls = new Map<string, Row>()
  readonly positions = new Places<Row>()
  /** Those that want a worker, or have one: looking for work costs neither what is settled nor what is parked. */
  readonly wanting = new Set<Row>()
  readonly steps = new Map<string, Map<string, StepRecord>>()
  readonly waits = new Map<string, WaitRecord>()
  readonly keys = new Map<string, string>()
  readonly waitsOf = new Map<string, string[]>()
  readonly open = new Set<string>()
  /** Of those. */
  readonly deadlines = new Deadlines()
  readonly attachments = new Map<string, AttachmentRecord>()
  readonly events: { readonly event: NewEvent; readonly seq: number }[] = []
  readonly sequences = new Map<string, Map<string, number>>()
  readonly places: HeldPlaces

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
      if (inserted.state !== 'settled' && inserted.state !== 'parked') this.wanting.add(row)
    }
    if (change.updateCall) {
      const { uid, progress, release } = change.updateCall
      const row = this.calls.get(uid) as Row
      row.progress = progress
      if (release) row.owner = null
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
    for (const event of change.events) {
      let last = this.sequences.get(event.tenant)
      if (!last) this.sequences.set(event.tenant, (last = new Map()))
      const seq = (last.get(event.session) ?? 0) + 1
      last.set(event.session, seq)
      this.events.push({ event, seq })
    }
    return done
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
      case 'room':
        return true
    }
  }
}

export function memoryStore(options: { clock: Clock }): Store {
  const { clock } = options
  const workers = new Map<string, number>()
  const alive = (worker: string | null): boolean => worker !== null && (workers.get(worker) ?? 0) > clock.monotonic()
  const places = new HeldPlaces(clock, alive)
  const tables = new Tables(places)
  const { calls, positions, wanting, steps, waits, keys, waitsOf, deadlines, attachments, events } = tables
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
    events: ({ after, limit, of }) => {
      const found: EventRecord[] = []
      for (let index = after; index < events.length && found.length < limit; index++) {
        const { event, seq } = events[index] as (typeof events)[number]
        if (!of || (event.tenant === of.tenant && event.session === of.session)) found.push({ ...event, position: index + 1, seq })
      }
      return found
    },
    full: (takes) => takes.map((take) => places.full(take) !== null),
    holds: () => places.all(),
    lastPosition: () => events.length,
    renew: (worker, leaseMs) => {
      workers.set(worker, clock.monotonic() + leaseMs)
      group.shared = workers.size > 1
      return [...workers.keys()].filter(alive).length
    },
    claim: (worker, tools, limit) => {
      const isFree = ({ owner, inserted }: Row): boolean => owner !== worker && !alive(owner) && tools.includes(inserted.tool)
      // A line of which a living worker has a part is that one's; what lands an answer has left its line.
      const lineOf = ({ inserted, progress }: Row): string | null => (progress.wait === null ? inserted.line : null)
      const others = new Set([...wanting].flatMap((row) => (row.owner !== worker && alive(row.owner) ? (lineOf(row) ?? []) : [])))
      const free = [...wanting]
        .filter((row) => isFree(row) && !others.has(lineOf(row) ?? ''))
        .toSorted(({ inserted: a }, { inserted: b }) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
      const lines = new Set(free.slice(0, limit).flatMap((row) => lineOf(row) ?? []))
      const taken = free.filter((row, index) => index < limit || lines.has(lineOf(row) ?? ''))
      return taken.map((row) => {
        const { state } = row.progress
        if (state === 'running' && row.owner !== null) row.progress = { ...row.progress, deaths: row.progress.deaths + 1 }
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
