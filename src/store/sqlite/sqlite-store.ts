// The embedded store: one SQLite file in WAL mode, group commit, `power` or `process` safe.
//
// Where the syncs come from: in `power` mode every COMMIT of a group syncs the WAL once (synchronous = FULL), and a checkpoint
// syncs twice per thousand pages; in `process` mode only checkpoints sync. Nothing else in this file reaches the disk.
// Reads are the event loop's; groups of changes are written by it or by a thread (group-writer.ts), so that a slow disk does not hold it up.
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
import { PawlError } from '../../core/errors.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../records/call-record.ts'
import { GroupCommit } from '../group-commit.ts'
import type { AttachmentRecord, Store } from '../store.ts'
import { EventReader } from './events.ts'
import { type Lock, surelyDead, takeLock } from './worker-liveness.ts'
import { Keeper } from './retention.ts'
import { KeptReader } from './documents.ts'
import { Places } from './semaphores.ts'
import { busyTimeoutMs } from './thread-protocol.ts'
import { callOf } from './rows.ts'
import { migrate } from './schema.ts'
import { clearly, inWords, troubleWith } from './errors.ts'
import { Writer, type WriterPath } from './group-writer.ts'

export interface SqliteOptions {
  readonly file: string
  readonly clock: Clock
  readonly commit: 'power' | 'process'
  /** Who writes; for tests. */
  readonly writer?: WriterPath
}

/** How often another process's writes are looked for. */
const pollMs = 100

const living = '(SELECT id FROM workers WHERE issued <= ?2 AND until > ?2)'
const open = `state IN ('received', 'queued', 'running')`
/** What a claim may take: calls that want a worker, of the tools ?3, whose owner is neither the claimer ?1 nor alive. */
const claimable = `${open} AND (owner IS NULL OR owner <> ?1 AND owner NOT IN ${living}) AND tool IN (SELECT value FROM json_each(?3))`
/** Owners of what is open, one step through the index for each, whatever they have: those that are neither the claimer nor alive. */
const lost = `(WITH RECURSIVE owners (owner) AS (SELECT min(owner) FROM calls INDEXED BY calls_open WHERE ${open}
    UNION ALL SELECT (SELECT min(c.owner) FROM calls AS c INDEXED BY calls_open WHERE ${open} AND c.owner > owners.owner) FROM owners WHERE owner IS NOT NULL)
  SELECT owner FROM owners WHERE owner IS NOT NULL AND owner <> ?1 AND owner NOT IN ${living})`
/** The oldest of them, of nobody or of those who are lost. No living worker but the claimer has a part of its line. */
const oldest = (
  whose: string,
): string => `SELECT uid, createdAt FROM calls AS c INDEXED BY calls_open WHERE ${open} AND owner ${whose}
  AND tool IN (SELECT value FROM json_each(?3)) AND (line IS NULL OR wait IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM calls AS o WHERE o.line = c.line AND o.state IN ('received', 'queued', 'running') AND o.wait IS NULL AND o.owner <> ?1 AND o.owner IN ${living}))
  ORDER BY createdAt, uid LIMIT ?4`
const takeOver = `UPDATE calls SET fence = fence + 1, deaths = deaths + (owner IS NOT NULL AND (state = 'running' OR state = 'queued' AND wait IS NOT NULL)), owner = ?1`

export function sqliteStore({ file, clock, commit, writer }: SqliteOptions): Store {
  if (file === '' || file === ':memory:') {
    throw new PawlError('config_invalid', `store is 'sqlite:${file}'; name a file, or use 'memory:'.`)
  }
  // SQLite's own URLs carry options of their own (another mode, no locks) that would undo what is promised here.
  if (/^file:/i.test(file)) {
    throw new PawlError(
      'config_invalid',
      `store is 'sqlite:${file}'; give the path alone, without 'file:': 'sqlite:${pathIn(file)}'.`,
    )
  }
  const folder = dirname(file)
  if (!existsSync(folder)) {
    throw new PawlError(
      'config_invalid',
      `store is 'sqlite:${file}', and the folder '${folder}' does not exist. Create it, or name another file.`,
    )
  }
  const db = openDatabase(file, commit)
  const places = new Places(db, () => clock.monotonic())
  const events = new EventReader(db)
  const kept = new KeptReader(db)
  const keeper = new Keeper(db, file)
  // A clock that is moved by hand knows nothing of what happens in a thread.
  const path = writer ?? (clock === systemClock ? 'adaptive' : 'inline')
  const groups = new Writer(
    db,
    clock,
    { file, synchronous: synchronous(commit) },
    path,
    () => look(),
    () => dataVersion() !== seen,
  )
  const group = new GroupCommit(
    clock,
    (changes) => inWords(file, () => groups.write(changes)),
    () => groups.isQuick,
  )

  const q = {
    inBatch: db.prepare('SELECT 1 FROM calls WHERE tenant = ? AND session = ? AND batch = ? LIMIT 1'),
    callAt: db.prepare(
      'SELECT * FROM calls WHERE tenant = ? AND session = ? AND batch = ? AND id = ? AND occurrence = ?',
    ),
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
    dueWaits: db.prepare(
      'SELECT * FROM waits WHERE resolution IS NULL AND deadline <= ? ORDER BY deadline, id LIMIT ?',
    ),
    nextDeadline: db.prepare('SELECT deadline FROM waits WHERE resolution IS NULL ORDER BY deadline LIMIT 1'),
    attachment: db.prepare('SELECT * FROM attachments WHERE tenant = ? AND id = ?'),
    renew: db.prepare('INSERT OR REPLACE INTO workers (id, issued, until) VALUES (?, ?, ?)'),
    living: db.prepare('SELECT count(*) AS n FROM workers WHERE issued <= ?1 AND until > ?1'),
    leave: db.prepare('DELETE FROM workers WHERE id = ?'),
    workers: db.prepare('SELECT id FROM workers WHERE id <> ?'),
    // Lists go in as JSON, so that the statements are prepared once whatever their length.
    claim: db.prepare(
      `${takeOver} WHERE uid IN (
         SELECT uid FROM (SELECT * FROM (${oldest('IS NULL')}) UNION ALL SELECT * FROM (${oldest(`IN ${lost}`)}))
         ORDER BY createdAt, uid LIMIT ?4)
       RETURNING *`,
    ),
    claimLines: db.prepare(
      `${takeOver} WHERE line IN (SELECT value FROM json_each(?4)) AND line IS NOT NULL AND wait IS NULL AND ${claimable} RETURNING *`,
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
  let closing: Promise<void> | null = null
  const look = (): void => {
    const now = dataVersion()
    if (now === seen) return
    seen = now
    const heard = (news: boolean): void => void (news && !closed && group.hint({ wakes: true, outside: true }))
    const news = groups.news()
    if (news instanceof Promise) void news.then(heard)
    else heard(news)
  }
  const callOffPoll = clock.every(pollMs, () => {
    look()
    groups.rest()
  })

  return clearly(file, {
    kind: 'sqlite',
    commit: (change) => group.commit(change),
    write: (change, heard, how) => group.write(change, heard, how),
    callAt: (p) =>
      isNewBatch(p) ? undefined : oneCall(q.callAt.get(p.tenant, p.session, p.batch, p.id, p.occurrence)),
    call: (uid) => oneCall(q.call.get(uid)),
    callsOf: ({ tenant, session }, { after, limit }) =>
      q.callsOf.all(tenant, session, after, limit).map((row) => callOf(row as never)),
    steps: (call) => q.steps.all(call) as unknown as StepRecord[],
    waitsOf: (call) => q.waitsOf.all(call) as unknown as WaitRecord[],
    wait: (id) => oneWait(q.wait.get(id)),
    waitByKeyHash: (hash) => oneWait(q.waitByKey.get(hash)),
    dueWaits: (now, limit) => q.dueWaits.all(now, limit) as unknown as WaitRecord[],
    nextDeadline: () => (q.nextDeadline.get() as { deadline: number } | undefined)?.deadline,
    attachment: (tenant, id) => q.attachment.get(tenant, id) as unknown as AttachmentRecord | undefined,
    document: (name) => kept.one(name),
    documentsOf: (query) => kept.list(query),
    keptIn: (of, scope) => kept.among(of, scope),
    events: (query) => events.read(query),
    full: (takes) => takes.map((take) => places.full(take) !== null),
    holds: () => places.all(),
    lastPosition: () => events.last(),
    renew: (worker, leaseMs) => {
      if (!locks.has(worker)) {
        const lock = takeLock(file, worker)
        if (lock) locks.set(worker, lock)
        group.shared = locks.size > 1
      }
      return groups.alone(() => {
        const now = clock.monotonic()
        q.renew.run(worker, now, now + leaseMs)
        places.sweep()
        return (q.living.get(now) as { n: number }).n
      })
    },
    claim: (worker, tools, limit) =>
      groups.alone(() => {
        for (const { id } of q.workers.all(worker) as { id: string }[]) {
          if (!locks.has(id) && surelyDead(file, id)) q.leave.run(id)
        }
        const rows = groups.transactions.run(() => {
          const [now, known] = [clock.monotonic(), JSON.stringify(tools)]
          const claimed = q.claim.all(worker, now, known, limit) as { line: string | null; wait: string | null }[]
          const lines = claimed.flatMap(({ line, wait }) => (line !== null && wait === null ? [line] : []))
          return lines.length === 0
            ? claimed
            : [...claimed, ...q.claimLines.all(worker, now, known, JSON.stringify(lines))]
        })
        // RETURNING has an order of its own.
        return rows
          .map((row) => callOf(row as never))
          .toSorted((a, b) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
      }),
    erased: (of) => keeper.erased(of),
    unsettled: (page) => keeper.unsettled(page, clock.monotonic()),
    erase: (query) => groups.alone(() => groups.transactions.run(() => keeper.erase(query))),
    scrub: () => groups.alone(() => keeper.scrub()),
    inspect: () => keeper.inspect(clock.monotonic()),
    leave: (worker) =>
      groups.alone(() => {
        q.leave.run(worker)
        locks.get(worker)?.release()
        locks.delete(worker)
      }),
    ...(clock === systemClock && path !== 'inline'
      ? { keepAlive: (worker, heart) => groups.keepAlive(worker, heart) }
      : {}),
    setting: (key, ifAbsent) =>
      groups.alone(() => {
        q.putSetting.run(key, ifAbsent)
        return (q.setting.get(key) as { value: string }).value
      }),
    settingNow: (key) => (q.setting.get(key) as { value: string } | undefined)?.value,
    secret: () => privateSecret(`${file}-key`),
    onHint: (listener) => group.onHint(listener),
    close() {
      closing ??= (async () => {
        await group.close()
        closed = true
        callOffPoll()
        for (const lock of locks.values()) lock.release()
        await groups.close()
        db.close()
      })()
      return closing
    },
  })
}

/** The path in a file: URL, for a hint. */
const pathIn = (url: string): string => url.replace(/^file:(\/\/(?=\/))?/i, '').replace(/[?#].*$/, '')

const synchronous = (commit: SqliteOptions['commit']): 'FULL' | 'NORMAL' => (commit === 'power' ? 'FULL' : 'NORMAL')

function openDatabase(file: string, commit: SqliteOptions['commit']): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    // SQLite would open what may not be written to read it, and leave files beside it that may not be written either.
    if (existsSync(file)) accessSync(file, constants.W_OK)
    db = new DatabaseSync(file, { timeout: busyTimeoutMs })
    migrate(db, file)
    useWal(db)
    db.exec(`PRAGMA synchronous = ${synchronous(commit)}`)
    return db
  } catch (cause) {
    db?.close()
    throw troubleWith(file, cause)
  }
}

/** A new file becomes one with a log once nobody else has it open in the old mode: SQLite does not wait for that by itself, whatever its timeout. */
function useWal(db: DatabaseSync): void {
  const pauseMs = 10
  for (let tries = Math.ceil(busyTimeoutMs / pauseMs); ; tries--) {
    try {
      return db.exec('PRAGMA journal_mode = WAL')
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === 5
      if (!isBusy || tries <= 0) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
    }
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
