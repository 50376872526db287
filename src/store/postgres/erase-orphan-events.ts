// Erases events that belong to no recorded call, one page at a time, after the calls. Holds the commit lock (`log`),
// as the erasure of calls does. Called by retention.ts.

import type pg from 'pg'
import type { EraseQuery } from '../store.ts'
import { digest, escapeName } from './rows.ts'

/** Events scanned per transaction. */
const maxScanned = 1_000
const latest = Number.MAX_SAFE_INTEGER

/**
 * Scans by position, which is time order, so that repeated erasures rescan little. Clock differences between workers
 * are assumed to be smaller than a page. All parts of the statement see the events as they were before it. Costs one
 * index range scan of at most 1000 events.
 */
const erasePage = (by: string): string => `
  WITH page AS MATERIALIZED (SELECT position, scope, tenant, at, call FROM events WHERE ${by} position > $1 ORDER BY position LIMIT ${maxScanned}),
    loose AS (SELECT position FROM page WHERE ($2::text IS NULL OR tenant = $2) AND at < $3
      AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.uid = page.call)),
    gone AS (DELETE FROM events WHERE position IN (SELECT position FROM loose) RETURNING scope, position),
    sums AS (SELECT scope, max(position) AS position, count(*) AS total FROM gone GROUP BY scope),
    noted AS (INSERT INTO erasures AS e
      SELECT scope, (SELECT seq FROM events WHERE events.scope = sums.scope ORDER BY position DESC LIMIT 1), position, number
        FROM sums, (SELECT count + 1 AS number FROM erasures WHERE scope = '') AS this
      UNION ALL SELECT '', 0, max(position), (SELECT count + 1 FROM erasures WHERE scope = '') FROM sums HAVING count(*) > 0
      ON CONFLICT (scope) DO UPDATE SET seq = greatest(e.seq, excluded.seq), position = greatest(e.position, excluded.position),
        count = excluded.count)
  SELECT (SELECT coalesce(sum(total), 0)::bigint FROM sums) AS events,
    (SELECT coalesce(array_agg(encode(scope, 'hex')), '{}') FROM sums) AS scopes, (SELECT max(position) FROM page) AS last,
    (SELECT count(*) FROM page) AS looked, (SELECT count(*) FROM page WHERE at < $3) AS older`

interface Row {
  readonly events: number
  readonly scopes: string[]
  readonly last: number | null
  readonly looked: number
  readonly older: number
}

export async function eraseOrphanEvents(
  pool: pg.Pool,
  { of, settledBefore }: Pick<EraseQuery, 'of' | 'settledBefore'>,
  after: number,
): Promise<{ events: number; next: number | null }> {
  const session = of?.session === undefined ? [] : [digest(of.tenant, of.session)]
  const before = settledBefore === undefined ? latest : Math.ceil(settledBefore)
  const client = await pool.connect()
  let broken: Error | undefined
  const onConnectionError = (error: Error): void => void (broken = error)
  client.on('error', onConnectionError)
  try {
    await client.query('BEGIN')
    await client.query('SELECT 1 FROM log FOR UPDATE')
    const values = [after, of ? escapeName(of.tenant) : null, before, ...session]
    const { rows } = await client.query<Row>(
      erasePage(session.length === 0 ? '' : "scope = decode($4, 'hex') AND"),
      values,
    )
    const { events, scopes, last, looked, older } = rows[0] as Row
    // A session with nothing left restarts at sequence 1.
    if (settledBefore === undefined && events > 0)
      await client.query(
        `UPDATE erasures SET seq = 0 WHERE scope IN (SELECT decode(each, 'hex') FROM unnest($1::text[]) AS each)
           AND NOT EXISTS (SELECT 1 FROM events WHERE events.scope = erasures.scope)`,
        [scopes],
      )
    await client.query('COMMIT')
    return { events, next: looked < maxScanned || older === 0 ? null : last }
  } catch (error) {
    broken ??= error as Error
    throw error
  } finally {
    client.off('error', onConnectionError)
    client.release(broken)
  }
}
