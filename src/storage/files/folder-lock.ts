// The write lock of a folder. A file system has no compare-and-set, so a writer acquires a lease recorded in the store:
// of all processes that use this store, one changes the folder at a time. The lock row also carries the usage of the
// folder.
//
// The lease of a dead owner expires, and then the folder is measured again. Other programs may change the folder at any
// time: reads see that immediately, and the usage includes it after the next measurement.

import { createHash } from 'node:crypto'
import { type EventBodies, eventOf } from '../../store/records/event.ts'
import { PawlError } from '../../core/errors.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, Committed, Guard, StoredDocument, DocumentName, Store } from '../../store/store.ts'
import { fencedBy } from '../../store/fence-guards.ts'
import { mutexOf } from '../../core/keyed-mutex.ts'
import type { Scope } from '../../core/scope.ts'
import type { FileUsage } from './quotas.ts'
import { collections } from '../../store/collections.ts'

export interface FolderLockParts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly commit: (change: Change) => Promise<Committed>
  readonly fence: () => readonly Guard[]
  /** The session whose files are in the folder. */
  readonly of: Scope
}

export interface FolderLock {
  /** Usage of the folder, if known; the lock holder updates it with each change. */
  used: FileUsage | undefined
  /** The change, for the feed event that is recorded on release. If the process dies before that, there is no event. */
  changed: EventBodies['file.changed'] | null
  /** Throws unless the lock and the writer's fence still hold. Call it right before an irreversible operation. */
  confirm(): Promise<void>
}

interface Row {
  readonly v: 1
  /** Null: the lock is free. */
  readonly owner: string | null
  readonly until: number
  /** Null: unknown, measure again. */
  readonly used: FileUsage | null
}

const leaseMs = 30_000
const pollMs = 10
const maxPolls = 1_000
/** Mutex namespace for all folders of this process, across stores. */
const processFolders = {}

export function withFolderLock<T>(
  parts: FolderLockParts,
  folder: string,
  work: (lock: FolderLock) => Promise<T>,
): Promise<T> {
  const key = createHash('sha256').update(folder).digest('base64url')
  const name = collections.folder.name({ tenant: '', session: '' }, key)
  return mutexOf(processFolders).run(folder, async () => {
    const owner = parts.ids.next()
    const { revision, used } = await acquire(parts, name, owner)
    const lockGuard: Guard = { kind: 'kept', ...name, revision }
    let by = ''
    const lock: FolderLock = {
      used,
      changed: null,
      async confirm() {
        const fence = parts.fence()
        by = fencedBy(fence)
        const committed = await parts.commit({ guards: [...fence, lockGuard], events: [] })
        if (committed.ok) return
        if (committed.refused.kind === 'kept' && committed.refused.of === name.of)
          throw new PawlError('file_busy', 'The lease of the folder lock expired.')
        throw new PawlError('lease_lost', 'The file was not written.')
      },
    }
    try {
      return await work(lock)
    } catch (error) {
      // After an unexpected error it is unknown how far the work got, so the folder must be measured again.
      if (!(error instanceof PawlError)) lock.used = undefined
      throw error
    } finally {
      const free: Row = { v: 1, owner: null, until: 0, used: lock.used ?? null }
      // Released without the fence, so that a writer that lost its call lease releases it too. If the release fails,
      // the lock expires by itself.
      const { tenant, session } = parts.of
      const events = lock.changed
        ? [eventOf({ tenant, session, call: by }, 'file.changed', parts.clock.now(), lock.changed)]
        : []
      await parts.store
        .commit({ guards: [lockGuard], documents: [{ ...name, value: JSON.stringify(free) }], events })
        .catch(() => undefined)
    }
  })
}

async function acquire({ store, clock, commit, fence }: FolderLockParts, name: DocumentName, owner: string) {
  for (let poll = 0; poll < maxPolls; poll++) {
    const stored = await store.document(name)
    const row = stored && parseRow(stored)
    if (row?.owner && row.until > clock.now()) {
      const releaseHold = clock.hold()
      await new Promise<void>((resolve) => void clock.timer(pollMs, resolve))
      releaseHold()
      continue
    }
    const revision = stored?.revision ?? 0
    const mine: Row = { v: 1, owner, until: clock.now() + leaseMs, used: null }
    const committed = await commit({
      guards: [...fence(), { kind: 'kept', ...name, revision }],
      documents: [{ ...name, value: JSON.stringify(mine) }],
      events: [],
    })
    // An expired lock that still has an owner was not released: its usage cannot be trusted.
    if (committed.ok) return { revision: revision + 1, used: row?.owner === null ? (row.used ?? undefined) : undefined }
    if (committed.refused.kind !== 'kept' || committed.refused.of !== name.of)
      throw new PawlError('lease_lost', 'The file was not written.')
  }
  throw new PawlError('file_busy', 'Another process holds the lock of the folder.')
}

function parseRow({ value }: StoredDocument): Row {
  const row = collections.folder.parse(value) as Row
  if (row.v !== 1)
    throw new PawlError('store_newer', `The lock row of a folder has the format version ${JSON.stringify(row.v)}.`)
  return row
}
