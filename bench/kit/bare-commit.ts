// The floor of a durable write: one transaction that inserts rows of a fixed size, and nothing else. Row counts are
// constants of the bench, not counted from Pawl: a change that saves Pawl a row must show in the ratio.

import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

const value = 'x'.repeat(200)

export function bareSqlite(
  file: string,
  synchronous: 'FULL' | 'NORMAL',
): { commit(rows: number): void; close(): void } {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT NOT NULL)`)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const insert = db.prepare('INSERT INTO t (v) VALUES (?)')
  const end = db.prepare('COMMIT')
  const commit = (rows: number): void => {
    begin.run()
    for (let row = 0; row < rows; row++) insert.run(value)
    end.run()
  }
  // A WAL that still grows makes a sync slower, because the file system also writes the new size. Once it has reached
  // its full length (1,000 pages), SQLite overwrites it from its start.
  commit((1_100 * 4_096) / value.length)
  db.exec('PRAGMA wal_checkpoint(RESTART)')
  return { commit, close: () => db.close() }
}

/** A single statement is a transaction: one round trip, one sync. */
export async function barePostgres(url: string): Promise<{ commit(rows: number): Promise<void> }> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('CREATE TABLE bare (k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text NOT NULL)')
  const text = 'INSERT INTO bare (v) SELECT * FROM unnest($1::text[])'
  return {
    async commit(rows) {
      await client.query({ name: 'bare', text, values: [Array.from({ length: rows }, () => value)] })
    },
  }
}
