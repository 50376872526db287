// Quotas for the files of a session, and the checks against them.

import { option, type OptionTable } from '../../core/check-options.ts'
import { PawlError } from '../../core/errors.ts'

/** Quotas for the files of a session. */
export interface FileQuotas {
  /** Maximum size of one file, in bytes (default 16 MiB). */
  readonly fileBytes: number
  /** Maximum size of all files of a session, in bytes (default 256 MiB). */
  readonly bytes: number
  /** Maximum number of files and directories per session (default 10,000). */
  readonly files: number
}

/** Current usage, without the runtime's own files: those have limits of their own. */
export interface FileUsage {
  readonly files: number
  readonly bytes: number
}

const MiB = 1024 * 1024

const defaults: FileQuotas = { fileBytes: 16 * MiB, bytes: 256 * MiB, files: 10_000 }

export const fileQuotaOptions = {
  fileBytes: option.wholeNumber(1),
  bytes: option.wholeNumber(1),
  files: option.wholeNumber(1),
} satisfies OptionTable<FileQuotas>

/** Fills in the defaults. */
export const fileQuotas = ({
  fileBytes = defaults.fileBytes,
  bytes = defaults.bytes,
  files = defaults.files,
}: Partial<FileQuotas> = {}): FileQuotas => ({ fileBytes, bytes, files })

export function checkSize(bytes: number, quotas: FileQuotas, path: string): void {
  if (bytes > quotas.fileBytes)
    throw new PawlError(
      'file_too_large',
      `'${path}' would have ${bytes} bytes; the quota fileBytes is ${quotas.fileBytes}.`,
      {
        details: { path, bytes, most: quotas.fileBytes },
      },
    )
}

/** Only growth is refused: a session above a lowered quota may still shrink. */
export function checkQuota(was: FileUsage, next: FileUsage, quotas: FileQuotas): void {
  for (const name of ['files', 'bytes'] as const)
    if (next[name] > was[name] && next[name] > quotas[name])
      throw new PawlError(
        'files_full',
        `The quota ${name} is ${quotas[name]}; ${next[name]} would be needed, ${was[name]} are used.`,
        {
          details: { quota: name, most: quotas[name], used: was[name], needed: next[name] },
        },
      )
}
