// Lists the sessions that have calls, from the SQLite file. Called by sqlite-store.ts.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Scope } from '../../core/scope.ts'
import type { SessionPage, SessionRecord } from '../store.ts'

/** Steps from session to session through the unique index of calls: one lookup each, however many calls it has. */
export class SessionLister {
  readonly #nextInTenant: StatementSync
  readonly #nextTenant: StatementSync
  readonly #lastCallAt: StatementSync

  constructor(db: DatabaseSync) {
    this.#nextInTenant = db.prepare(
      'SELECT tenant, session FROM calls INDEXED BY calls_place WHERE tenant = ? AND session > ? ORDER BY session LIMIT 1',
    )
    this.#nextTenant = db.prepare(
      'SELECT tenant, session FROM calls INDEXED BY calls_place WHERE tenant > ? ORDER BY tenant, session LIMIT 1',
    )
    // A session row without the time was written by a process that opened the file before its migration.
    this.#lastCallAt = db.prepare(
      `SELECT coalesce((SELECT lastCallAt FROM sessions WHERE tenant = ?1 AND session = ?2),
         (SELECT max(createdAt) FROM calls WHERE tenant = ?1 AND session = ?2)) AS at`,
    )
  }

  /** In the order of the index, by tenant and name. */
  list({ tenant, after, exceptPrefix, limit }: SessionPage): SessionRecord[] {
    const found: SessionRecord[] = []
    let at: Scope | undefined = after ?? { tenant: tenant ?? '', session: '' }
    while (found.length < limit) {
      at = this.#next(at, tenant === undefined)
      if (!at) break
      if (exceptPrefix !== undefined && at.session.startsWith(exceptPrefix)) at = lastOf(at, exceptPrefix)
      else if (at.session !== '') found.push({ ...at, lastCallAt: this.#timeOf(at) })
    }
    return found
  }

  #next({ tenant, session }: Scope, inAllTenants: boolean): Scope | undefined {
    const next = this.#nextInTenant.get(tenant, session) ?? (inAllTenants ? this.#nextTenant.get(tenant) : undefined)
    return next as Scope | undefined
  }

  #timeOf({ tenant, session }: Scope): number {
    return (this.#lastCallAt.get(tenant, session) as { at: number | null }).at ?? 0
  }
}

/** The end of the names with this prefix, so that they are not stepped through; or the session, if it is beyond. */
function lastOf({ tenant, session }: Scope, prefix: string): Scope {
  const last = `${prefix}\u{10ffff}`
  return { tenant, session: session < last ? last : session }
}
