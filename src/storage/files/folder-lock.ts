// FILES: whose turn it is to change a folder. A folder cannot compare and set, so who changes it takes a turn that is on record in the store:
// among all processes that use this store one changes it at a time, and what is in it is counted from turn to turn.
//
// A turn ends by itself after a while if its owner died; then the folder is measured anew. Programs that know nothing of Pawl may
// change the folder at any time: what they do is seen when it is looked at, and counted when it is measured.

import { createHash } from 'node:crypto'
import { type EventBodies, eventOf } from '../../store/records/event.ts'
import { PawlError } from '../../core/errors.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, Committed, Guard, StoredDocument, DocumentName, Store } from '../../store/store.ts'
import { fencedBy } from '../../store/fenced-by.ts'
import { mutexOf } from '../../core/keyed-mutex.ts'
import type { FileUsage } from './quotas.ts'
import type { FilesOf } from './file-rows.ts'

export interface FolderLockParts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly commit: (change: Change) => Promise<Committed>
  readonly fence: () => readonly Guard[]
  /** Whose files are in the folder. */
  readonly of: FilesOf
}

export interface FolderLock {
  /** As far as it is known; who changes the folder changes it. */
  used: FileUsage | undefined
  /** What was changed in it, for the feed: told when the turn is given back. Whose process dies before that has told nothing. */
  changed: EventBodies['file.changed'] | null
  /** Throws unless the turn, and whatever fences the writer, still hold. Asked right before what cannot be undone. */
  confirm(): Promise<void>
}

interface Row {
  readonly v: 1
  /** Null: nobody. */
  readonly owner: string | null
  readonly until: number
  /** Null: not known. */
  readonly used: FileUsage | null
}

const turnMs = 30_000
const pollMs = 10
const mostPolls = 1_000
/** All folders of this process, whichever store its turns are in. */
const here = {}

export function withFolderLock<T>(
  parts: FolderLockParts,
  folder: string,
  work: (turn: FolderLock) => Promise<T>,
): Promise<T> {
  const key = createHash('sha256').update(folder).digest('base64url')
  const name: DocumentName = { of: 'folder', tenant: '', session: '', key }
  return mutexOf(here).run(folder, async () => {
    const owner = parts.ids.next()
    const { revision, used } = await take(parts, name, owner)
    const held: Guard = { kind: 'kept', ...name, revision }
    let by = ''
    const turn: FolderLock = {
      used,
      changed: null,
      async confirm() {
        const fence = parts.fence()
        by = fencedBy(fence)
        const committed = await parts.commit({ guards: [...fence, held], events: [] })
        if (committed.ok) return
        if (committed.refused.kind === 'kept' && committed.refused.of === 'folder')
          throw new PawlError('file_busy', 'The turn was over.')
        throw new PawlError('lease_lost', 'A file was not written.')
      },
    }
    try {
      return await work(turn)
    } catch (error) {
      // How far it came is not known, unless it was a refusal of ours.
      if (!(error instanceof PawlError)) turn.used = undefined
      throw error
    } finally {
      const free: Row = { v: 1, owner: null, until: 0, used: turn.used ?? null }
      // If it cannot be given back it ends by itself. A writer that lost its lease gives it back too: so without the fence.
      const { tenant, session } = parts.of
      const events = turn.changed
        ? [eventOf({ tenant, session, call: by }, 'file.changed', parts.clock.now(), turn.changed)]
        : []
      await parts.store
        .commit({ guards: [held], documents: [{ ...name, value: JSON.stringify(free) }], events })
        .catch(() => undefined)
    }
  })
}

async function take({ store, clock, commit, fence }: FolderLockParts, name: DocumentName, owner: string) {
  for (let poll = 0; poll < mostPolls; poll++) {
    const kept = await store.document(name)
    const row = kept && rowIn(kept)
    if (row?.owner && row.until > clock.now()) {
      const letGo = clock.hold()
      await new Promise<void>((resolve) => void clock.timer(pollMs, resolve))
      letGo()
      continue
    }
    const revision = kept?.revision ?? 0
    const mine: Row = { v: 1, owner, until: clock.now() + turnMs, used: null }
    const committed = await commit({
      guards: [...fence(), { kind: 'kept', ...name, revision }],
      documents: [{ ...name, value: JSON.stringify(mine) }],
      events: [],
    })
    // Nobody gave it back: its owner died at work.
    if (committed.ok) return { revision: revision + 1, used: row?.owner === null ? (row.used ?? undefined) : undefined }
    if (committed.refused.kind !== 'kept' || committed.refused.of !== name.of)
      throw new PawlError('lease_lost', 'A file was not written.')
  }
  throw new PawlError('file_busy', 'Another process is at work in the folder.')
}

function rowIn({ value }: StoredDocument): Row {
  const row = JSON.parse(value) as Row
  if (row.v !== 1) throw new PawlError('store_newer', `The turn of a folder has the form ${JSON.stringify(row.v)}.`)
  return row
}
