// Lists the sessions that have calls, from PostgreSQL. Called by postgres-store.ts.

import type { Scope } from '../../core/scope.ts'
import type { SessionPage, SessionRecord } from '../store.ts'
import { digest, escapeName, unescapeName } from './rows.ts'

/** Sessions that one statement steps through at most, so that no statement takes long or returns much. */
const stepsPerStatement = 1_000
/** Greater than every digest, because it is longer. */
const start = 'ff'.repeat(33)

/**
 * Steps from session to session backwards through the index calls_scope (scope, uid): the entry before a session is the
 * newest call of the next one, so a step is one descent of the index and one row. The order is that of the digests,
 * which do not begin with the tenant: sessions that are not wanted are stepped over. The last row of a full statement
 * is returned even if it is not wanted, because the next statement continues there.
 */
const steps = `
  WITH RECURSIVE step (scope, tenant, session, "lastCallAt", wanted, found, n) AS (
    SELECT decode($1, 'hex'), NULL::text, NULL::text, NULL::bigint, false, 0, 0
    UNION ALL
    SELECT next.scope, next.tenant, next.session, next."createdAt", is_wanted, step.found + is_wanted::int, step.n + 1
    FROM step
    CROSS JOIN LATERAL (
      SELECT * FROM calls WHERE calls.scope < step.scope ORDER BY calls.scope DESC, calls.uid DESC LIMIT 1
    ) AS next
    CROSS JOIN LATERAL (
      SELECT next.session <> '' AND ($2::text IS NULL OR next.tenant = $2)
        AND ($3::text IS NULL OR NOT starts_with(next.session, $3)) AS is_wanted
    ) AS filter
    WHERE step.found < $4 AND step.n < ${stepsPerStatement})
  SELECT encode(scope, 'hex') AS scope, tenant, session, "lastCallAt", wanted, n FROM step
  WHERE wanted OR n = ${stepsPerStatement} ORDER BY n`

export interface StepRow extends SessionRecord {
  readonly scope: string
  readonly wanted: boolean
  readonly n: number
}

type Query = (text: string, values: readonly unknown[]) => Promise<StepRow[]>

export async function listSessions(
  query: Query,
  { tenant, after, exceptPrefix, limit }: SessionPage,
): Promise<SessionRecord[]> {
  const found: SessionRecord[] = []
  const filter = [tenant, exceptPrefix].map((name) => (name === undefined ? null : escapeName(name)))
  for (let from = after ? scopeDigest(after) : start; ;) {
    const rows = await query(steps, [from, ...filter, limit - found.length])
    found.push(...rows.filter(({ wanted }) => wanted).map(sessionOf))
    const last = rows.at(-1)
    if (found.length >= limit || last?.n !== stepsPerStatement) return found
    from = last.scope
  }
}

const scopeDigest = ({ tenant, session }: Scope): string => digest(tenant, session)

const sessionOf = ({ tenant, session, lastCallAt }: StepRow): SessionRecord => ({
  tenant: unescapeName(tenant),
  session: unescapeName(session),
  lastCallAt,
})
