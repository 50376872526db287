// The tables of live events for processes that share an SQLite file. They are in a file of their own, which is never
// synced, so that live events neither wait for the disk nor wake the workers that watch the main file.

import { chmodSync, existsSync } from 'node:fs'
import type { Clock } from '../../core/clock.ts'
import type { LiveEntry, LiveReader, LiveTable } from '../live-channel.ts'
import { connect } from './connect.ts'
import { switchToWal } from './switch-to-wal.ts'
import { busyTimeoutMs } from './thread-protocol.ts'

const schema = `
  CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL,
    until INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS readers (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL, asked INTEGER NOT NULL,
    until INTEGER NOT NULL) WITHOUT ROWID;`

/** Opens the file when it is first used: most programs never subscribe to live events of other processes. */
export function sqliteLiveTable(file: string, clock: Clock): LiveTable {
  let opened: ReturnType<typeof open> | null = null
  const table = (): ReturnType<typeof open> => (opened ??= open(file))
  /** Without the file no process subscribes. Only a subscriber creates it. */
  const isAbsent = (): boolean => opened === null && !existsSync(file)
  let seenVersion = -1
  return {
    pollMs: 20,
    append(entries, expiresInMs) {
      const { db, insert } = table()
      const until = clock.now() + expiresInMs
      db.exec('BEGIN IMMEDIATE')
      try {
        for (const { tenant, session, entry } of entries) insert.run(tenant, session, entry, until)
        db.exec('COMMIT')
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
    },
    entriesAfter: (seq) => table().entries.all(seq, clock.now()) as unknown as (LiveEntry & { readonly seq: number })[],
    lastSeq: () => (table().lastSeq.get() as { seq: number | null }).seq ?? 0,
    putReader({ id, tenant, session, asked }, expiresInMs) {
      table().putReader.run(id, tenant, session, asked, clock.now() + expiresInMs)
    },
    removeReader(id) {
      table().removeReader.run(id)
    },
    readers: () => (isAbsent() ? [] : (table().readers.all(clock.now()) as unknown as LiveReader[])),
    purge() {
      const now = clock.now()
      table().purgeEntries.run(now)
      table().purgeReaders.run(now)
    },
    erase(of) {
      if (isAbsent()) return
      if (of === null) table().eraseAll.run()
      else table().erase.run(of.tenant, of.session ?? null)
    },
    /** Own writes do not change the version of the own connection. */
    changed() {
      if (isAbsent()) return false
      const { data_version: version } = table().version.get() as { data_version: number }
      const isNew = version !== seenVersion
      seenVersion = version
      return isNew
    },
    onChange() {},
    reportsReaders: false,
    close() {
      opened?.db.close()
      opened = null
    },
  }
}

// oxlint-disable-next-line typescript/explicit-function-return-type -- the statements are named where they are used
function open(file: string) {
  const db = connect(file, busyTimeoutMs)
  switchToWal(db)
  db.exec('PRAGMA synchronous = OFF; PRAGMA secure_delete = ON')
  db.exec(schema)
  chmodSync(file, 0o600)
  return {
    db,
    insert: db.prepare('INSERT INTO entries (tenant, session, entry, until) VALUES (?, ?, ?, ?)'),
    entries: db.prepare('SELECT seq, tenant, session, entry FROM entries WHERE seq > ? AND until > ? ORDER BY seq'),
    lastSeq: db.prepare('SELECT max(seq) AS seq FROM entries'),
    putReader: db.prepare('INSERT OR REPLACE INTO readers VALUES (?, ?, ?, ?, ?)'),
    removeReader: db.prepare('DELETE FROM readers WHERE id = ?'),
    readers: db.prepare('SELECT id, tenant, session, asked FROM readers WHERE until > ?'),
    purgeEntries: db.prepare('DELETE FROM entries WHERE until <= ?'),
    purgeReaders: db.prepare('DELETE FROM readers WHERE until <= ?'),
    erase: db.prepare('DELETE FROM entries WHERE tenant = ?1 AND (?2 IS NULL OR session = ?2)'),
    eraseAll: db.prepare('DELETE FROM entries'),
    version: db.prepare('PRAGMA data_version'),
  }
}
