// FILES: how much a session may keep in files, and the answer when it is too much.

import { PawlError } from '../../core/errors.ts'

export interface FileQuotas {
  /** Of one file. */
  readonly fileBytes: number
  /** Of all files together. */
  readonly bytes: number
  /** Files and directories together: a directory costs as much as a file that is empty. */
  readonly files: number
}

/** What there is. What the runtime writes for itself is not counted: it has bounds of its own. */
export interface FileUsage {
  readonly files: number
  readonly bytes: number
}

const MiB = 1024 * 1024

const defaults: FileQuotas = { fileBytes: 16 * MiB, bytes: 256 * MiB, files: 10_000 }

/** Those given, the rest as always. Throws config_invalid. */
export function quotasOf(given: Partial<FileQuotas> = {}): FileQuotas {
  for (const [name, most] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name))
      throw new PawlError('config_invalid', `files.${name} does not exist; there are fileBytes, bytes, files.`)
    if (most !== undefined && !(Number.isSafeInteger(most) && most > 0))
      throw new PawlError('config_invalid', `files.${name} is ${String(most)}; it must be a whole number above zero.`)
  }
  const { fileBytes = defaults.fileBytes, bytes = defaults.bytes, files = defaults.files } = given
  return { fileBytes, bytes, files }
}

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

/** Only what grows can be too much: a session above a quota that was lowered may still get smaller. */
export function checkRoom(was: FileUsage, next: FileUsage, quotas: FileQuotas): void {
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
