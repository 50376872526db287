// Documents of the SQLite store (table `kept`). Reads by name, session or tenant use an index; the cost of a page
// depends on its rows only.

import type { Scope } from '../../core/scope.ts'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { StoredDocument, DocumentName, DocumentQuery, ScopeFilter, DocumentWrite } from '../store.ts'

export class DocumentWriter {
  readonly #revision: StatementSync
  readonly #put: StatementSync
  readonly #remove: StatementSync

  constructor(db: DatabaseSync) {
    this.#revision = db.prepare('SELECT revision FROM kept WHERE "of" = ? AND tenant = ? AND session = ? AND key = ?')
    this.#put = db.prepare(
      `INSERT INTO kept ("of", tenant, session, key, revision, value) VALUES (?, ?, ?, ?, 1, ?)
       ON CONFLICT ("of", tenant, session, key) DO UPDATE SET revision = revision + 1, value = excluded.value`,
    )
    this.#remove = db.prepare('DELETE FROM kept WHERE "of" = ? AND tenant = ? AND session = ? AND key = ?')
  }

  revision({ of, tenant, session, key }: DocumentName): number {
    return (this.#revision.get(of, tenant, session, key) as { revision: number } | undefined)?.revision ?? 0
  }

  put({ of, tenant, session, key, value }: DocumentWrite): void {
    if (value === null) this.#remove.run(of, tenant, session, key)
    else this.#put.run(of, tenant, session, key, value)
  }
}

export class DocumentReader {
  readonly #get: StatementSync
  readonly #nonEmpty: StatementSync
  readonly #ascending: Pages
  readonly #descending: Pages

  constructor(db: DatabaseSync) {
    this.#get = db.prepare('SELECT * FROM kept WHERE "of" = ? AND tenant = ? AND session = ? AND key = ?')
    this.#nonEmpty = db.prepare(
      'SELECT asked.value AS name FROM json_each(?1) AS asked WHERE EXISTS (SELECT 1 FROM kept WHERE "of" = asked.value AND tenant = ?2 AND session = ?3)',
    )
    this.#ascending = pages(db, 'key > ?2', 'key')
    this.#descending = pages(db, "(?2 = '' OR key < ?2)", 'key DESC')
  }

  get({ of, tenant, session, key }: DocumentName): StoredDocument | undefined {
    return this.#get.get(of, tenant, session, key) as unknown as StoredDocument | undefined
  }

  nonEmpty(of: readonly string[], { tenant, session }: Scope): string[] {
    return (this.#nonEmpty.all(JSON.stringify(of), tenant, session) as { name: string }[]).map(({ name }) => name)
  }

  list({ of, tenant, session, after, limit, newest }: DocumentQuery): StoredDocument[] {
    const pages = newest ? this.#descending : this.#ascending
    const rows =
      tenant === undefined
        ? pages.all.all(of, after, limit)
        : session === undefined
          ? pages.ofTenant.all(of, after, limit, tenant)
          : pages.ofSession.all(of, after, limit, tenant, session)
    return rows as unknown as StoredDocument[]
  }
}

interface Pages {
  readonly all: StatementSync
  readonly ofTenant: StatementSync
  readonly ofSession: StatementSync
}

function pages(db: DatabaseSync, from: string, order: string): Pages {
  const page = (by: string): StatementSync =>
    db.prepare(`SELECT * FROM kept WHERE "of" = ?1 AND ${from} ${by} ORDER BY ${order} LIMIT ?3`)
  return { all: page(''), ofTenant: page('AND tenant = ?4'), ofSession: page('AND tenant = ?4 AND session = ?5') }
}

export class DocumentEraser {
  readonly #ofTenant: StatementSync
  readonly #ofSession: StatementSync

  constructor(db: DatabaseSync) {
    this.#ofTenant = db.prepare('DELETE FROM kept WHERE tenant = ?')
    this.#ofSession = db.prepare('DELETE FROM kept WHERE tenant = ? AND session = ?')
  }

  erase({ tenant, session }: ScopeFilter): void {
    if (session === undefined) this.#ofTenant.run(tenant)
    else this.#ofSession.run(tenant, session)
  }
}
