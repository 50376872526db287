// The embedded store: one SQLite file in WAL mode, with group commit.
//
// Disk syncs: in `power` mode each COMMIT of a group syncs the WAL once (synchronous = FULL), and a checkpoint syncs
// twice per thousand pages; in `process` mode only checkpoints sync. Nothing else in this file syncs. Reads run on
// the event loop. Groups are written by the loop or by a thread (group-writer.ts), so that a slow disk does not block
// the loop. Several processes may share one file: writers use BEGIN IMMEDIATE with a busy timeout, and data_version
// shows writes of other processes.

import { fingerprintSetting } from '../check-host-secrets.ts'
import { chain, chainCatch } from '../../core/maybe-promise.ts'
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
import type { DatabaseSync } from 'node:sqlite'
import { PawlError } from '../../core/errors.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../records/call-record.ts'
import { GroupCommit } from '../group-commit.ts'
import { TableLiveChannel } from '../live-channel.ts'
import type { AttachmentRecord, Store } from '../store.ts'
import { checkFileName } from './check-file-name.ts'
import { connect } from './connect.ts'
import { EventReader } from './events.ts'
import { SessionLister } from './list-sessions.ts'
import { type Lock, isCertainlyDead, takeLock } from './worker-liveness.ts'
import { cannotScrub, Retention } from './retention.ts'
import { sqliteLiveTable } from './live-table.ts'
import { DocumentReader } from './documents.ts'
import { SqliteSemaphores } from './semaphores.ts'
import { switchToWal } from './switch-to-wal.ts'
import { busyTimeoutMs } from './thread-protocol.ts'
import { callOf } from './rows.ts'
import { migrate } from './schema.ts'
import { wrapErrors, withSqliteErrors, sqliteError } from './errors.ts'
import { GroupWriter, type WriterPath } from './group-writer.ts'
import { recentCallsOf } from '../recent-calls.ts'

export interface SqliteOptions {
  readonly file: string
  readonly clock: Clock
  readonly commit: 'power' | 'process'
  /** Where groups are written. For tests only. Default: adaptive. */
  readonly writer?: WriterPath
}

/** How often to check for writes of other processes. */
const pollMs = 100

const livingWorkers = '(SELECT id FROM workers WHERE issued <= ?2 AND until > ?2)'
const open = `state IN ('received', 'queued', 'running')`
/**
 * Calls a claim may take: they need a worker, have one of the tools ?3, and their owner is neither the claimer ?1 nor
 * alive.
 */
const claimable = `${open} AND (owner IS NULL OR owner <> ?1 AND owner NOT IN ${livingWorkers}) AND tool IN (SELECT value FROM json_each(?3))`
/**
 * Owners of open calls that are neither the claimer nor alive. Costs one index step per owner, however many calls
 * each has.
 */
const deadOwners = `(WITH RECURSIVE owners (owner) AS (SELECT min(owner) FROM calls INDEXED BY calls_open WHERE ${open}
    UNION ALL SELECT (SELECT min(c.owner) FROM calls AS c INDEXED BY calls_open WHERE ${open} AND c.owner > owners.owner) FROM owners WHERE owner IS NOT NULL)
  SELECT owner FROM owners WHERE owner IS NOT NULL AND owner <> ?1 AND owner NOT IN ${livingWorkers})`
/**
 * The oldest claimable calls without an owner, or of dead owners. A call is skipped if another living worker owns an
 * open call of its batch order. Reads calls_open in index order, so the cost depends on open calls only.
 */
const oldestClaimable = (
  whose: string,
): string => `SELECT uid, createdAt FROM calls AS c INDEXED BY calls_open WHERE ${open} AND owner ${whose}
  AND tool IN (SELECT value FROM json_each(?3)) AND (line IS NULL OR wait IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM calls AS o WHERE o.line = c.line AND o.state IN ('received', 'queued', 'running') AND o.wait IS NULL AND o.owner <> ?1 AND o.owner IN ${livingWorkers}))
  ORDER BY createdAt, uid LIMIT ?4`
const takeOver = `UPDATE calls SET fence = fence + 1, deaths = deaths + (owner IS NOT NULL AND (state = 'running' OR state = 'queued' AND wait IS NOT NULL)), owner = ?1`

export function sqliteStore({ file, clock, commit, writer }: SqliteOptions): Store {
  checkFileName(file)
  const db = openDatabase(file, commit)
  const semaphores = new SqliteSemaphores(db, () => clock.monotonic())
  const events = new EventReader(db)
  const documents = new DocumentReader(db)
  const sessions = new SessionLister(db)
  const retention = new Retention(db, file)
  // A manual clock cannot control timing inside a thread.
  const path = writer ?? (clock === systemClock ? 'adaptive' : 'inline')
  const groupWriter = new GroupWriter(
    db,
    clock,
    { file, synchronous: synchronous(commit) },
    path,
    () => checkRemoteWrites(),
    () => dataVersion() !== seenVersion,
  )
  const group = new GroupCommit(
    clock,
    (changes) => withSqliteErrors(file, () => groupWriter.write(changes)),
    () => groupWriter.isSyncCheap,
  )

  const q = {
    inBatch: db.prepare('SELECT 1 FROM calls WHERE tenant = ? AND session = ? AND batch = ? LIMIT 1'),
    callAt: db.prepare(
      'SELECT * FROM calls WHERE tenant = ? AND session = ? AND batch = ? AND id = ? AND occurrence = ?',
    ),
    call: db.prepare('SELECT * FROM calls WHERE uid = ?'),
    // The inner query reads only calls_place, which contains the uid. A separate index by uid would cost one write
    // per call.
    callsOf: db.prepare(
      `SELECT * FROM calls WHERE uid IN (
         SELECT uid FROM calls INDEXED BY calls_place WHERE tenant = ? AND session = ? AND uid > ? ORDER BY uid LIMIT ?) ORDER BY uid`,
    ),
    callsBefore: db.prepare('SELECT * FROM calls WHERE uid < ? ORDER BY uid DESC LIMIT ?'),
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
    // Lists are passed as JSON, so that the statements are prepared once for any length.
    claim: db.prepare(
      `${takeOver} WHERE uid IN (
         SELECT uid FROM (SELECT * FROM (${oldestClaimable('IS NULL')}) UNION ALL SELECT * FROM (${oldestClaimable(`IN ${deadOwners}`)}))
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
  // The calls of a model message are looked up in one event-loop turn, so whether their batch is new is checked once.
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
  let seenVersion = dataVersion()
  let closed = false
  let closing: Promise<void> | null = null
  const checkRemoteWrites = (): void => {
    const now = dataVersion()
    if (now === seenVersion) return
    seenVersion = now
    const notify = (isRemote: boolean): void => void (isRemote && !closed && group.hint({ wakes: true, outside: true }))
    void chain(groupWriter.hasRemoteWrites(), notify)
  }
  const cancelPoll = clock.every(pollMs, () => {
    checkRemoteWrites()
    groupWriter.endInterval()
  })

  const liveTable = sqliteLiveTable(`${file}-live`, clock)
  const live = new TableLiveChannel(liveTable, clock, randomBytes(8).toString('hex'))

  return wrapErrors(file, {
    kind: 'sqlite',
    commit: (change) => group.commit(change),
    write: (change, onResult, how) => group.write(change, onResult, how),
    callAt: (p) =>
      isNewBatch(p) ? undefined : oneCall(q.callAt.get(p.tenant, p.session, p.batch, p.id, p.occurrence)),
    call: (uid) => oneCall(q.call.get(uid)),
    callsOf: ({ tenant, session }, { after, limit }) =>
      q.callsOf.all(tenant, session, after, limit).map((row) => callOf(row as never)),
    recentCalls: (query) => {
      // In the order of SQLite, every BLOB is above every text.
      const rows = q.callsBefore.all(query.before ?? new Uint8Array(), query.scan)
      return recentCallsOf(
        rows.map((row) => callOf(row as never)),
        query,
      )
    },
    sessions: (page) => sessions.list(page),
    steps: (call) => q.steps.all(call) as unknown as StepRecord[],
    waitsOf: (call) => q.waitsOf.all(call) as unknown as WaitRecord[],
    wait: (id) => oneWait(q.wait.get(id)),
    waitByKeyHash: (hash) => oneWait(q.waitByKey.get(hash)),
    dueWaits: (now, limit) => q.dueWaits.all(now, limit) as unknown as WaitRecord[],
    nextDeadline: () => (q.nextDeadline.get() as { deadline: number } | undefined)?.deadline,
    attachment: (tenant, id) => q.attachment.get(tenant, id) as unknown as AttachmentRecord | undefined,
    document: (name) => documents.get(name),
    documentsOf: (query) => documents.list(query),
    nonEmptyCollections: (of, scope) => documents.nonEmpty(of, scope),
    events: (query) => events.read(query),
    full: (takes) => takes.map((take) => semaphores.findFull(take) !== null),
    holds: () => semaphores.all(),
    lastPosition: () => events.last(),
    renew: (worker, leaseMs) => {
      if (!locks.has(worker)) {
        const lock = takeLock(file, worker)
        if (lock) locks.set(worker, lock)
        group.shared = locks.size > 1
      }
      return groupWriter.runExclusive(() => {
        const now = clock.monotonic()
        q.renew.run(worker, now, now + leaseMs)
        semaphores.sweep()
        return (q.living.get(now) as { n: number }).n
      })
    },
    claim: (worker, tools, limit) =>
      groupWriter.runExclusive(() => {
        for (const { id } of q.workers.all(worker) as { id: string }[]) {
          if (!locks.has(id) && isCertainlyDead(file, id)) q.leave.run(id)
        }
        const rows = groupWriter.transactions.run(() => {
          const [now, known] = [clock.monotonic(), JSON.stringify(tools)]
          const claimed = q.claim.all(worker, now, known, limit) as { line: string | null; wait: string | null }[]
          const lines = claimed.flatMap(({ line, wait }) => (line !== null && wait === null ? [line] : []))
          return lines.length === 0
            ? claimed
            : [...claimed, ...q.claimLines.all(worker, now, known, JSON.stringify(lines))]
        })
        // RETURNING does not follow the order of the query.
        return rows
          .map((row) => callOf(row as never))
          .toSorted((a, b) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
      }),
    erased: (of) => retention.erased(of),
    unsettled: (page) => retention.unsettled(page, clock.monotonic()),
    erase: (query) =>
      chain(liveTable.erase(query.of ?? null), () =>
        groupWriter.runExclusive(() => groupWriter.transactions.run(() => retention.erase(query))),
      ),
    scrub: () =>
      chainCatch(
        () => groupWriter.runExclusive(() => retention.scrub()),
        (error) => {
          if (cannotScrub(error)) return false
          throw error
        },
      ),
    inspect: () => retention.inspect(clock.monotonic()),
    leave: (worker) =>
      groupWriter.runExclusive(() => {
        q.leave.run(worker)
        locks.get(worker)?.release()
        locks.delete(worker)
      }),
    ...(clock === systemClock && path !== 'inline'
      ? { keepAlive: (worker, heart) => groupWriter.keepAlive(worker, heart) }
      : {}),
    setting: (key, ifAbsent) =>
      groupWriter.runExclusive(() => {
        q.putSetting.run(key, ifAbsent)
        return (q.setting.get(key) as { value: string }).value
      }),
    settingNow: (key) => (q.setting.get(key) as { value: string } | undefined)?.value,
    secret: () => readOrCreateSecret(`${file}-key`, () => q.setting.get(fingerprintSetting(0)) !== undefined),
    onHint: (listener) => group.onHint(listener),
    live,
    close() {
      closing ??= (async () => {
        await group.close()
        await live.close()
        closed = true
        cancelPoll()
        for (const lock of locks.values()) lock.release()
        await groupWriter.close()
        db.close()
      })()
      return closing
    },
  })
}

/** The path in a `file:` URL, for the error message. */
const synchronous = (commit: SqliteOptions['commit']): 'FULL' | 'NORMAL' => (commit === 'power' ? 'FULL' : 'NORMAL')

function openDatabase(file: string, commit: SqliteOptions['commit']): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    // SQLite would open a read-only file for reading and leave side files that cannot be written either.
    if (existsSync(file)) accessSync(file, constants.W_OK)
    db = connect(file, busyTimeoutMs)
    migrate(db, file)
    switchToWal(db)
    db.exec(`PRAGMA synchronous = ${synchronous(commit)}`)
    return db
  } catch (cause) {
    db?.close()
    throw sqliteError(file, cause)
  }
}

/**
 * Reads the secret from a file that only its owner can read, or creates it. The first process to create it wins. The
 * file appears complete or not at all.
 */
function readOrCreateSecret(path: string, wasUsed: () => boolean): Uint8Array {
  const isEmpty = existsSync(path) && statSync(path).size === 0
  // A new secret could not open the existing data. Nothing is written, so that the lost file can still be restored.
  if ((isEmpty || !existsSync(path)) && wasUsed()) throw new PawlError('key_file_missing', `The file is '${path}'.`)
  if (isEmpty) unlinkSync(path) // never used as a secret
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
