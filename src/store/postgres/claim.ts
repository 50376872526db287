// Claims calls that need a worker and have no living owner. Called by postgres-store.ts.

import type pg from 'pg'
import type { CallRecord } from '../records/call-record.ts'
import { callOf, escapeName } from './rows.ts'

const open = `state IN ('received', 'queued', 'running')`

/** Calls a claim may take: they need a worker, and their owner is neither the claimer ($1) nor alive. */
const claimable = `${open} AND (owner IS NULL OR owner <> $1
  AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = calls.owner AND until > clock_timestamp()))`

/** No other living worker owns an open call of the same batch order. */
const lineIsFree = `(line IS NULL OR wait IS NOT NULL OR NOT EXISTS (SELECT 1 FROM calls AS o JOIN workers AS w ON w.id = o.owner
  WHERE o.line = calls.line AND o.state IN ('received', 'queued', 'running') AND o.wait IS NULL AND o.owner <> $1 AND w.until > clock_timestamp()))`

/**
 * Owners of open calls that are neither the claimer nor alive. Costs one index step per owner, however many calls
 * each has.
 */
const deadOwners = `ARRAY(WITH RECURSIVE owners AS (SELECT min(owner) AS owner FROM calls WHERE ${open}
    UNION ALL SELECT (SELECT min(c.owner) FROM calls AS c WHERE ${open} AND c.owner > owners.owner) FROM owners WHERE owner IS NOT NULL)
  SELECT owner FROM owners WHERE owner IS NOT NULL AND owner <> $1
    AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = owners.owner AND until > clock_timestamp()))`

/**
 * The oldest claimable calls of the tools $2: without an owner, and of dead owners. Two queries, so that each reads
 * calls_open in index order.
 */
const oldestClaimable: readonly string[] = ['IS NULL', `= ANY (${deadOwners})`].map(
  (whose) =>
    `SELECT uid, "createdAt" FROM calls WHERE ${open} AND owner ${whose} AND tool = ANY($2) AND ${lineIsFree} ORDER BY "createdAt", uid LIMIT $3`,
)
const anyClaimable = oldestClaimable.map((each) => `(${each})`).join(' UNION ALL ')

type Aged = Pick<CallRecord, 'uid' | 'createdAt'>
const byAge = (a: Aged, b: Aged): number => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1)

/**
 * Selecting and updating are two statements because the update must check again: while the select waited for a lock,
 * another process may have claimed the row for a worker whose lease is newer than this snapshot and therefore looks
 * dead in it. If there is something to claim, claims are serialized by an advisory lock, because two claims must not
 * share a batch order. An idle claim costs one indexed query.
 */
export async function claim(
  pool: pg.Pool,
  schema: string,
  { worker, tools, limit }: { worker: string; tools: readonly string[]; limit: number },
): Promise<CallRecord[]> {
  const self = escapeName(worker)
  const known = tools.map(escapeName)
  if ((await pool.query({ name: 'claimable', text: anyClaimable, values: [self, known, 1] })).rowCount === 0) return []
  const client = await pool.connect()
  let broken: Error | undefined
  const onConnectionError = (error: Error): void => void (broken = error)
  client.on('error', onConnectionError)
  try {
    await client.query('BEGIN')
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('pawl claim'), hashtext($1))`, [schema])
    const found: Aged[] = []
    for (const each of oldestClaimable)
      found.push(...(await client.query<Aged>(`${each} FOR UPDATE SKIP LOCKED`, [self, known, limit])).rows)
    const first = found.toSorted(byAge).slice(0, limit).map(({ uid }) => uid) // prettier-ignore
    // The rest of their batch orders. Rows locked by a writer are skipped; this worker gets them at its next claim.
    const rest = await client.query<Aged>(
      `SELECT uid FROM calls WHERE ${claimable} AND tool = ANY($2) AND wait IS NULL AND line IN (
         SELECT line FROM calls WHERE uid = ANY($3) AND line IS NOT NULL AND wait IS NULL) FOR UPDATE SKIP LOCKED`,
      [self, known, first],
    )
    const locked = [...first, ...rest.rows.map(({ uid }) => uid)]
    // A batch order with a skipped call is left out for now: later calls must not start before it.
    const partlyLocked = await client.query<{ line: string }>(
      `SELECT DISTINCT line FROM calls WHERE ${claimable} AND tool = ANY($2) AND wait IS NULL AND line IN (
         SELECT line FROM calls WHERE uid = ANY($3) AND line IS NOT NULL AND wait IS NULL) AND uid <> ALL ($3)`,
      [self, known, locked],
    )
    const lines = partlyLocked.rows.map(({ line }) => line)
    const claimed = await client.query<Parameters<typeof callOf>[0]>(
      `UPDATE calls SET owner = $1, fence = fence + 1, deaths = deaths
         + (owner IS NOT NULL AND (state = 'running' OR state = 'queued' AND wait IS NOT NULL))::integer
         WHERE uid = ANY($2) AND ${claimable} AND (line IS NULL OR wait IS NOT NULL OR line <> ALL ($3)) RETURNING *`,
      [self, locked, lines],
    )
    await client.query('COMMIT')
    return claimed.rows.map((each) => callOf(each)).toSorted(byAge)
  } catch (error) {
    await client.query('ROLLBACK').catch(onConnectionError)
    throw error
  } finally {
    client.off('error', onConnectionError)
    client.release(broken)
  }
}
