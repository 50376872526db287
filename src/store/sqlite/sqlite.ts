// The embedded store: one SQLite file in WAL mode, group commit, `power` or `process` safe.
//
// Where the syncs come from: in `power` mode every COMMIT of a group syncs the WAL once (synchronous = FULL), and a checkpoint
// syncs twice per thousand pages; in `process` mode only checkpoints sync. Nothing else in this file reaches the disk.
// Two processes on one file see each other: BEGIN IMMEDIATE with a busy timeout to write, data_version to notice.

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PawlError } from '../../kernel/errors.ts'
import type { Clock } from '../../kernel/time.ts'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../../journal/call-state.ts'
import { GroupCommit, type Write } from '../group.ts'
import type { AttachmentRecord, Store, Written } from '../store.ts'
import { type Lock, surelyDead, takeLock } from './liveness.ts'
import { Keeper } from './keep.ts'
import { callOf, eventOf, GroupWriter } from './rows.ts'
import { migrate } from './schema.ts'
import { clearly, troubleWith } from './trouble.ts'

export interface SqliteOptions {
  readonly file: string
  readonly clock: Clock
  readonly commit: 'power' | 'process'
}

const busyTimeoutMs = 5_000
/** How often another process's writes are looked for. */
const pollMs = 100

export function sqliteStore({ file, clock, commit }: SqliteOptions): Store {
  if (file === '' || file === ':memory:') {
    throw new PawlError('config_invalid', `store is 'sqlite:${file}'; name a file, or use 'memory:'.`)
  }
  // SQLite's own URLs carry options of their own (another mode, no locks) that would undo what is promised here.
  if (/^file:/i.test(file)) {
    throw new PawlError('config_invalid', `store is 'sqlite:${file}'; give the path alone, without 'file:': 'sqlite:${pathIn(file)}'.`)
  }
  const folder = dirname(file)
  if (!existsSync(folder)) {
    throw new PawlError(
      'config_invalid',
      `store is 'sqlite:${file}', and the folder '${folder}' does not exist. Create it, or name another file.`,
    )
  }
  const db = openDatabase(file, commit)
  const writer = new GroupWriter(db)
  const keeper = new Keeper(db, file)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const end = db.prepare('COMMIT')
  const undo = db.prepare('ROLLBACK')

  const inTransaction = <T>(work: () => T): T => {
    begin.run()
    try {
      const result = work()
      end.run()
      return result
    } catch (error) {
      if (db.isTransaction) undo.run()
      throw error
    }
  }
  /** All in one transaction. Should one of them break it, each is tried alone, so that only the culprit fails. */
  const writeGroup: Write = (changes) => {
    try {
      return inTransaction(() => writer.write(changes))
    } catch (failed) {
      // A file that is locked, full or gone fails all alike; trying them one by one would only block the longer.
      if (!isOwnFault(failed)) throw troubleWith(file, failed)
      return changes.length === 1 ? [{ failed }] : changes.flatMap((change) => writeGroup([change]) as Written[])
    }
  }
  const group = new GroupCommit(clock, writeGroup)

  const q = {
    inBatch: db.prepare('SELECT 1 FROM calls WHERE tenant = ? AND session = ? AND batch = ? LIMIT 1'),
    callAt: db.prepare('SELECT * FROM calls WHERE tenant = ? AND session = ? AND batch = ? AND id = ? AND occurrence = ?'),
    call: db.prepare('SELECT * FROM calls WHERE uid = ?'),
    // The inner query needs nothing but calls_place, which holds the uid: an index in the order of uids would cost every call a write.
    callsOf: db.prepare(
      `SELECT * FROM calls WHERE uid IN (
         SELECT uid FROM calls INDEXED BY calls_place WHERE tenant = ? AND session = ? AND uid > ? ORDER BY uid LIMIT ?) ORDER BY uid`,
    ),
    steps: db.prepare('SELECT * FROM steps WHERE call = ?'),
    waitsOf: db.prepare('SELECT * FROM waits WHERE call = ?'),
    wait: db.prepare('SELECT * FROM waits WHERE id = ?'),
    waitByKey: db.prepare('SELECT * FROM waits WHERE keyHash = ?'),
    dueWaits: db.prepare('SELECT * FROM waits WHERE resolution IS NULL AND deadline <= ? ORDER BY deadline, id LIMIT ?'),
    nextDeadline: db.prepare('SELECT deadline FROM waits WHERE resolution IS NULL ORDER BY deadline LIMIT 1'),
    attachment: db.prepare('SELECT * FROM attachments WHERE tenant = ? AND id = ?'),
    events: db.prepare('SELECT * FROM events WHERE position > ? ORDER BY position LIMIT ?'),
    sessionEvents: db.prepare('SELECT * FROM events WHERE tenant = ? AND session = ? AND position > ? ORDER BY position LIMIT ?'),
    renew: db.prepare('INSERT OR REPLACE INTO workers (id, issued, until) VALUES (?, ?, ?)'),
    leave: db.prepare('DELETE FROM workers WHERE id = ?'),
    workers: db.prepare('SELECT id FROM workers WHERE id <> ?'),
    // Both lists go in as JSON, so that the statement is prepared once whatever their length.
    claim: db.prepare(
      `UPDATE calls SET fence = fence + 1, deaths = deaths + (state = 'running' AND owner IS NOT NULL), owner = ?1 WHERE uid IN (
         SELECT uid FROM calls WHERE state IN ('received', 'queued', 'running')
           AND (owner IS NULL OR owner <> ?1 AND owner NOT IN (SELECT id FROM workers WHERE issued <= ?2 AND until > ?2))
           AND tool IN (SELECT value FROM json_each(?3))
         ORDER BY createdAt, uid LIMIT ?4)
       RETURNING *`,
    ),
    setting: db.prepare('SELECT value FROM settings WHERE key = ?'),
    putSetting: db.prepare('INSERT OR IGNORE INTO settings (key, value) VALUES (?, ?)'),
    dataVersion: db.prepare('PRAGMA data_version'),
  }
  const oneCall = (row: unknown): CallRecord | undefined => (row === undefined ? undefined : callOf(row as never))
  // The calls of a model's message are asked for in one turn of the program: that none of them is on record need be found out once.
  let newBatch: CallPosition | null = null
  const isNewBatch = (p: CallPosition): boolean => {
    if (newBatch?.batch === p.batch && newBatch.session === p.session && newBatch.tenant === p.tenant) return true
    if (p.batch === '' || q.inBatch.get(p.tenant, p.session, p.batch) !== undefined) return false
    newBatch = p
    queueMicrotask(() => (newBatch = null))
    return true
  }
  const oneWait = (row: unknown): WaitRecord | undefined => row as WaitRecord | undefined

  const locks = new Map<string, Lock>()
  const dataVersion = (): number => (q.dataVersion.get() as { data_version: number }).data_version
  let seen = dataVersion()
  let closed = false
  const callOffPoll = clock.every(pollMs, () => {
    const now = dataVersion()
    if (now !== seen) group.hint({ wakes: true, outside: true })
    seen = now
  })

  return clearly(file, {
    kind: 'sqlite',
    commit: (change) => group.commit(change),
    write: (change, heard, how) => group.write(change, heard, how),
    callAt: (p) => (isNewBatch(p) ? undefined : oneCall(q.callAt.get(p.tenant, p.session, p.batch, p.id, p.occurrence))),
    call: (uid) => oneCall(q.call.get(uid)),
    callsOf: ({ tenant, session }, { after, limit }) => q.callsOf.all(tenant, session, after, limit).map((row) => callOf(row as never)),
    steps: (call) => q.steps.all(call) as unknown as StepRecord[],
    waitsOf: (call) => q.waitsOf.all(call) as unknown as WaitRecord[],
    wait: (id) => oneWait(q.wait.get(id)),
    waitByKeyHash: (hash) => oneWait(q.waitByKey.get(hash)),
    dueWaits: (now, limit) => q.dueWaits.all(now, limit) as unknown as WaitRecord[],
    nextDeadline: () => (q.nextDeadline.get() as { deadline: number } | undefined)?.deadline,
    attachment: (tenant, id) => q.attachment.get(tenant, id) as unknown as AttachmentRecord | undefined,
    events: ({ after, limit, of }) =>
      (of ? q.sessionEvents.all(of.tenant, of.session, after, limit) : q.events.all(after, limit)).map((row) => eventOf(row as never)),
    renew: (worker, leaseMs) => {
      if (!locks.has(worker)) {
        const lock = takeLock(file, worker)
        if (lock) locks.set(worker, lock)
        group.shared = locks.size > 1
      }
      const now = clock.monotonic()
      q.renew.run(worker, now, now + leaseMs)
    },
    claim: (worker, tools, limit) => {
      for (const { id } of q.workers.all(worker) as { id: string }[]) {
        if (!locks.has(id) && surelyDead(file, id)) q.leave.run(id)
      }
      const rows = inTransaction(() => q.claim.all(worker, clock.monotonic(), JSON.stringify(tools), limit))
      // RETURNING has an order of its own.
      return rows.map((row) => callOf(row as never)).toSorted((a, b) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
    },
    erased: (of) => keeper.erased(of),
    unsettled: (page) => keeper.unsettled(page, clock.monotonic()),
    erase: (query) => inTransaction(() => keeper.erase(query)),
    scrub: () => keeper.scrub(),
    inspect: () => keeper.inspect(clock.monotonic()),
    leave: (worker) => {
      q.leave.run(worker)
      locks.get(worker)?.release()
      locks.delete(worker)
    },
    setting: (key, ifAbsent) => {
      q.putSetting.run(key, ifAbsent)
      return (q.setting.get(key) as { value: string }).value
    },
    secret: () => privateSecret(`${file}-key`),
    onHint: (listener) => group.onHint(listener),
    async close() {
      if (closed) return
      await group.close()
      closed = true
      callOffPoll()
      for (const lock of locks.values()) lock.release()
      db.close()
    },
  })
}

/** The path in a file: URL, for a hint. */
const pathIn = (url: string): string => url.replace(/^file:(\/\/(?=\/))?/i, '').replace(/[?#].*$/, '')

/** A constraint, a mismatch, a value too big, one that cannot be bound at all: this change is at fault, not the file. */
function isOwnFault(error: unknown): boolean {
  const { errcode = 1, code = '' } = error as { errcode?: number; code?: string }
  return [18, 19, 20, 25].includes(errcode & 0xff) || code.startsWith('ERR_INVALID_ARG') || code === 'ERR_OUT_OF_RANGE'
}

function openDatabase(file: string, commit: SqliteOptions['commit']): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    // SQLite would open what may not be written to read it, and leave files beside it that may not be written either.
    if (existsSync(file)) accessSync(file, constants.W_OK)
    db = new DatabaseSync(file, { timeout: busyTimeoutMs })
    migrate(db, file)
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${commit === 'power' ? 'FULL' : 'NORMAL'}`)
    return db
  } catch (cause) {
    db?.close()
    throw troubleWith(file, cause)
  }
}

/** A secret in a file that only its owner can read; whoever creates it first decides. It appears whole or not at all. */
function privateSecret(path: string): Uint8Array {
  if (existsSync(path) && statSync(path).size === 0) unlinkSync(path) // nothing was ever made with it
  if (!existsSync(path)) {
    const draft = `${path}-${randomBytes(6).toString('hex')}`
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeSync(file, randomBytes(32).toString('base64url'))
      fsyncSync(file)
      linkSync(draft, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      closeSync(file)
      unlinkSync(draft)
    }
  }
  return Buffer.from(readFileSync(path, 'utf8').trim(), 'base64url')
}
