// Rows to records and back, and the prepared statements that write them.

import type { DatabaseSync } from 'node:sqlite'
import type { CallPosition, CallRecord } from '../../journal/call-state.ts'
import type { EventRecord } from '../../journal/event.ts'
import { frame } from '../../kernel/id.ts'
import { fold } from '../fold.ts'
import type { Change, Committed, Guard } from '../store.ts'

type CallRow = Omit<CallRecord, 'position'> & CallPosition

export function callOf({ tenant, session, batch, id, occurrence, ...rest }: CallRow): CallRecord {
  return { ...rest, position: { tenant, session, batch, id, occurrence } }
}

export const eventOf = (row: { body: string }): EventRecord => ({ ...row, body: JSON.parse(row.body) }) as unknown as EventRecord

/** Applies a group inside an open transaction; of each change its guards first, so a refused one has written nothing. */
export function writer(db: DatabaseSync): (changes: readonly Change[]) => Committed[] {
  const absent = db.prepare('SELECT 1 FROM calls WHERE tenant = ? AND session = ? AND batch = ? AND id = ? AND occurrence = ?')
  const holds = db.prepare(`SELECT 1 FROM calls WHERE uid = ? AND fence = ? AND state <> 'settled'`)
  const held = db.prepare('SELECT 1 FROM calls WHERE uid = ? AND fence = ?')
  const open = db.prepare('SELECT 1 FROM waits WHERE id = ? AND resolution IS NULL')
  const insertCall = db.prepare(
    `INSERT INTO calls (uid, tenant, session, batch, id, occurrence, principal, tool, input, hash, options, createdAt,
       state, args, terms, attempt, startedAt, wait, outcome, settledAt, fence, owner)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const updateCall = db.prepare(
    'UPDATE calls SET state = ?, args = ?, terms = ?, attempt = ?, startedAt = ?, wait = ?, outcome = ?, settledAt = ?, owner = iif(?, NULL, owner) WHERE uid = ?',
  )
  const putStep = db.prepare('INSERT OR REPLACE INTO steps (call, key, state, input, value, round, at) VALUES (?, ?, ?, ?, ?, ?, ?)')
  const insertWait = db.prepare(
    'INSERT INTO waits (id, call, name, salt, keyHash, deadline, createdAt, resolution) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const resolveWait = db.prepare('UPDATE waits SET resolution = ? WHERE id = ?')
  const queueParked = db.prepare(
    `UPDATE calls SET state = 'queued' WHERE uid = (SELECT call FROM waits WHERE id = ?1) AND state = 'parked' AND wait = ?1`,
  )
  const putAttachment = db.prepare('INSERT OR IGNORE INTO attachments (tenant, id, mediaType, name, data) VALUES (?, ?, ?, ?, ?)')
  const lastSeq = db.prepare('SELECT max(seq) AS seq FROM events WHERE tenant = ? AND session = ?')
  const addEvent = db.prepare('INSERT INTO events (tenant, session, seq, call, type, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)')

  const isTrue = (guard: Guard): boolean => {
    switch (guard.kind) {
      case 'absent': {
        const { tenant, session, batch, id, occurrence } = guard.position
        return absent.get(tenant, session, batch, id, occurrence) === undefined
      }
      case 'holds':
        return holds.get(guard.call, guard.fence) !== undefined
      case 'held':
        return held.get(guard.call, guard.fence) !== undefined
      case 'open':
        return open.get(guard.wait) !== undefined
    }
  }

  const one = (change: Change, call: CallRecord | undefined, covered: boolean, seqs: Map<string, number>): Committed => {
    if (!covered) for (const guard of change.guards) if (!isTrue(guard)) return { ok: false, refused: guard }
    if (call) {
      const p = call.position
      insertCall.run(
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
        call.createdAt,
        call.state,
        call.args,
        call.terms,
        call.attempt,
        call.startedAt,
        call.wait,
        call.outcome,
        call.settledAt,
        call.fence,
        call.owner,
      )
    }
    if (change.updateCall && !covered) {
      const { uid, progress: p, release } = change.updateCall
      updateCall.run(p.state, p.args, p.terms, p.attempt, p.startedAt, p.wait, p.outcome, p.settledAt, release ? 1 : 0, uid)
    }
    for (const s of change.steps ?? []) putStep.run(s.call, s.key, s.state, s.input, s.value, s.round, s.at)
    for (const w of change.insertWaits ?? []) {
      insertWait.run(w.id, w.call, w.name, w.salt, w.keyHash, w.deadline, w.createdAt, w.resolution)
    }
    if (change.resolveWait) {
      resolveWait.run(change.resolveWait.resolution, change.resolveWait.id)
      queueParked.run(change.resolveWait.id)
    }
    for (const a of change.attachments ?? []) putAttachment.run(a.tenant, a.id, a.mediaType, a.name, a.data)
    for (const e of change.events) {
      // Nobody else writes during the transaction, so a session's last number is asked for once.
      const session = frame(e.tenant, e.session)
      const seq = (seqs.get(session) ?? (lastSeq.get(e.tenant, e.session) as { seq: number | null }).seq ?? 0) + 1
      seqs.set(session, seq)
      addEvent.run(e.tenant, e.session, seq, e.call, e.type, e.at, JSON.stringify(e.body))
    }
    return { ok: true }
  }

  return (changes) => {
    const { insert, by } = fold(changes)
    const seqs = new Map<string, number>()
    const results: Committed[] = []
    for (const [index, change] of changes.entries()) {
      const at = by.get(index)
      // Covered by an insert that was refused: then so is this.
      const refused = at !== undefined && results[at]?.ok === false
      results.push(refused ? { ok: false, refused: change.guards[0] as Guard } : one(change, insert.get(index), at !== undefined, seqs))
    }
    return results
  }
}
