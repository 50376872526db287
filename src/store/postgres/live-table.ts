// The tables of live events for processes that share a PostgreSQL database. They are unlogged: writing them needs no
// sync, and a server crash empties them. Notifications carry only the kind of the change, because of their size limit.

import type pg from 'pg'
import type { LiveEntry, LiveReader, LiveTable } from '../live-channel.ts'
import { escapeName, unescapeName } from './rows.ts'

const create = `
  CREATE UNLOGGED TABLE IF NOT EXISTS live_entries (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text NOT NULL, session text NOT NULL,
    entry text NOT NULL, until timestamptz NOT NULL);
  CREATE UNLOGGED TABLE IF NOT EXISTS live_readers (
    id text PRIMARY KEY, tenant text NOT NULL, session text NOT NULL, asked bigint NOT NULL,
    until timestamptz NOT NULL);`

/** SQLSTATE of a missing table: no process has subscribed yet. */
const undefinedTable = '42P01'

interface PostgresLiveOptions {
  readonly pool: pg.Pool
  /** The channel that `onNotify` listens to. */
  readonly channel: string
  onNotify(listener: (what: 'entries' | 'readers') => void): void
  /** Id of this process, so that it ignores its own notifications. */
  readonly self: string
}

export function postgresLiveTable({ pool, channel, onNotify, self }: PostgresLiveOptions): LiveTable {
  let created: Promise<unknown> | null = null
  const prepare = (): Promise<unknown> => {
    // Two processes may create the tables at the same time, so one of them waits.
    created ??= pool.query(
      `BEGIN; SELECT pg_advisory_xact_lock(hashtext(current_schema() || ' live')); ${create} COMMIT`,
    )
    created.catch(() => (created = null))
    return created
  }
  const rowsOf = async <Row>(text: string, values: readonly unknown[]): Promise<Row[]> => {
    try {
      return (await pool.query(text, values as unknown[])).rows as Row[]
    } catch (error) {
      if ((error as { code?: string }).code === undefinedTable) return []
      throw error
    }
  }
  return {
    pollMs: 500,
    async append(entries, expiresInMs) {
      await pool.query(
        // The lock makes sequence numbers appear in their order, so that a reader skips none.
        `WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext(current_schema() || ' live'))),
         added AS (
           INSERT INTO live_entries (tenant, session, entry, until)
           SELECT tenant, session, entry, clock_timestamp() + $2 * interval '1 millisecond'
             FROM turn, ROWS FROM (json_to_recordset($1) AS (tenant text, session text, entry text)) WITH ORDINALITY AS e
             ORDER BY ordinality)
         SELECT pg_notify($3, $4)`,
        [
          JSON.stringify(
            entries.map(({ tenant, session, entry }) => ({
              tenant: escapeName(tenant),
              session: escapeName(session),
              entry,
            })),
          ),
          expiresInMs,
          channel,
          `${self} entries`,
        ],
      )
    },
    async entriesAfter(seq) {
      const rows = await rowsOf<LiveEntry & { seq: number }>(
        `SELECT seq, tenant, session, entry FROM live_entries WHERE seq > $1 AND until > clock_timestamp() ORDER BY seq`,
        [seq],
      )
      return rows.map((row) => ({ ...row, tenant: unescapeName(row.tenant), session: unescapeName(row.session) }))
    },
    async lastSeq() {
      const [row] = await rowsOf<{ seq: number | null }>('SELECT max(seq) AS seq FROM live_entries', [])
      return row?.seq ?? 0
    },
    async putReader({ id, tenant, session, asked }, expiresInMs) {
      await prepare()
      await pool.query(
        `WITH put AS (
           INSERT INTO live_readers VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')
           ON CONFLICT (id) DO UPDATE SET asked = excluded.asked, until = excluded.until)
         SELECT pg_notify($6, $7)`,
        [id, escapeName(tenant), escapeName(session), asked, expiresInMs, channel, `${self} readers`],
      )
    },
    async removeReader(id) {
      await rowsOf('DELETE FROM live_readers WHERE id = $1', [id])
    },
    async readers() {
      const rows = await rowsOf<LiveReader>(
        'SELECT id, tenant, session, asked FROM live_readers WHERE until > clock_timestamp()',
        [],
      )
      return rows.map((row) => ({ ...row, tenant: unescapeName(row.tenant), session: unescapeName(row.session) }))
    },
    async purge() {
      await rowsOf('DELETE FROM live_entries WHERE until <= clock_timestamp()', [])
      await rowsOf('DELETE FROM live_readers WHERE until <= clock_timestamp()', [])
    },
    async erase(of) {
      await rowsOf(
        'DELETE FROM live_entries WHERE $1::text IS NULL OR tenant = $1 AND ($2::text IS NULL OR session = $2)',
        [of && escapeName(of.tenant), of?.session === undefined ? null : escapeName(of.session)],
      )
    },
    // A notification can be lost, so the poll always reads.
    changed: () => true,
    onChange: onNotify,
    reportsReaders: true,
    close() {},
  }
}
