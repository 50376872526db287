// Claims: a worker takes calls that want one and whose owner is nobody, or dead.

import type pg from 'pg'
import type { CallRecord } from '../records/call-record.ts'
import { callOf, nameIn } from './rows.ts'

const open = `state IN ('received', 'queued', 'running')`

/** What a claim may take: calls that want a worker and whose owner is neither the claimer ($1) nor alive. */
const claimable = `${open} AND (owner IS NULL OR owner <> $1
  AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = calls.owner AND until > clock_timestamp()))`

/** And no living worker but the claimer has a part of its line. */
const lineIsFree = `(line IS NULL OR wait IS NOT NULL OR NOT EXISTS (SELECT 1 FROM calls AS o JOIN workers AS w ON w.id = o.owner
  WHERE o.line = calls.line AND o.state IN ('received', 'queued', 'running') AND o.wait IS NULL AND o.owner <> $1 AND w.until > clock_timestamp()))`

/** Owners of what is open, one step through the index for each, whatever they have: those that are neither the claimer nor alive. */
const lost = `ARRAY(WITH RECURSIVE owners AS (SELECT min(owner) AS owner FROM calls WHERE ${open}
    UNION ALL SELECT (SELECT min(c.owner) FROM calls AS c WHERE ${open} AND c.owner > owners.owner) FROM owners WHERE owner IS NOT NULL)
  SELECT owner FROM owners WHERE owner IS NOT NULL AND owner <> $1
    AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = owners.owner AND until > clock_timestamp()))`

/** The oldest that nobody has, and the oldest of those who are lost, of the tools $2: each in a query of its own, in the order of the index. */
const oldest: readonly string[] = ['IS NULL', `= ANY (${lost})`].map(
  (whose) =>
    `SELECT uid, "createdAt" FROM calls WHERE ${open} AND owner ${whose} AND tool = ANY($2) AND ${lineIsFree} ORDER BY "createdAt", uid LIMIT $3`,
)
const any = oldest.map((each) => `(${each})`).join(' UNION ALL ')

type Aged = Pick<CallRecord, 'uid' | 'createdAt'>
const byAge = (a: Aged, b: Aged): number => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1)

/**
 * Looked for and written in two statements, because the second must look again: while the first waited its turn, another may have claimed the row for a
 * worker whose lease is too young for the first one's snapshot, and which therefore looks dead to it. Where there is something to claim, claims
 * follow one another: two of them must not share a line.
 */
export async function claim(
  pool: pg.Pool,
  schema: string,
  { worker, tools, limit }: { worker: string; tools: readonly string[]; limit: number },
): Promise<CallRecord[]> {
  const self = nameIn(worker)
  const known = tools.map(nameIn)
  if ((await pool.query({ name: 'claimable', text: any, values: [self, known, 1] })).rowCount === 0) return []
  const client = await pool.connect()
  let broken: Error | undefined
  const breaks = (error: Error): void => void (broken = error)
  client.on('error', breaks)
  try {
    await client.query('BEGIN')
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('pawl claim'), hashtext($1))`, [schema])
    const found: Aged[] = []
    for (const each of oldest)
      found.push(...(await client.query<Aged>(`${each} FOR UPDATE SKIP LOCKED`, [self, known, limit])).rows)
    const first = found.toSorted(byAge).slice(0, limit).map(({ uid }) => uid) // prettier-ignore
    // The rest of their lines. What somebody writes at this moment is not waited for: it is this worker's with the next look.
    const rest = await client.query<Aged>(
      `SELECT uid FROM calls WHERE ${claimable} AND tool = ANY($2) AND wait IS NULL AND line IN (
         SELECT line FROM calls WHERE uid = ANY($3) AND line IS NOT NULL AND wait IS NULL) FOR UPDATE SKIP LOCKED`,
      [self, known, first],
    )
    const locked = [...first, ...rest.rows.map(({ uid }) => uid)]
    // A line of which somebody writes about a call is left alone for now: those behind it must not go first.
    const apart = await client.query<{ line: string }>(
      `SELECT DISTINCT line FROM calls WHERE ${claimable} AND tool = ANY($2) AND wait IS NULL AND line IN (
         SELECT line FROM calls WHERE uid = ANY($3) AND line IS NOT NULL AND wait IS NULL) AND uid <> ALL ($3)`,
      [self, known, locked],
    )
    const lines = apart.rows.map(({ line }) => line)
    const claimed = await client.query<Parameters<typeof callOf>[0]>(
      `UPDATE calls SET owner = $1, fence = fence + 1, deaths = deaths
         + (owner IS NOT NULL AND (state = 'running' OR state = 'queued' AND wait IS NOT NULL))::integer
         WHERE uid = ANY($2) AND ${claimable} AND (line IS NULL OR wait IS NOT NULL OR line <> ALL ($3)) RETURNING *`,
      [self, locked, lines],
    )
    await client.query('COMMIT')
    return claimed.rows.map((each) => callOf(each)).toSorted(byAge)
  } catch (error) {
    await client.query('ROLLBACK').catch(breaks)
    throw error
  } finally {
    client.off('error', breaks)
    client.release(broken)
  }
}
