// Tables of the PostgreSQL store and the function that writes a group. Columns are named like the record fields. Text
// is compared by bytes (COLLATE "C"), independent of the database's locale. An index entry holds at most 2.7 kB and
// names may be longer, so rows are found by digests of their names. SQL comments inside functions are stored in the
// database and pinned by the golden tests.

import type { ClientBase } from 'pg'
import { PawlError } from '../../core/errors.ts'
import { eraseFunction } from './retention.ts'

const tables = `
  CREATE TABLE meta (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL);
  INSERT INTO meta VALUES (true, 0);
  -- One row: the commit lock, the last position assigned, and a version number that every group increments.
  CREATE TABLE log (one boolean PRIMARY KEY DEFAULT true CHECK (one), position bigint NOT NULL, version bigint NOT NULL);
  INSERT INTO log VALUES (true, 0, 0);
  CREATE TABLE settings (key text COLLATE "C" PRIMARY KEY, value text NOT NULL);
  CREATE TABLE workers (id text COLLATE "C" PRIMARY KEY, until timestamptz NOT NULL);
  CREATE TABLE calls (
    uid text COLLATE "C" PRIMARY KEY, place bytea NOT NULL UNIQUE, scope bytea NOT NULL,
    tenant text NOT NULL, session text NOT NULL, batch text NOT NULL, id text NOT NULL, occurrence integer NOT NULL,
    principal text, tool text COLLATE "C" NOT NULL, input text NOT NULL, hash text NOT NULL, options text, "createdAt" bigint NOT NULL,
    state text NOT NULL, args text, terms text, attempt integer NOT NULL, "startedAt" bigint, wait text, outcome text, "settledAt" bigint,
    fence bigint NOT NULL, owner text COLLATE "C"
  );
  -- Contains open calls only, so finding work does not get slower as the history grows.
  CREATE INDEX calls_open ON calls ("createdAt", uid) WHERE state IN ('received', 'queued', 'running');
  CREATE INDEX calls_scope ON calls (scope, uid);
  CREATE TABLE steps (
    call text COLLATE "C" NOT NULL, place bytea NOT NULL, key text NOT NULL, state text NOT NULL, input text, value text,
    round integer NOT NULL, at bigint NOT NULL, PRIMARY KEY (call, place)
  );
  CREATE TABLE waits (
    id text COLLATE "C" PRIMARY KEY, call text COLLATE "C" NOT NULL, name text NOT NULL, salt text NOT NULL,
    "keyHash" text COLLATE "C" NOT NULL UNIQUE, deadline bigint NOT NULL, "createdAt" bigint NOT NULL, resolution text
  );
  CREATE INDEX waits_call ON waits (call);
  CREATE INDEX waits_open ON waits (deadline, id) WHERE resolution IS NULL;
  CREATE TABLE attachments (
    place bytea PRIMARY KEY, tenant text NOT NULL, id text NOT NULL, "mediaType" text NOT NULL, name text, data bytea NOT NULL
  );
  CREATE TABLE events (
    position bigint PRIMARY KEY, scope bytea NOT NULL, seq bigint NOT NULL, tenant text NOT NULL, session text NOT NULL,
    call text NOT NULL, type text NOT NULL, at bigint NOT NULL, body text NOT NULL
  );
  CREATE INDEX events_scope ON events (scope, position);
`

/**
 * Writes a whole group in one round trip. It first takes the commit lock (row of `log`), so the groups of all processes
 * run one after another: positions are assigned in the order they become visible, sequences have no gaps, and groups
 * cannot deadlock. Claims do not take this lock: the rows that guards refer to are locked, so that their fence cannot
 * change before the commit. Every statement in the function sees what was committed before it began (READ COMMITTED),
 * including the group that held the lock until then.
 *
 * `needs` of a row lists guard numbers; the row is written if none of them failed. The failed numbers are returned.
 * plan-group-commit.ts builds the rows and decides how changes of one group affect each other.
 */
const writeGroup = `
  CREATE FUNCTION write_group_3(guards json, newcalls json, moves json, newsteps json, newwaits json, answers json, files json, facts json,
    placings json, newuses json, keeps json, channel text, writer text) RETURNS TABLE (bad integer[], raised bigint, lacking jsonb) LANGUAGE plpgsql
    -- A group is small and the tables are large: rows must be found by key, even if the planner has no statistics yet.
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
  DECLARE last bigint; told_now bigint := 0; op record; lacks text; turn bigint;
  BEGIN
    SELECT position, version + 1 INTO last, raised FROM log FOR UPDATE;
    bad := '{}';
    IF guards IS NOT NULL THEN
      PERFORM 1 FROM calls WHERE uid IN (SELECT k FROM json_to_recordset(guards) AS g(kind text, k text) WHERE kind IN ('holds', 'held', 'unsettled'))
        ORDER BY uid FOR UPDATE;
      SELECT coalesce(array_agg(i), '{}') INTO bad FROM json_to_recordset(guards) AS g(i integer, kind text, k text, f bigint)
        WHERE NOT CASE kind
          -- Scalar, not EXISTS: that would be hashed, which reads the whole table.
          WHEN 'absent' THEN (SELECT uid FROM calls WHERE place = decode(k, 'hex')) IS NULL
          WHEN 'holds' THEN (SELECT fence = f AND state <> 'settled' FROM calls WHERE uid = k) IS TRUE
          WHEN 'unsettled' THEN (SELECT state <> 'settled' FROM calls WHERE uid = k) IS TRUE
          WHEN 'held' THEN (SELECT fence = f FROM calls WHERE uid = k) IS TRUE
          WHEN 'kept' THEN coalesce((SELECT revision FROM kept WHERE place = decode(k, 'hex')), 0) = f
          ELSE (SELECT resolution IS NULL FROM waits WHERE waits.id = k) IS TRUE END;
    END IF;
    lacking := '{}';
    IF placings IS NOT NULL THEN
      -- One after the other: what one gives back the next may take.
      FOR op IN SELECT * FROM json_to_recordset(placings)
        AS p(n integer, i integer, needs integer[], op text, holder text, above text[], worker text, places json) ORDER BY n
      LOOP
        CONTINUE WHEN op.needs && bad;
        IF op.op = 'take' THEN
          SELECT name INTO lacks FROM lacking_places(op.holder, op.above, op.places) LIMIT 1;
          IF FOUND THEN
            bad := bad || op.i;
            lacking := lacking || jsonb_build_object(op.i, lacks);
            CONTINUE;
          END IF;
          DELETE FROM holds WHERE holder = op.holder AND ticket IS NOT NULL;
          INSERT INTO holds SELECT decode(place, 'hex'), coalesce(entry, op.holder), name, op.worker, NULL,
              clock_timestamp() + ms * interval '1 millisecond'
            FROM json_to_recordset(op.places) AS x(place text, name text, entry text, ms double precision)
            ON CONFLICT (place, holder) DO UPDATE SET worker = excluded.worker, ticket = NULL, until = excluded.until;
        ELSIF op.op = 'line' THEN
          CONTINUE WHEN EXISTS (SELECT 1 FROM holds, json_to_recordset(op.places) AS x(place text)
            WHERE holds.place = decode(x.place, 'hex') AND holder = op.holder AND ticket IS NULL);
          SELECT coalesce((SELECT ticket FROM holds WHERE holder = op.holder AND ticket IS NOT NULL LIMIT 1),
            (SELECT coalesce(max(ticket), 0) + 1 FROM holds)) INTO turn;
          DELETE FROM holds WHERE holder = op.holder AND ticket IS NOT NULL;
          INSERT INTO holds SELECT decode(place, 'hex'), op.holder, name, op.worker, turn, NULL
            FROM json_to_recordset(op.places) AS x(place text, name text);
        ELSIF op.places IS NULL THEN
          DELETE FROM holds WHERE holder = op.holder;
        ELSE
          DELETE FROM holds USING json_to_recordset(op.places) AS x(place text)
            WHERE holds.place = decode(x.place, 'hex') AND holder = op.holder;
        END IF;
      END LOOP;
    END IF;
    IF newcalls IS NOT NULL THEN
      INSERT INTO calls SELECT uid, decode(place, 'hex'), decode(scope, 'hex'), tenant, session, batch, id, occurrence, principal, tool,
          input, hash, options, "createdAt", state, args, terms, attempt, "startedAt", wait, outcome, "settledAt", fence, owner, deaths, trouble, line
        FROM json_to_recordset(newcalls) AS c(needs integer[], uid text, place text, scope text, tenant text, session text, batch text,
          id text, occurrence integer, principal text, tool text, input text, hash text, options text, "createdAt" bigint, state text,
          args text, terms text, attempt integer, "startedAt" bigint, wait text, outcome text, "settledAt" bigint, fence bigint, owner text,
          deaths integer, trouble text, line text)
        WHERE NOT needs && bad;
    END IF;
    IF newwaits IS NOT NULL THEN
      INSERT INTO waits SELECT id, call, name, salt, "keyHash", deadline, "createdAt", resolution, terms
        FROM json_to_recordset(newwaits) AS w(needs integer[], id text, call text, name text, salt text, "keyHash" text, deadline bigint,
          "createdAt" bigint, resolution text, terms text) WHERE NOT needs && bad;
    END IF;
    IF moves IS NOT NULL THEN
      -- Of several moves of one call the last that holds is what remains; let go of once is let go of.
      UPDATE calls SET state = m.state, args = m.args, terms = m.terms, attempt = m.attempt, "startedAt" = m."startedAt", wait = m.wait,
          outcome = m.outcome, "settledAt" = m."settledAt", deaths = m.deaths, trouble = m.trouble, owner = CASE WHEN m.released THEN NULL ELSE owner END
        FROM (SELECT DISTINCT ON (uid) *, bool_or(release) OVER (PARTITION BY uid) AS released
          FROM json_to_recordset(moves) AS x(n integer, needs integer[], uid text, state text, args text, terms text, attempt integer,
            "startedAt" bigint, wait text, outcome text, "settledAt" bigint, deaths integer, trouble text, release boolean)
          WHERE NOT needs && bad ORDER BY uid, n DESC) AS m WHERE calls.uid = m.uid;
    END IF;
    IF newsteps IS NOT NULL THEN
      INSERT INTO steps SELECT DISTINCT ON (call, place) call, decode(place, 'hex'), key, state, input, value, round, at
        FROM json_to_recordset(newsteps) AS s(n integer, needs integer[], call text, place text, key text, state text, input text,
          value text, round integer, at bigint) WHERE NOT needs && bad ORDER BY call, place, n DESC
        ON CONFLICT (call, place) DO UPDATE SET state = excluded.state, input = excluded.input, value = excluded.value,
          round = excluded.round, at = excluded.at;
    END IF;
    IF answers IS NOT NULL THEN
      WITH answered AS (UPDATE waits SET resolution = a.resolution FROM json_to_recordset(answers) AS a(needs integer[], id text,
          resolution text) WHERE waits.id = a.id AND NOT needs && bad RETURNING waits.id, waits.call)
        UPDATE calls SET state = 'queued' FROM answered WHERE uid = answered.call AND state = 'parked' AND wait = answered.id;
    END IF;
    IF files IS NOT NULL THEN
      INSERT INTO attachments SELECT decode(place, 'hex'), tenant, id, "mediaType", name, decode(data, 'base64')
        FROM json_to_recordset(files) AS f(needs integer[], place text, tenant text, id text, "mediaType" text, name text, data text)
        WHERE NOT needs && bad ON CONFLICT DO NOTHING;
    END IF;
    IF newuses IS NOT NULL THEN
      INSERT INTO uses SELECT decode(place, 'hex'), call FROM json_to_recordset(newuses) AS u(needs integer[], place text, call text)
        WHERE NOT needs && bad ON CONFLICT DO NOTHING;
    END IF;
    IF keeps IS NOT NULL THEN
      -- One after the other: of several about one name each sees what the one before left.
      FOR op IN SELECT *, decode(name, 'hex') AS at FROM json_to_recordset(keeps) AS k(n integer, needs integer[], name text, whose text, scope text,
        "of" text, tenant text, session text, key text, value text) WHERE NOT needs && bad ORDER BY n
      LOOP
        IF op.value IS NULL THEN
          DELETE FROM kept WHERE place = op.at;
        ELSE
          INSERT INTO kept VALUES (op.at, decode(op.whose, 'hex'), decode(op.scope, 'hex'), op."of", op.tenant, op.session, op.key, 1, op.value)
            ON CONFLICT (place) DO UPDATE SET revision = kept.revision + 1, value = excluded.value;
        END IF;
      END LOOP;
    END IF;
    IF facts IS NOT NULL THEN
      INSERT INTO events SELECT last + row_number() OVER (ORDER BY n), s, max(before) OVER (PARTITION BY s) + nth,
          tenant, session, call, type, at, body
        -- Asked for once per session. Its last events may have been erased.
        FROM (SELECT *, CASE nth WHEN 1 THEN greatest((SELECT seq FROM events WHERE events.scope = s ORDER BY position DESC LIMIT 1),
            (SELECT seq FROM erasures WHERE erasures.scope = s), 0) END AS before
          FROM (SELECT *, row_number() OVER (PARTITION BY s ORDER BY n) AS nth
            FROM (SELECT *, decode(scope, 'hex') AS s FROM json_to_recordset(facts) AS e(n integer, needs integer[], scope text,
              tenant text, session text, call text, type text, at bigint, body text) WHERE NOT needs && bad) AS told) AS counted) AS numbered;
      GET DIAGNOSTICS told_now = ROW_COUNT;
    END IF;
    UPDATE log SET position = last + told_now, version = raised;
    PERFORM pg_notify(channel, writer || ' ' || raised);
    RETURN NEXT;
  END $$;
`

/** Rows of `holds` that count: slots that have not expired, and tickets whose worker is alive. */
export const counts = (holds: string): string => `(${holds}.until IS NULL OR ${holds}.until > clock_timestamp())
        AND (${holds}.ticket IS NULL OR EXISTS (SELECT 1 FROM workers WHERE workers.id = ${holds}.worker AND workers.until > clock_timestamp()))`

const second = `
  ALTER TABLE calls ADD COLUMN deaths integer NOT NULL DEFAULT 0, ADD COLUMN trouble text, ADD COLUMN line text;
  -- A hash index, because the name of a batch order may be longer than a btree entry.
  CREATE INDEX calls_line ON calls USING hash (line) WHERE line IS NOT NULL AND state IN ('received', 'queued', 'running');
  ALTER TABLE waits ADD COLUMN terms text;
  CREATE TABLE holds (
    place bytea NOT NULL, holder text COLLATE "C" NOT NULL, name text NOT NULL, worker text COLLATE "C" NOT NULL,
    -- NULL: it holds a slot. Otherwise its number in the queue.
    ticket bigint,
    -- When a slot with a time limit frees itself.
    until timestamptz,
    PRIMARY KEY (place, holder)
  );
  CREATE INDEX holds_holder ON holds (holder);
  CREATE INDEX holds_until ON holds (until) WHERE until IS NOT NULL;
  CREATE INDEX holds_ticket ON holds (ticket) WHERE ticket IS NOT NULL;
  -- The semaphores without a free slot for a holder. Costs one index range per semaphore.
  CREATE FUNCTION lacking_places(who text, lenders text[], places json) RETURNS TABLE (name text) LANGUAGE sql AS $$
    SELECT x.name FROM ROWS FROM (json_to_recordset(places) AS (place text, name text, capacity integer)) WITH ORDINALITY AS x
      WHERE (SELECT count(*) FROM holds AS c WHERE c.place = decode(x.place, 'hex') AND ${counts('c')}
        AND c.holder <> who AND c.holder <> ALL (lenders)
        AND (c.ticket IS NULL OR c.ticket <
        CASE
          WHEN cardinality(lenders) > 0 OR EXISTS (SELECT 1 FROM holds AS own WHERE own.place = decode(x.place, 'hex') AND own.holder = who
            AND own.ticket IS NULL) THEN 0
          ELSE coalesce((SELECT ticket FROM holds AS own WHERE own.holder = who AND own.ticket IS NOT NULL LIMIT 1), 9007199254740991) END))
        >= x.capacity ORDER BY x.ordinality
  $$;
  -- For erasure: settled calls by age, and parked calls by session, because a session with open calls is skipped.
  CREATE INDEX calls_settled ON calls ("settledAt", uid) WHERE state = 'settled';
  CREATE INDEX calls_parked ON calls (scope, uid) WHERE state = 'parked';
  CREATE TABLE uses (place bytea NOT NULL, call text COLLATE "C" NOT NULL, PRIMARY KEY (place, call));
  CREATE INDEX uses_call ON uses (call);
  -- Attachments written before this table existed: their uses are derived from the recorded texts.
  INSERT INTO uses SELECT a.place, c.uid FROM attachments AS a JOIN calls AS c ON c.tenant = a.tenant
    WHERE strpos(c.input, a.id) > 0 OR strpos(c.args, a.id) > 0 OR strpos(c.outcome, a.id) > 0
      OR EXISTS (SELECT 1 FROM steps AS s WHERE s.call = c.uid AND (strpos(s.value, a.id) > 0 OR strpos(s.input, a.id) > 0))
      OR EXISTS (SELECT 1 FROM waits AS w WHERE w.call = c.uid AND strpos(w.resolution, a.id) > 0);
  -- Erasures: of the whole store under '', of a session under the digest of its name. A session's sequence continues
  -- from here.
  CREATE TABLE erasures (scope bytea PRIMARY KEY, seq bigint NOT NULL, position bigint NOT NULL, count bigint NOT NULL);
  INSERT INTO erasures VALUES ('', 0, 0, 0);
`

const third = `
  -- whose: digest of the tenant. scope: digest of the tenant and session.
  CREATE TABLE kept (
    place bytea PRIMARY KEY, whose bytea NOT NULL, scope bytea NOT NULL, "of" text COLLATE "C" NOT NULL, tenant text NOT NULL,
    session text NOT NULL, key text COLLATE "C" NOT NULL, revision bigint NOT NULL, value text NOT NULL
  );
  CREATE INDEX kept_all ON kept ("of", key);
  CREATE INDEX kept_tenant ON kept ("of", whose, key);
  CREATE INDEX kept_session ON kept ("of", scope, key);
`

const fourth = `
  -- By owner, so that a claim finds calls without a living owner and does not scan the others.
  DROP INDEX calls_open;
  CREATE INDEX calls_open ON calls (owner, "createdAt", uid) WHERE state IN ('received', 'queued', 'running');
`

/**
 * One entry per schema version; a database at version n runs the entries from n on. Columns are only added, at the
 * end and with defaults, and the function of each version has its own name, so that processes of the previous version
 * keep working during a rolling update. The function of the first version is no longer created.
 */
const migrations: readonly string[] = ['', second, third + writeGroup + eraseFunction, fourth]

/**
 * Creates or upgrades the schema in one transaction. If two processes try at once, the second waits and finds it
 * done.
 */
export async function migrate(client: ClientBase, schema: string): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('pawl schema'))`)
    const found = await client.query('SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2', [
      schema,
      'meta',
    ])
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}; SET LOCAL search_path TO ${schema}`)
    if (found.rowCount === 0) await client.query(tables)
    const { version } = (await client.query('SELECT version FROM meta')).rows[0] as { version: number }
    if (version > migrations.length) {
      throw new PawlError(
        'store_newer',
        `Schema '${schema}' is at version ${version}; this version of Pawl supports up to ${migrations.length}.`,
      )
    }
    for (const sql of migrations.slice(version)) await client.query(sql)
    await client.query('UPDATE meta SET version = $1', [migrations.length])
    // Dead workers leave a row behind; after a day no lease check needs it.
    await client.query(`DELETE FROM workers WHERE until < clock_timestamp() - interval '1 day'`)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Reads the version of the tables, and changes nothing. */
export async function readPostgresVersion(
  client: ClientBase,
  schema: string,
): Promise<{ found: number | null; supported: number }> {
  const { rows } = await client.query('SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2', [
    schema,
    'meta',
  ])
  if (rows.length === 0) return { found: null, supported: migrations.length }
  const { version } = (await client.query(`SELECT version FROM ${schema}.meta`)).rows[0] as { version: number }
  return { found: version, supported: migrations.length }
}
