// Lists open calls, erases settled ones, and inspects the SQLite file. Called by sqlite-store.ts.

import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { lengthPrefixed } from '../../core/ids.ts'
import type { Scope } from '../../core/scope.ts'
import type {
  CallPage,
  ErasedPage,
  EraseQuery,
  Erasure,
  EventQuery,
  ScopeFilter,
  StoreFacts,
  Unsettled,
} from '../store.ts'
import { EventEraser, scopeOf } from './events.ts'
import { DocumentEraser } from './documents.ts'
import { callOf } from './rows.ts'

/** Largest file checked for damage, in pages. Checking a larger one would block the event loop for too long. */
const maxPagesChecked = 20_000

/** Largest file rewritten by scrub(), in bytes: takes about a second. */
const maxScrubBytes = 128 * 1024 * 1024

interface Candidate {
  readonly uid: string
  readonly tenant: string
  readonly session: string
  readonly batch: string
  readonly id: string
  readonly occurrence: number
  readonly settledAt: number
}

const columns = 'uid, tenant, session, batch, id, occurrence, settledAt'
/** Sessions with open work are not erased. Both parts use partial indexes, so the cost depends on open calls only. */
const sessionIsIdle = `
  NOT EXISTS (SELECT 1 FROM calls AS p INDEXED BY calls_parked WHERE p.state = 'parked' AND p.tenant = c.tenant AND p.session = c.session)
  AND (tenant, session) NOT IN (SELECT tenant, session FROM calls INDEXED BY calls_open WHERE state IN ('received', 'queued', 'running'))`
const uidList = '(SELECT value FROM json_each(?1))'
const infinity = Number.MAX_SAFE_INTEGER

export class Retention {
  readonly #db: DatabaseSync
  readonly #file: string
  readonly #q: Readonly<
    Record<'all' | 'ofTenant' | 'ofSession' | 'erased' | 'upsert' | 'resetSeq' | 'next', StatementSync>
  >
  readonly #delete: Readonly<Record<'steps' | 'waits' | 'uses' | 'calls' | 'attachments' | 'leftovers', StatementSync>>
  readonly #unsettled: StatementSync
  readonly #usedBy: StatementSync
  readonly #events: EventEraser
  readonly #documents: DocumentEraser

  constructor(db: DatabaseSync, file: string) {
    this.#db = db
    this.#file = file
    const page = (by: string, order: string): StatementSync =>
      db.prepare(
        `SELECT ${columns} FROM calls AS c WHERE state = 'settled' AND settledAt < ?1 AND ${by} AND ${sessionIsIdle} ORDER BY ${order} LIMIT ?2`,
      )
    const callKey = 'batch, id, occurrence'
    this.#q = {
      all: page('(settledAt, uid) > (?3, ?4)', 'settledAt, uid'),
      ofTenant: page(`tenant = ?3 AND (session, ${callKey}) > (?4, ?5, ?6, ?7)`, `session, ${callKey}`),
      ofSession: page(`tenant = ?3 AND session = ?4 AND (${callKey}) > (?5, ?6, ?7)`, callKey),
      erased: db.prepare('SELECT count, position FROM erasures WHERE scope = ?'),
      // The last writer's `count` wins; positions and sequences only grow.
      upsert: db.prepare(
        `INSERT INTO erasures (scope, seq, position, count) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (scope) DO UPDATE SET
           seq = max(seq, excluded.seq), position = max(position, excluded.position), count = excluded.count`,
      ),
      resetSeq: db.prepare('UPDATE erasures SET seq = 0 WHERE scope = ?'),
      next: db.prepare(`SELECT count + 1 AS count FROM erasures WHERE scope = ''`),
    }
    this.#delete = {
      steps: db.prepare(`DELETE FROM steps WHERE call IN ${uidList}`),
      waits: db.prepare(`DELETE FROM waits WHERE call IN ${uidList}`),
      uses: db.prepare(`DELETE FROM uses WHERE call IN ${uidList}`),
      calls: db.prepare(`DELETE FROM calls WHERE uid IN ${uidList}`),
      attachments: db.prepare(
        `DELETE FROM attachments WHERE tenant = ?1 AND id = ?2 AND NOT EXISTS (SELECT 1 FROM uses WHERE tenant = ?1 AND id = ?2)`,
      ),
      leftovers: db.prepare(
        `DELETE FROM attachments WHERE tenant = ?1 AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.tenant = ?1 AND uses.id = attachments.id)`,
      ),
    }
    this.#usedBy = db.prepare(`SELECT DISTINCT tenant, id FROM uses WHERE call IN ${uidList}`)
    this.#events = new EventEraser(db)
    this.#documents = new DocumentEraser(db)
    this.#unsettled = db.prepare(
      `SELECT uid, tenant, session, batch, id, occurrence, tool, terms, state, createdAt, startedAt, wait, deaths, owner,
         owner IN (SELECT id FROM workers WHERE issued <= ?5 AND until > ?5) AS alive FROM calls WHERE uid IN (
           SELECT uid FROM calls INDEXED BY calls_open WHERE state IN ('received', 'queued', 'running')
             AND uid > ?1 AND (?3 IS NULL OR tenant = ?3) AND (?4 IS NULL OR session = ?4)
           UNION ALL SELECT uid FROM calls INDEXED BY calls_parked WHERE state = 'parked'
             AND uid > ?1 AND (?3 IS NULL OR tenant = ?3) AND (?4 IS NULL OR session = ?4)
           ORDER BY uid LIMIT ?2) ORDER BY uid`,
    )
  }

  unsettled({ of, after, limit }: CallPage & { of?: ScopeFilter }, now: number): Unsettled[] {
    const rows = this.#unsettled.all(after, limit, of?.tenant ?? null, of?.session ?? null, now)
    return rows.map((row) => ({ ...callOf(row as never), alive: row.alive === 1 }))
  }

  erased(of: EventQuery['of']): Erasure {
    const found = this.#q.erased.get(of ? scopeOf(of.tenant, of.session) : '') as Erasure | undefined
    return found ? { ...found } : { count: 0, position: 0 }
  }

  /** Must run inside a transaction. */
  erase(query: EraseQuery): ErasedPage {
    const { of, settledBefore = infinity, after } = query
    const from = orphanCursor(after)
    const page = from === null ? this.#eraseCalls(query) : { calls: 0, events: 0, attachments: 0, next: null }
    if (page.next !== null) return page
    const { events, next } = this.#events.findOrphans(of, settledBefore, from ?? 0)
    const erased = this.#eraseOrphans(events, query.settledBefore === undefined)
    return { ...page, events: page.events + erased, next: next === null ? null : JSON.stringify({ loose: next }) }
  }

  #eraseCalls(query: EraseQuery): ErasedPage {
    const { of, limit, settledBefore } = query
    const found = this.#candidates(query)
    const last = found.at(-1)
    const next =
      last && found.length === limit ? JSON.stringify(of ? cursorOf(last, of) : [last.settledAt, last.uid]) : null
    const restart = settledBefore === undefined
    let attachments = 0
    let events = 0
    if (last) {
      const uids = JSON.stringify(found.map(({ uid }) => uid))
      const used = this.#usedBy.all(uids) as { tenant: string; id: string }[]
      for (const each of ['steps', 'waits', 'uses', 'calls'] as const) this.#delete[each].run(uids)
      for (const { tenant, id } of used) attachments += Number(this.#delete.attachments.run(tenant, id).changes)
      const { count } = this.#q.next.get() as { count: number }
      const sessions = new Map(
        found.map(({ tenant, session }) => [lengthPrefixed(tenant, session), { tenant, session }]),
      )
      for (const session of sessions.values())
        events += this.#recordErasure(session, this.#events.erase(session, uids), count, restart)
    }
    if (of && restart && next === null) this.#documents.erase(of)
    if (of && of.session === undefined && restart && next === null)
      attachments += Number(this.#delete.leftovers.run(of.tenant).changes)
    return { calls: found.length, events, attachments, next }
  }

  /**
   * Deleting leaves bytes in unused parts of pages, so the file is rewritten (VACUUM) and the WAL truncated. Throws while
   * another connection uses the file, such as the thread's checkpoint; the caller tries again.
   */
  scrub(): boolean {
    if (this.#number('page_count') * this.#number('page_size') > maxScrubBytes) return false
    this.#db.exec('VACUUM')
    const { busy } = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    if (busy !== 0) throw Object.assign(new Error('database is locked'), { errcode: 5 })
    return true
  }

  inspect(now: number): StoreFacts {
    const pages = this.#number('page_count')
    const workers = this.#db.prepare('SELECT id, issued, until FROM workers').all() as {
      id: string
      issued: number
      until: number
    }[]
    const { position } = this.#db
      .prepare(`SELECT coalesce(max(seq), 0) AS position FROM sqlite_sequence WHERE name = 'events'`)
      .get() as {
      position: number
    }
    const problems: string[] = []
    const wal = sizeOf(`${this.#file}-wal`)
    if (wal > 64 * 1024 * 1024) {
      problems.push(
        `The WAL of '${this.#file}' has ${wal} bytes, because a long-running reader blocks its checkpoint. Close that reader.`,
      )
    }
    if (pages <= maxPagesChecked) {
      const found = this.#db.prepare('PRAGMA quick_check(3)').all() as { quick_check: string }[]
      for (const { quick_check: finding } of found)
        if (finding !== 'ok') problems.push(`'${this.#file}' is damaged: ${finding}. Restore it from a backup.`)
    }
    return {
      schema: this.#number('user_version'),
      bytes: pages * this.#number('page_size') + wal,
      position,
      workers: workers.map(({ id, issued, until }) => ({ id, leaseMs: issued <= now ? until - now : 0 })),
      problems,
    }
  }

  #number(pragma: string): number {
    return Object.values(this.#db.prepare(`PRAGMA ${pragma}`).get() as object)[0] as number
  }

  #candidates({ of, after, limit, settledBefore = infinity }: EraseQuery): Candidate[] {
    const from = after === '' ? null : (JSON.parse(after) as (string | number)[])
    const { all, ofTenant, ofSession } = this.#q
    if (!of) return all.all(settledBefore, limit, ...(from ?? [-infinity, ''])) as unknown as Candidate[]
    const start = from ?? (of.session === undefined ? ['', '', '', -1] : ['', '', -1])
    return (of.session === undefined
      ? ofTenant.all(settledBefore, limit, of.tenant, ...start)
      : ofSession.all(settledBefore, limit, of.tenant, of.session, ...start)) as unknown as Candidate[]
  }

  /** Erases events that belong to no recorded call. */
  #eraseOrphans(events: ReturnType<EventEraser['findOrphans']>['events'], restart: boolean): number {
    if (events.length === 0) return 0
    const { count } = this.#q.next.get() as { count: number }
    const sessions = Map.groupBy(events, ({ tenant, session }) => lengthPrefixed(tenant, session))
    let erased = 0
    for (const all of sessions.values()) {
      const { tenant, session } = all[0] as (typeof events)[number]
      erased += this.#recordErasure({ tenant, session }, this.#events.eraseAt({ tenant, session }, all), count, restart)
    }
    return erased
  }

  #recordErasure(of: Scope, erased: ReturnType<EventEraser['erase']>, count: number, restart: boolean): number {
    if (erased.count === 0) return 0
    const scope = scopeOf(of.tenant, of.session)
    this.#q.upsert.run(scope, erased.seq, erased.position, count)
    this.#q.upsert.run('', 0, erased.position, count)
    if (restart && erased.whole) this.#q.resetSeq.run(scope)
    return erased.count
  }
}

/** Cursor for the events without a call; null while there are calls to erase. */
function orphanCursor(after: string): number | null {
  const from = after === '' ? null : (JSON.parse(after) as unknown[] | { loose: number })
  return from === null || Array.isArray(from) ? null : from.loose
}

const cursorOf = ({ session, batch, id, occurrence }: Candidate, of: ScopeFilter): (string | number)[] =>
  of.session === undefined ? [session, batch, id, occurrence] : [batch, id, occurrence]

/** The file is in use (5, 6), or the disk has no room for a copy of it (13). */
export const cannotScrub = (error: unknown): boolean =>
  [5, 6, 13].includes(((error as { errcode?: number }).errcode ?? 0) & 0xff)

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
