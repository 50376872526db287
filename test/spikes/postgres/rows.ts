// Rows to records and back, and how one change is written inside an open transaction.
//
// Recorded values are JSON text, in which U+0000 is an escape already: they are stored to the letter. Names are plain strings, and
// PostgreSQL's text cannot hold U+0000, so names are escaped on their way in and unescaped on their way out.

import { createHash } from 'node:crypto'
import type { ClientBase } from 'pg'
import { frame } from '../../../src/kernel/id.ts'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../../../src/journal/call-state.ts'
import type { EventRecord } from '../../../src/journal/event.ts'
import type { AttachmentRecord, Change, Committed, Guard } from '../../../src/store/store.ts'

/** A name as it is stored: `\` doubled, U+0000 as `\0`. Most names have neither. */
export function nameIn<T extends string | null>(name: T): T {
  if (name === null || !(name.includes('\\') || name.includes('\0'))) return name
  return name.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') as T
}

export function nameOut<T extends string | null>(stored: T): T {
  if (stored === null || !stored.includes('\\')) return stored
  return stored.replace(/\\([\\0])/g, (_, escaped) => (escaped === '0' ? '\0' : '\\')) as T
}

export const digest = (...parts: (string | number)[]): Buffer =>
  createHash('sha256')
    .update(frame(...parts))
    .digest()
export const placeOf = (p: CallPosition): Buffer => digest(p.tenant, p.session, p.batch, p.id, p.occurrence)

type CallRow = Omit<CallRecord, 'position'> & CallPosition & { place: Buffer }

export function callOf({ place: _place, tenant, session, batch, id, occurrence, ...row }: CallRow): CallRecord {
  return {
    ...row,
    uid: nameOut(row.uid),
    principal: nameOut(row.principal),
    tool: nameOut(row.tool),
    hash: nameOut(row.hash),
    wait: nameOut(row.wait),
    owner: nameOut(row.owner),
    position: { tenant: nameOut(tenant), session: nameOut(session), batch: nameOut(batch), id: nameOut(id), occurrence },
  }
}

export function stepOf({ place: _place, ...row }: StepRecord & { place: Buffer }): StepRecord {
  return { ...row, call: nameOut(row.call), key: nameOut(row.key) }
}

export function waitOf(row: WaitRecord): WaitRecord {
  const { id, call, name, salt, keyHash } = row
  return { ...row, id: nameOut(id), call: nameOut(call), name: nameOut(name), salt: nameOut(salt), keyHash: nameOut(keyHash) }
}

export function attachmentOf({ place: _place, ...row }: AttachmentRecord & { place: Buffer }): AttachmentRecord {
  return { ...row, id: nameOut(row.id), tenant: nameOut(row.tenant), mediaType: nameOut(row.mediaType), name: nameOut(row.name) }
}

export function eventOf({ scope: _scope, ...row }: Omit<EventRecord, 'body'> & { scope: Buffer; body: string }): EventRecord {
  const { tenant, session, call } = row
  return {
    ...row,
    tenant: nameOut(tenant),
    session: nameOut(session),
    call: nameOut(call),
    body: JSON.parse(row.body),
  }
}

/** One group inside its transaction, which holds the committers' lock: nobody else commits changes meanwhile. */
export class GroupWriter {
  readonly #client: ClientBase
  /** The last position given out. */
  position: number

  constructor(client: ClientBase, position: number) {
    this.#client = client
    this.position = position
  }

  /** The guards first, so that a refused change has written nothing. */
  async apply(change: Change): Promise<Committed> {
    for (const guard of change.guards) if (!(await this.#isTrue(guard))) return { ok: false, refused: guard }
    if (change.insertCall) await this.#insertCall(change.insertCall)
    if (change.updateCall) await this.#updateCall(change.updateCall)
    for (const s of change.steps ?? []) {
      await this.#run(
        `INSERT INTO steps (call, place, key, state, input, value, at, round) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (call, place) DO UPDATE SET state = $4, input = $5, value = $6, at = $7, round = $8`,
        [nameIn(s.call), digest(s.key), nameIn(s.key), s.state, s.input, s.value, s.at, s.round],
      )
    }
    for (const w of change.insertWaits ?? []) {
      await this.#run(
        `INSERT INTO waits (id, call, name, salt, "keyHash", deadline, "createdAt", resolution) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [nameIn(w.id), nameIn(w.call), nameIn(w.name), nameIn(w.salt), nameIn(w.keyHash), w.deadline, w.createdAt, w.resolution],
      )
    }
    if (change.resolveWait) {
      await this.#run(
        `WITH answered AS (UPDATE waits SET resolution = $2 WHERE id = $1 RETURNING id, call)
         UPDATE calls SET state = 'queued' FROM answered WHERE uid = answered.call AND state = 'parked' AND wait = answered.id`,
        [nameIn(change.resolveWait.id), change.resolveWait.resolution],
      )
    }
    for (const a of change.attachments ?? []) {
      await this.#run(
        'INSERT INTO attachments (place, tenant, id, "mediaType", name, data) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING',
        [digest(a.tenant, a.id), nameIn(a.tenant), nameIn(a.id), nameIn(a.mediaType), nameIn(a.name), a.data],
      )
    }
    for (const e of change.events) {
      await this.#run(
        `INSERT INTO events (position, scope, seq, tenant, session, call, type, at, body)
         VALUES ($1, $2, coalesce((SELECT seq FROM events WHERE scope = $2 ORDER BY position DESC LIMIT 1), 0) + 1, $3, $4, $5, $6, $7, $8)`,
        [
          ++this.position,
          digest(e.tenant, e.session),
          nameIn(e.tenant),
          nameIn(e.session),
          nameIn(e.call),
          e.type,
          e.at,
          JSON.stringify(e.body),
        ],
      )
    }
    return { ok: true }
  }

  async #isTrue(guard: Guard): Promise<boolean> {
    switch (guard.kind) {
      case 'absent':
        return (await this.#run('SELECT 1 FROM calls WHERE place = $1', [placeOf(guard.position)])) === 0
      case 'holds':
        // Claims do not take the committers' lock: the row's lock keeps the fence as it is until this group is committed.
        return (
          (await this.#run(`SELECT 1 FROM calls WHERE uid = $1 AND fence = $2 AND state <> 'settled' FOR UPDATE`, [
            nameIn(guard.call),
            guard.fence,
          ])) === 1
        )
      case 'held':
        return (await this.#run('SELECT 1 FROM calls WHERE uid = $1 AND fence = $2 FOR UPDATE', [nameIn(guard.call), guard.fence])) === 1
      case 'open':
        return (await this.#run('SELECT 1 FROM waits WHERE id = $1 AND resolution IS NULL', [nameIn(guard.wait)])) === 1
    }
  }

  async #insertCall(call: CallRecord): Promise<void> {
    const p = call.position
    const identity = [nameIn(call.uid), placeOf(p), nameIn(p.tenant), nameIn(p.session), nameIn(p.batch), nameIn(p.id), p.occurrence]
    const request = [nameIn(call.principal), nameIn(call.tool), call.input, nameIn(call.hash), call.options, call.createdAt]
    const { state, args, terms, attempt, startedAt, wait, outcome, settledAt, fence, owner } = call
    const progress = [state, args, terms, attempt, startedAt, nameIn(wait), outcome, settledAt, fence, nameIn(owner)]
    await this.#run(
      `INSERT INTO calls (uid, place, tenant, session, batch, id, occurrence, principal, tool, input, hash, options, "createdAt",
         state, args, terms, attempt, "startedAt", wait, outcome, "settledAt", fence, owner)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`,
      [...identity, ...request, ...progress],
    )
  }

  async #updateCall({ uid, progress: p, release }: NonNullable<Change['updateCall']>): Promise<void> {
    await this.#run(
      `UPDATE calls SET state = $2, args = $3, attempt = $4, "startedAt" = $5, wait = $6, outcome = $7, "settledAt" = $8, terms = $10,
         owner = CASE WHEN $9 THEN NULL ELSE owner END WHERE uid = $1`,
      [nameIn(uid), p.state, p.args, p.attempt, p.startedAt, nameIn(p.wait), p.outcome, p.settledAt, release === true, p.terms],
    )
  }

  async #run(sql: string, values: readonly unknown[]): Promise<number> {
    return (await this.#client.query(sql, values as unknown[])).rowCount ?? 0
  }
}
