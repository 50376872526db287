// Lists open calls, erases settled ones, and inspects the PostgreSQL store. Called by postgres-store.ts. The space of
// erased rows is reclaimed by the server's autovacuum.

import type pg from 'pg'
import type { Clock } from '../../core/clock.ts'
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
import { eraseOrphanEvents } from './erase-orphan-events.ts'
import { callOf, digest, escapeName, unescapeName } from './rows.ts'

/**
 * Selects a page of settled calls. Sessions with open work are skipped; the cost of that depends on open calls only
 * (partial indexes).
 */
const selectPage = (by: string, order: string): string => `
  SELECT coalesce(array_agg(uid ORDER BY ${order}), '{}'), coalesce(array_agg(DISTINCT scope), '{}'), max("settledAt")
    INTO uids, scopes, "lastAt" FROM (SELECT uid, scope, "settledAt" FROM calls AS c WHERE ${by} AND state = 'settled' AND "settledAt" < before
      AND scope NOT IN (SELECT scope FROM calls WHERE state IN ('received', 'queued', 'running'))
      AND NOT EXISTS (SELECT 1 FROM calls AS p WHERE p.state = 'parked' AND p.scope = c.scope) ORDER BY ${order} LIMIT most) AS page;`

/**
 * Erases a page of settled calls while holding the commit lock, so that no call starts to use an attachment while it
 * is found unused.
 */
export const eraseFunction = `
  CREATE FUNCTION erase_page_3(of_tenant text, of_scope text, before bigint, after_at bigint, after_uid text, most integer, anew boolean)
    RETURNS TABLE (calls integer, events integer, attachments integer, "lastAt" bigint, "lastUid" text) LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
  #variable_conflict use_column
  DECLARE uids text[]; scopes bytea[]; files bytea[]; number bigint; furthest bigint;
  BEGIN
    PERFORM 1 FROM log FOR UPDATE;
    IF of_scope IS NOT NULL THEN ${selectPage(`scope = decode(of_scope, 'hex') AND uid > after_uid`, 'uid')}
    ELSIF of_tenant IS NOT NULL THEN ${selectPage('tenant = of_tenant AND uid > after_uid', 'uid')}
    ELSE ${selectPage(`("settledAt", uid) > (after_at, after_uid)`, '"settledAt", uid')}
    END IF;
    calls := cardinality(uids); events := 0; attachments := 0;
    "lastUid" := uids[calls];
    IF calls > 0 THEN
      SELECT coalesce(array_agg(DISTINCT place), '{}') INTO files FROM uses WHERE call = ANY(uids);
      DELETE FROM steps WHERE call = ANY(uids);
      DELETE FROM waits WHERE call = ANY(uids);
      DELETE FROM uses WHERE call = ANY(uids);
      DELETE FROM calls WHERE uid = ANY(uids);
      DELETE FROM attachments WHERE place = ANY(files) AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.place = attachments.place);
      GET DIAGNOSTICS attachments = ROW_COUNT;
      SELECT count + 1 INTO number FROM erasures WHERE scope = '';
      -- All parts of a statement see the events as they were before it.
      WITH gone AS (DELETE FROM events WHERE scope = ANY(scopes) AND call = ANY(uids) RETURNING scope, position),
        sums AS (SELECT scope, max(position) AS position, count(*) AS total FROM gone GROUP BY scope),
        noted AS (INSERT INTO erasures AS e
          SELECT scope, (SELECT seq FROM events WHERE events.scope = sums.scope ORDER BY position DESC LIMIT 1), position, number FROM sums
          ON CONFLICT (scope) DO UPDATE SET seq = greatest(e.seq, excluded.seq), position = greatest(e.position, excluded.position),
            count = excluded.count)
        SELECT coalesce(sum(total), 0), max(position) INTO events, furthest FROM sums;
      IF events > 0 THEN UPDATE erasures SET count = number, position = greatest(position, furthest) WHERE scope = ''; END IF;
      IF anew THEN
        UPDATE erasures SET seq = 0 WHERE scope = ANY(scopes) AND NOT EXISTS (SELECT 1 FROM events WHERE events.scope = erasures.scope);
      END IF;
    END IF;
    IF anew AND of_scope IS NOT NULL AND calls < most THEN DELETE FROM kept WHERE scope = decode(of_scope, 'hex'); END IF;
    IF anew AND of_tenant IS NOT NULL AND of_scope IS NULL AND calls < most THEN
      DELETE FROM kept WHERE tenant = of_tenant;
      WITH gone AS (DELETE FROM attachments WHERE tenant = of_tenant
          AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.place = attachments.place) RETURNING 1)
        SELECT attachments + count(*) INTO attachments FROM gone;
    END IF;
    RETURN NEXT;
  END $$;
`

interface ErasedRow {
  readonly calls: number
  readonly events: number
  readonly attachments: number
  readonly lastAt: number | null
  readonly lastUid: string | null
}

/** Clock difference that is reported, in seconds. */
const maxClockSkewSeconds = 5
const latest = Number.MAX_SAFE_INTEGER

export class Retention {
  readonly #pool: pg.Pool
  readonly #listening: () => boolean
  readonly #clock: Clock

  constructor(pool: pg.Pool, { listening, clock }: { listening: () => boolean; clock: Clock }) {
    this.#pool = pool
    this.#listening = listening
    this.#clock = clock
  }

  /** Erases calls first, then events that belong to no call. */
  async erase(query: EraseQuery): Promise<ErasedPage> {
    const from = query.after === '' ? null : (JSON.parse(query.after) as [number, string] | { loose: number })
    const isOrphanPage = from !== null && !Array.isArray(from)
    const page = isOrphanPage ? { calls: 0, events: 0, attachments: 0, next: null } : await this.#eraseCalls(query)
    if (page.next !== null) return page
    const { events, next } = await eraseOrphanEvents(this.#pool, query, isOrphanPage ? from.loose : 0)
    return { ...page, events: page.events + events, next: next === null ? null : JSON.stringify({ loose: next }) }
  }

  async #eraseCalls({ of, settledBefore, after, limit }: EraseQuery): Promise<ErasedPage> {
    const [at, uid] = after === '' ? [-latest, ''] : (JSON.parse(after) as [number, string])
    const scope = of?.session === undefined ? null : digest(of.tenant, of.session)
    const { rows } = await this.#pool.query<ErasedRow>('SELECT * FROM erase_page_3($1, $2, $3, $4, $5, $6, $7)', [
      of ? escapeName(of.tenant) : null,
      scope,
      settledBefore === undefined ? latest : Math.ceil(settledBefore),
      at,
      uid,
      limit,
      settledBefore === undefined,
    ])
    const { calls, events, attachments, lastAt, lastUid } = rows[0] as ErasedRow
    return { calls, events, attachments, next: calls < limit ? null : JSON.stringify([lastAt, lastUid]) }
  }

  async erased(of: EventQuery['of']): Promise<Erasure> {
    const { rows } = await this.#pool.query<Erasure>({
      name: 'pawl_erased',
      text: `SELECT count, position FROM erasures WHERE scope = decode($1, 'hex')`,
      values: [of ? digest(of.tenant, of.session) : ''],
    })
    return rows[0] ?? { count: 0, position: 0 }
  }

  async unsettled({ of, after, limit }: CallPage & { of?: ScopeFilter }): Promise<Unsettled[]> {
    const columns = `uid, place, scope, tenant, session, batch, id, occurrence, tool, terms, state, "createdAt", "startedAt", wait, deaths, owner`
    const inScope = `uid > $1 AND ($3::text IS NULL OR tenant = $3) AND ($4::text IS NULL OR session = $4)`
    const { rows } = await this.#pool.query(
      `SELECT *, EXISTS (SELECT 1 FROM workers WHERE workers.id = open.owner AND until > clock_timestamp()) AS alive FROM (
         SELECT ${columns} FROM calls WHERE state IN ('received', 'queued', 'running') AND ${inScope}
         UNION ALL SELECT ${columns} FROM calls WHERE state = 'parked' AND ${inScope} ORDER BY uid LIMIT $2) AS open ORDER BY uid`,
      [
        escapeName(after),
        limit,
        of ? escapeName(of.tenant) : null,
        of?.session === undefined ? null : escapeName(of.session),
      ],
    )
    return rows.map((row) => {
      const blank = { principal: null, hash: '', line: null }
      const {
        principal: _,
        hash: __,
        line: ___,
        ...call
      } = callOf({ ...blank, ...(row as object) } as Parameters<typeof callOf>[0])
      return call as unknown as Unsettled
    })
  }

  async inspect(): Promise<StoreFacts> {
    const { rows } = await this.#pool.query<{ version: number; position: number; bytes: number; now: number }>(
      `SELECT (SELECT version FROM meta) AS version, (SELECT position FROM log) AS position,
         (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c WHERE relnamespace = current_schema()::regnamespace
           AND relkind = 'r') AS bytes, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`,
    )
    const {
      version: schema,
      position,
      bytes,
      now,
    } = rows[0] as { version: number; position: number; bytes: number; now: number }
    const { rows: workers } = await this.#pool.query<{ id: string; leaseMs: number }>(
      `SELECT id, (extract(epoch FROM until - clock_timestamp()) * 1000)::bigint AS "leaseMs" FROM workers ORDER BY until DESC LIMIT 1000`,
    )
    const problems: string[] = []
    if (!this.#listening())
      problems.push(
        'The connection that listens for changes is down, so changes of other workers are found by polling. It reconnects by itself.',
      )
    const skewSeconds = Math.round((this.#clock.now() - now) / 1000)
    if (Math.abs(skewSeconds) >= maxClockSkewSeconds) {
      problems.push(
        `The clock of this machine is ${Math.abs(skewSeconds)} s ${skewSeconds > 0 ? 'ahead of' : 'behind'} PostgreSQL's. Deadlines and sleeps follow this clock: synchronize it.`,
      )
    }
    return {
      schema,
      bytes,
      position,
      workers: workers.map(({ id, leaseMs }) => ({ id: unescapeName(id), leaseMs })),
      problems,
    }
  }
}
