// The store without a disk: the same promises, not the survival. Also the readable statement of what a store does, so
// nothing here is clever; the conformance cases hold the others to it.

import { randomBytes } from 'node:crypto'
import { frame } from '../kernel/id.ts'
import type { Clock } from '../kernel/time.ts'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../journal/call-state.ts'
import type { EventRecord } from '../journal/event.ts'
import { GroupCommit } from './group.ts'
import type { AttachmentRecord, Change, Committed, Guard, Store } from './store.ts'

const at = (p: CallPosition): string => frame(p.tenant, p.session, p.batch, p.id, p.occurrence)
const copyOf = (attachment: AttachmentRecord): AttachmentRecord => ({ ...attachment, data: Uint8Array.from(attachment.data) })

export function memoryStore(options: { clock: Clock }): Store {
  const { clock } = options
  const calls = new Map<string, CallRecord>()
  const positions = new Map<string, string>()
  const steps = new Map<string, Map<string, StepRecord>>()
  const waits = new Map<string, WaitRecord>()
  const keys = new Map<string, string>()
  const waitsOf = new Map<string, string[]>()
  const open = new Set<string>()
  const attachments = new Map<string, AttachmentRecord>()
  const events: EventRecord[] = []
  const sequences = new Map<string, number>()
  const workers = new Map<string, number>()
  const settings = new Map<string, string>()
  const secret = randomBytes(32)

  const holdsTrue = (guard: Guard): boolean => {
    switch (guard.kind) {
      case 'absent':
        return !positions.has(at(guard.position))
      case 'holds': {
        const call = calls.get(guard.call)
        return call !== undefined && call.fence === guard.fence && call.state !== 'settled'
      }
      case 'held':
        return calls.get(guard.call)?.fence === guard.fence
      case 'open':
        return open.has(guard.wait)
    }
  }

  const apply = (change: Change): Committed => {
    const refused = change.guards.find((guard) => !holdsTrue(guard))
    if (refused) return { ok: false, refused }
    if (change.insertCall) {
      calls.set(change.insertCall.uid, change.insertCall)
      positions.set(at(change.insertCall.position), change.insertCall.uid)
    }
    if (change.updateCall) {
      const { uid, progress, release } = change.updateCall
      const call = calls.get(uid) as CallRecord
      calls.set(uid, { ...call, ...progress, owner: release ? null : call.owner })
    }
    for (const step of change.steps ?? []) {
      const own = steps.get(step.call) ?? new Map<string, StepRecord>()
      steps.set(step.call, own.set(step.key, step))
    }
    for (const wait of change.insertWaits ?? []) {
      waits.set(wait.id, wait)
      keys.set(wait.keyHash, wait.id)
      waitsOf.set(wait.call, [...(waitsOf.get(wait.call) ?? []), wait.id])
      open.add(wait.id)
    }
    if (change.resolveWait) {
      const { id, resolution } = change.resolveWait
      const wait = waits.get(id) as WaitRecord
      waits.set(id, { ...wait, resolution })
      open.delete(id)
      const call = calls.get(wait.call)
      if (call?.state === 'parked' && call.wait === id) calls.set(call.uid, { ...call, state: 'queued' })
    }
    for (const each of change.attachments ?? []) {
      const id = frame(each.tenant, each.id)
      // A copy: the caller's buffer may be used again, ours is the record.
      if (!attachments.has(id)) attachments.set(id, copyOf(each))
    }
    for (const event of change.events) {
      const session = frame(event.tenant, event.session)
      const seq = (sequences.get(session) ?? 0) + 1
      sequences.set(session, seq)
      events.push({ ...event, position: events.length + 1, seq })
    }
    return { ok: true }
  }

  const group = new GroupCommit(clock, (changes) => changes.map(apply))
  const openWaits = (): WaitRecord[] =>
    [...open].map((id) => waits.get(id) as WaitRecord).toSorted((a, b) => a.deadline - b.deadline || (a.id < b.id ? -1 : 1))
  const alive = (worker: string | null): boolean => worker !== null && (workers.get(worker) ?? 0) > clock.monotonic()

  return {
    kind: 'memory',
    commit: (change, how) => group.commit(change, how),
    callAt: (position) => calls.get(positions.get(at(position)) ?? ''),
    call: (uid) => calls.get(uid),
    callsOf: ({ tenant, session }, { after, limit }) =>
      [...calls.values()]
        .filter(({ uid, position }) => position.tenant === tenant && position.session === session && uid > after)
        .toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
        .slice(0, limit),
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
    events: ({ after, limit, of }) => {
      const found: EventRecord[] = []
      for (let index = after; index < events.length && found.length < limit; index++) {
        const event = events[index] as EventRecord
        if (!of || (event.tenant === of.tenant && event.session === of.session)) found.push(event)
      }
      return found
    },
    renew: (worker, leaseMs) => {
      workers.set(worker, clock.monotonic() + leaseMs)
      group.shared = workers.size > 1
    },
    claim: (worker, tools, limit) => {
      const claimed: CallRecord[] = []
      for (const call of calls.values()) {
        if (claimed.length >= limit) break
        if (call.state === 'settled' || call.state === 'parked' || call.owner === worker || alive(call.owner) || !tools.includes(call.tool))
          continue
        const mine = { ...call, owner: worker, fence: call.fence + 1 }
        calls.set(call.uid, mine)
        claimed.push(mine)
      }
      return claimed
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
