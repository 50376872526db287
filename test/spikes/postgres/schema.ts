// The tables, named like the records' fields. Text is compared by its bytes (COLLATE "C"), whatever the database's locale.
//
// An index entry holds 2.7 kB at most and a session id may be longer, so what is found by a name is found by the name's digest.

import type { ClientBase } from 'pg'

const tables = `
  -- One row: the committers' lock, the last position given out, and a number that every group raises.
  CREATE TABLE log (one boolean PRIMARY KEY DEFAULT true CHECK (one), position bigint NOT NULL, version bigint NOT NULL);
  INSERT INTO log VALUES (true, 0, 0);
  CREATE TABLE settings (key text COLLATE "C" PRIMARY KEY, value text NOT NULL);
  CREATE TABLE workers (id text COLLATE "C" PRIMARY KEY, until timestamptz NOT NULL);
  CREATE TABLE calls (
    uid text COLLATE "C" PRIMARY KEY, place bytea NOT NULL UNIQUE,
    tenant text NOT NULL, session text NOT NULL, batch text NOT NULL, id text NOT NULL, occurrence integer NOT NULL,
    principal text, tool text COLLATE "C" NOT NULL, input text NOT NULL, hash text NOT NULL, options text, "createdAt" bigint NOT NULL,
    state text NOT NULL, args text, terms text, attempt integer NOT NULL, "startedAt" bigint, wait text, outcome text, "settledAt" bigint,
    fence bigint NOT NULL, owner text COLLATE "C"
  );
  CREATE INDEX calls_open ON calls ("createdAt", uid) WHERE state IN ('received', 'queued', 'running');
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

/** Makes the schema if it is not there. Two processes may try at once: the second waits, and finds the work done. */
export async function migrate(client: ClientBase, schema: string): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('pawl schema'))`)
    const found = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
    if (found.rowCount === 0) await client.query(`CREATE SCHEMA ${schema}; SET LOCAL search_path TO ${schema}; ${tables}`)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}
