// Opens the files of a session: in the store, or in a folder if one is configured. Runtime files are always in the
// store.

import { option, type OptionTable } from '../../core/check-options.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, Committed, Guard, Store } from '../../store/store.ts'
import { DatabaseFiles } from './database-files.ts'
import { FolderFiles } from './folder-files.ts'
import { type FileQuotas, fileQuotaOptions, fileQuotas } from './quotas.ts'
import type { SessionFiles } from '../../core/session-files-interface.ts'
import type { Scope } from '../../core/scope.ts'

export interface FilesOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly of: Scope
  /** An existing folder to use as the root instead of the store. */
  readonly folder?: string
  readonly quotas?: Partial<FileQuotas>
  /** Default: `store.commit`. */
  readonly commit?: (change: Change) => Promise<Committed>
  /**
   * Guards of every write: a writing body still holds the lease of its call. If rejected, the write throws lease_lost.
   */
  readonly fence?: () => readonly Guard[]
}

export function openFiles({ store, clock, ids, of, folder, quotas, commit, fence }: FilesOptions): SessionFiles {
  const parts = {
    store,
    clock,
    ids,
    of,
    quotas: fileQuotas(quotas),
    commit: commit ?? ((change: Change) => store.commit(change)),
    fence: fence ?? (() => []),
  }
  const own = new DatabaseFiles(parts)
  return folder === undefined ? own : new FolderFiles({ ...parts, folder, own })
}

/** Where the files of sessions are, and their quotas. */
export interface FilesSettings extends Partial<FileQuotas> {
  /** Returns an existing folder for the files of a session; undefined: use the store. Called in every process. */
  readonly folder?: (of: Scope) => string | undefined
}

export type SessionFilesFactory = (of: Scope, fence?: () => readonly Guard[]) => SessionFiles

export const filesOption = option.nested({
  ...fileQuotaOptions,
  folder: option.func,
} satisfies OptionTable<FilesSettings>)

/** A factory for session files with the settings of the runtime. */
export function openSessionFiles(
  { folder, ...quotas }: FilesSettings,
  parts: Pick<FilesOptions, 'store' | 'clock' | 'ids'>,
): SessionFilesFactory {
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
