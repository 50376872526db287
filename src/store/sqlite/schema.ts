// Tables and migrations of the SQLite store. Plain SQL, forward only, each upgrade atomic. Columns are named like the
// record fields, so a row is a record. SQL comments inside CREATE TABLE are stored in the file and pinned by the
// golden tests.

import type { DatabaseSync } from 'node:sqlite'
import { PawlError } from '../../core/errors.ts'

/** 'Pawl' as a number in the file header: distinguishes our file from other SQLite files. */
const applicationId = 0x5061776c

/** One entry per schema version; a file at version n runs the entries from n on. Never edited once released. */
const migrations: readonly string[] = [
  `
  CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE workers (
    id     TEXT PRIMARY KEY,
    -- Monotonic milliseconds of this machine. A boot starts them anew, so a lease from before it lies in the future: not valid.
    issued INTEGER NOT NULL,
    until  INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE calls (
    uid        TEXT PRIMARY KEY,
    tenant     TEXT NOT NULL,
    session    TEXT NOT NULL,
    batch      TEXT NOT NULL,
    id         TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    principal  TEXT,
    tool       TEXT NOT NULL,
    input      TEXT NOT NULL,
    hash       TEXT NOT NULL,
    options    TEXT,
    createdAt INTEGER NOT NULL,
    state      TEXT NOT NULL,
    args       TEXT,
    terms      TEXT,
    attempt    INTEGER NOT NULL,
    startedAt INTEGER,
    wait       TEXT,
    outcome    TEXT,
    settledAt INTEGER,
    fence      INTEGER NOT NULL,
    owner      TEXT
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX calls_place ON calls (tenant, session, batch, id, occurrence);
  -- Contains open calls only, so finding work does not get slower as the history grows.
  CREATE INDEX calls_open ON calls (createdAt, uid) WHERE state IN ('received', 'queued', 'running');
  CREATE TABLE steps (
    call  TEXT NOT NULL,
    key   TEXT NOT NULL,
    state TEXT NOT NULL,
    input TEXT,
    value TEXT,
    round INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (call, key)
  ) WITHOUT ROWID;
  CREATE TABLE waits (
    id         TEXT PRIMARY KEY,
    call       TEXT NOT NULL,
    name       TEXT NOT NULL,
    salt       TEXT NOT NULL,
    keyHash    TEXT NOT NULL UNIQUE,
    deadline   INTEGER NOT NULL,
    createdAt INTEGER NOT NULL,
    resolution TEXT
  ) WITHOUT ROWID;
  CREATE INDEX waits_call ON waits (call);
  CREATE INDEX waits_open ON waits (deadline, id) WHERE resolution IS NULL;
  CREATE TABLE attachments (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    mediaType TEXT NOT NULL,
    name       TEXT,
    data       BLOB NOT NULL,
    PRIMARY KEY (tenant, id)
  ) WITHOUT ROWID;
  -- AUTOINCREMENT: a position is never assigned twice, even after events were erased.
  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant   TEXT NOT NULL,
    session  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    call     TEXT NOT NULL,
    type     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    body     TEXT NOT NULL
  );
  CREATE UNIQUE INDEX events_session ON events (tenant, session, seq);
  `,
  `
  ALTER TABLE calls ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE calls ADD COLUMN trouble TEXT;
  ALTER TABLE calls ADD COLUMN line TEXT;
  CREATE INDEX calls_line ON calls (line) WHERE line IS NOT NULL AND state IN ('received', 'queued', 'running');
  ALTER TABLE waits ADD COLUMN terms TEXT;
  CREATE TABLE holds (
    name   TEXT NOT NULL,
    holder TEXT NOT NULL,
    worker TEXT NOT NULL,
    -- NULL: it has a place. Else its number in line.
    ticket INTEGER,
    -- Of places that are free by themselves: from when to when, in monotonic milliseconds like leases.
    issued INTEGER,
    until  INTEGER,
    PRIMARY KEY (name, holder)
  ) WITHOUT ROWID;
  CREATE INDEX holds_holder ON holds (holder);
  CREATE INDEX holds_until ON holds (until) WHERE until IS NOT NULL;
  CREATE INDEX holds_ticket ON holds (ticket) WHERE ticket IS NOT NULL;
  -- Every index entry ends with the position (rowid), so a reader continues at its cursor, however long the session is.
  -- The index has the events up to a position. Newer ones are added in bulk (events.ts).
  DROP INDEX events_session;
  ALTER TABLE events ADD COLUMN filed INTEGER;
  UPDATE events SET filed = 1;
  CREATE INDEX events_session ON events (tenant, session) WHERE filed = 1;
  CREATE TABLE filed (position INTEGER NOT NULL);
  INSERT INTO filed SELECT coalesce(max(position), 0) FROM events;
  -- Numbered in order of creation, so that the rows of active sessions share pages.
  CREATE TABLE sessions (
    number  INTEGER PRIMARY KEY,
    tenant  TEXT NOT NULL,
    session TEXT NOT NULL,
    -- Of its last event.
    seq     INTEGER NOT NULL
  );
  INSERT INTO sessions (tenant, session, seq) SELECT tenant, session, max(seq) FROM events GROUP BY tenant, session ORDER BY max(position);
  CREATE UNIQUE INDEX sessions_name ON sessions (tenant, session);
  -- For erasure: settled calls by age, and parked calls by session, because a session with open calls is skipped.
  CREATE INDEX calls_settled ON calls (settledAt, uid) WHERE state = 'settled';
  CREATE INDEX calls_parked ON calls (tenant, session, uid) WHERE state = 'parked';
  CREATE TABLE uses (
    tenant TEXT NOT NULL,
    id     TEXT NOT NULL,
    call   TEXT NOT NULL,
    PRIMARY KEY (tenant, id, call)
  ) WITHOUT ROWID;
  CREATE INDEX uses_call ON uses (call);
  -- Attachments written before this table existed: their uses are derived from the recorded texts.
  INSERT INTO uses SELECT a.tenant, a.id, c.uid FROM attachments AS a JOIN calls AS c ON c.tenant = a.tenant
    WHERE instr(c.input, a.id) OR instr(c.args, a.id) OR instr(c.outcome, a.id)
      OR EXISTS (SELECT 1 FROM steps AS s WHERE s.call = c.uid AND (instr(s.value, a.id) OR instr(s.input, a.id)))
      OR EXISTS (SELECT 1 FROM waits AS w WHERE w.call = c.uid AND instr(w.resolution, a.id));
  -- Erasures: of the whole store under '', of a session under the digest of its name. A session's sequence continues
  -- from here.
  CREATE TABLE erasures (
    scope    TEXT PRIMARY KEY,
    seq      INTEGER NOT NULL,
    position INTEGER NOT NULL,
    count    INTEGER NOT NULL
  ) WITHOUT ROWID;
  INSERT INTO erasures VALUES ('', 0, 0, 0);
  `,
  `
  CREATE TABLE kept (
    "of"     TEXT NOT NULL,
    tenant   TEXT NOT NULL,
    session  TEXT NOT NULL,
    key      TEXT NOT NULL,
    revision INTEGER NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY ("of", tenant, session, key)
  ) WITHOUT ROWID;
  -- For pages in key order, of one tenant or of all.
  CREATE INDEX kept_tenant ON kept ("of", tenant, key);
  CREATE INDEX kept_all ON kept ("of", key);
  `,
  `
  -- By owner, so that a claim finds calls without a living owner and does not scan the others.
  DROP INDEX calls_open;
  CREATE INDEX calls_open ON calls (owner, createdAt, uid) WHERE state IN ('received', 'queued', 'running');
  `,
  `
  -- When its newest call was recorded. In this row, because the commit that inserts a call writes the row anyway.
  ALTER TABLE sessions ADD COLUMN lastCallAt INTEGER;
  UPDATE sessions SET lastCallAt = newest.at FROM (SELECT tenant, session, max(createdAt) AS at FROM calls GROUP BY tenant, session) AS newest
    WHERE newest.tenant = sessions.tenant AND newest.session = sessions.session;
  `,
]

const pragma = (db: DatabaseSync, name: string): number =>
  Object.values(db.prepare(`PRAGMA ${name}`).get() as object)[0] as number

const isEmpty = (db: DatabaseSync): boolean =>
  (db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number }).n === 0

const notPawl = (file: string): PawlError =>
  new PawlError('store_not_pawl', `'${file}' is a database of another program.`)

export function migrate(db: DatabaseSync, file: string): void {
  // If two processes open a new file at once, the second waits here and finds the migration done.
  db.exec('BEGIN IMMEDIATE')
  try {
    const id = pragma(db, 'application_id')
    const version = pragma(db, 'user_version')
    if (id !== applicationId && !(id === 0 && isEmpty(db))) throw notPawl(file)
    if (version > migrations.length) {
      throw new PawlError(
        'store_newer',
        `'${file}' has schema ${version}; this version of Pawl supports up to ${migrations.length}.`,
      )
    }
    for (const sql of migrations.slice(version)) db.exec(sql)
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK') // if the disk is full, SQLite has already rolled back
    throw error
  }
}

/** Reads the version of the tables, and changes nothing. */
export function readSqliteVersion(db: DatabaseSync, file: string): { found: number | null; supported: number } {
  if (pragma(db, 'application_id') === applicationId)
    return { found: pragma(db, 'user_version'), supported: migrations.length }
  if (!isEmpty(db)) throw notPawl(file)
  return { found: null, supported: migrations.length }
}
