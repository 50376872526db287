// Maps rows to records, and applies groups of changes with prepared statements. Called by transaction.ts.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CallPosition, CallRecord } from '../records/call-record.ts'
import { foldChanges } from '../merge-group-changes.ts'
import type { Change, Committed, Guard } from '../store.ts'
import { EventWriter } from './events.ts'
import { DocumentWriter } from './documents.ts'
import type { SqliteSemaphores } from './semaphores.ts'

type CallRow = Omit<CallRecord, 'position'> & CallPosition

export function callOf({ tenant, session, batch, id, occurrence, ...rest }: CallRow): CallRecord {
  return { ...rest, position: { tenant, session, batch, id, occurrence } }
}

/**
 * Applies a group inside an open transaction. Checks the guards of each change first, so a refused change has written
 * nothing. A class, so that code optimized by the JIT is shared between store instances.
 */
export class ChangeWriter {
  readonly #absent: StatementSync
  readonly #holds: StatementSync
  readonly #held: StatementSync
  readonly #unsettled: StatementSync
  readonly #open: StatementSync
  readonly #insertCall: StatementSync
  readonly #updateCall: StatementSync
  readonly #putStep: StatementSync
  readonly #insertWait: StatementSync
  readonly #resolveWait: StatementSync
  readonly #queueParked: StatementSync
  readonly #putAttachment: StatementSync
  readonly #putUse: StatementSync
  readonly #events: EventWriter
  readonly #documents: DocumentWriter
  readonly #semaphores: SqliteSemaphores

  constructor(db: DatabaseSync, semaphores: SqliteSemaphores) {
    this.#semaphores = semaphores
    this.#absent = db.prepare(
      'SELECT 1 FROM calls WHERE tenant = ? AND session = ? AND batch = ? AND id = ? AND occurrence = ?',
    )
    this.#holds = db.prepare(`SELECT 1 FROM calls WHERE uid = ? AND fence = ? AND state <> 'settled'`)
    this.#unsettled = db.prepare(`SELECT 1 FROM calls WHERE uid = ? AND state <> 'settled'`)
    this.#held = db.prepare('SELECT 1 FROM calls WHERE uid = ? AND fence = ?')
    this.#open = db.prepare('SELECT 1 FROM waits WHERE id = ? AND resolution IS NULL')
    this.#insertCall = db.prepare(
      `INSERT INTO calls (uid, tenant, session, batch, id, occurrence, principal, tool, input, hash, options, line, createdAt,
         state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble, fence, owner)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (tenant, session, batch, id, occurrence) DO NOTHING`,
    )
    this.#updateCall = db.prepare(
      `UPDATE calls SET state = ?, args = ?, terms = ?, attempt = ?, startedAt = ?, wait = ?, outcome = ?, settledAt = ?, deaths = ?,
         trouble = ?, owner = iif(?, NULL, owner) WHERE uid = ?`,
    )
    this.#putStep = db.prepare(
      'INSERT OR REPLACE INTO steps (call, key, state, input, value, round, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    this.#insertWait = db.prepare(
      'INSERT INTO waits (id, call, name, salt, keyHash, deadline, createdAt, terms, resolution) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    )
    this.#resolveWait = db.prepare('UPDATE waits SET resolution = ? WHERE id = ?')
    this.#queueParked = db.prepare(
      `UPDATE calls SET state = 'queued' WHERE uid = (SELECT call FROM waits WHERE id = ?1) AND state = 'parked' AND wait = ?1`,
    )
    this.#putAttachment = db.prepare(
      'INSERT OR IGNORE INTO attachments (tenant, id, mediaType, name, data) VALUES (?, ?, ?, ?, ?)',
    )
    this.#putUse = db.prepare('INSERT OR IGNORE INTO uses (tenant, id, call) VALUES (?, ?, ?)')
    this.#events = new EventWriter(db)
    this.#documents = new DocumentWriter(db)
  }

  write(changes: readonly Change[]): Committed[] {
    const folded = foldChanges(changes)
    const results: Committed[] = []
    this.#events.clear()
    for (const [index, change] of changes.entries()) {
      const at = folded.coveredBy.get(index)
      // If the insert that covers this change was refused, so is this change.
      const refused = at !== undefined && results[at]?.ok === false
      results.push(
        refused
          ? { ok: false, refused: change.guards[0] as Guard }
          : this.#apply(change, folded.inserts.get(index), at !== undefined),
      )
    }
    this.#events.write()
    return results
  }

  #apply(change: Change, call: CallRecord | undefined, covered: boolean): Committed {
    if (!covered) {
      for (const guard of change.guards) {
        // For the inserted call itself, the unique index checks that the position is free as part of the insert.
        const isOwn = guard.kind === 'absent' && guard.position === change.insertCall?.position
        if (!isOwn && !this.#isSatisfied(guard)) return { ok: false, refused: guard }
      }
    }
    const fullName = change.takeSlots ? this.#semaphores.findFull(change.takeSlots) : null
    if (fullName !== null) return { ok: false, refused: { kind: 'room', name: fullName } }
    if (call && !this.#insert(call)) return { ok: false, refused: { kind: 'absent', position: call.position } }
    if (change.takeSlots) this.#semaphores.take(change.takeSlots)
    if (change.queueForSlot) this.#semaphores.enqueue(change.queueForSlot)
    if (change.releaseSlots) this.#semaphores.release(change.releaseSlots)
    if (change.updateCall && !covered) {
      const { uid, progress: p, release } = change.updateCall
      const { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble } = p
      this.#updateCall.run(
        state,
        args,
        terms,
        attempt,
        startedAt,
        wait,
        outcome,
        settledAt,
        deaths,
        trouble,
        release ? 1 : 0,
        uid,
      )
    }
    for (const s of change.steps ?? []) this.#putStep.run(s.call, s.key, s.state, s.input, s.value, s.round, s.at)
    for (const w of change.insertWaits ?? []) {
      this.#insertWait.run(w.id, w.call, w.name, w.salt, w.keyHash, w.deadline, w.createdAt, w.terms, w.resolution)
    }
    if (change.resolveWait) {
      this.#resolveWait.run(change.resolveWait.resolution, change.resolveWait.id)
      this.#queueParked.run(change.resolveWait.id)
    }
    for (const a of change.attachments ?? []) this.#putAttachment.run(a.tenant, a.id, a.mediaType, a.name, a.data)
    for (const { tenant, id, call } of change.uses ?? []) this.#putUse.run(tenant, id, call)
    for (const each of change.documents ?? []) this.#documents.put(each)
    for (const event of change.events) this.#events.add(event)
    return { ok: true }
  }

  /** False if the position is taken. */
  #insert(call: CallRecord): boolean {
    const p = call.position
    const isInserted =
      this.#insertCall.run(
        call.uid,
        p.tenant,
        p.session,
        p.batch,
        p.id,
        p.occurrence,
        call.principal,
        call.tool,
        call.input,
        call.hash,
        call.options,
        call.line,
        call.createdAt,
        call.state,
        call.args,
        call.terms,
        call.attempt,
        call.startedAt,
        call.wait,
        call.outcome,
        call.settledAt,
        call.deaths,
        call.trouble,
        call.fence,
        call.owner,
      ).changes === 1
    if (isInserted) this.#events.addCall(call)
    return isInserted
  }

  #isSatisfied(guard: Guard): boolean {
    switch (guard.kind) {
      case 'absent': {
        const { tenant, session, batch, id, occurrence } = guard.position
        return this.#absent.get(tenant, session, batch, id, occurrence) === undefined
      }
      case 'holds':
        return this.#holds.get(guard.call, guard.fence) !== undefined
      case 'unsettled':
        return this.#unsettled.get(guard.call) !== undefined
      case 'held':
        return this.#held.get(guard.call, guard.fence) !== undefined
      case 'open':
        return this.#open.get(guard.wait) !== undefined
      case 'kept':
        return this.#documents.revision(guard) === guard.revision
      case 'room':
        return true
    }
  }
}
