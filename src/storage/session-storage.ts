// Files, values and secrets of sessions, with the settings of the runtime.

import type { Foundation } from '../engine/foundation.ts'
import { openSessionFiles, type FilesSettings, type SessionFilesFactory } from './files/session-files.ts'
import type { ValueQuotas } from './values/key-value-storage.ts'
import { openValueStorage, type ValueStorage } from './values/open-session-values.ts'

interface StorageOptions {
  readonly files?: FilesSettings
  readonly values?: Partial<ValueQuotas>
}

export interface SessionStorage extends ValueStorage {
  /** With a fence, every write is guarded by it. */
  readonly files: SessionFilesFactory
}

export const openSessionStorage = (
  options: StorageOptions,
  foundation: Pick<Foundation, 'store' | 'clock' | 'ids' | 'knownSecrets'>,
): SessionStorage => ({
  files: openSessionFiles(options.files ?? {}, foundation),
  ...openValueStorage(options.values, foundation),
})
