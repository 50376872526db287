// FILES: the files of one session. In the store, unless a folder is named; what the runtime keeps there for itself is in the store always.

import { PawlError } from '../../core/errors.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, Committed, Guard, Store } from '../../store/store.ts'
import { DatabaseFiles } from './database-files.ts'
import { FolderFiles } from './folder-files.ts'
import { type FileQuotas, quotasOf } from './quotas.ts'
import type { FilesOf } from './file-rows.ts'
import type { SessionFiles } from '../../core/session-files.ts'

export interface FilesOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly of: FilesOf
  /** A folder that exists; then it is the root. */
  readonly folder?: string
  readonly quotas?: Partial<FileQuotas>
  /** The store's own if left out. */
  readonly commit?: (change: Change) => Promise<Committed>
  /** Guards of every write: of a body, that it still holds its call. Refused, the write throws lease_lost. */
  readonly fence?: () => readonly Guard[]
}

export function openFiles({ store, clock, ids, of, folder, quotas, commit, fence }: FilesOptions): SessionFiles {
  const parts = {
    store,
    clock,
    ids,
    of,
    quotas: quotasOf(quotas),
    commit: commit ?? ((change: Change) => store.commit(change)),
    fence: fence ?? (() => []),
  }
  const own = new DatabaseFiles(parts)
  return folder === undefined ? own : new FolderFiles({ ...parts, folder, own })
}

export interface FilesSettings extends Partial<FileQuotas> {
  /** An existing folder for the files of a session; undefined: they are in the store. Asked again in every process. */
  readonly folder?: (of: FilesOf) => string | undefined
}

export type FilesOfSession = (of: FilesOf, fence?: () => readonly Guard[]) => SessionFiles

/** The files of each session, as a runtime was told to keep them. Throws config_invalid. */
export function filesOf(
  { folder, ...quotas }: FilesSettings,
  parts: Pick<FilesOptions, 'store' | 'clock' | 'ids'>,
): FilesOfSession {
  quotasOf(quotas)
  if (folder !== undefined && typeof folder !== 'function')
    throw new PawlError('config_invalid', 'files.folder is a function of { tenant, session } that gives a folder.')
  return ({ tenant, session }, fence) => {
    const of = { tenant, session }
    const own = folder?.(of)
    return openFiles({
      ...parts,
      of,
      quotas,
      ...(own === undefined ? {} : { folder: own }),
      ...(fence ? { fence } : {}),
    })
  }
}
