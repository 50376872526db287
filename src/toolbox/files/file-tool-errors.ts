// Error texts of the file tools: a sentence the model can act on, with a stable code. Errors that neither the arguments
// nor the files caused (a lost lease, an unavailable store) are rethrown for the runtime to handle.

import { createHash } from 'node:crypto'
import { PawlError } from '../../core/errors.ts'
import type { FileStat } from '../../core/session-files-interface.ts'
import { fail, type FailureClass, retry, type ToolFailure } from '../../core/outcome.ts'
import { text } from '../tool-schema-fields.ts'

export const pathField = text(
  'A path in the workspace: notes/today.md, /notes/today.md and /workspace/notes/today.md are the same file',
  {
    minLength: 1,
  },
)

/** By error code: the failure class and the message for the model; without one, the message of the error itself. */
const fileErrors: Readonly<
  Record<string, { readonly class: FailureClass; readonly message?: (path: string) => string }>
> = {
  file_path_invalid: { class: 'invalid_request' },
  file_pattern_invalid: { class: 'invalid_request' },
  file_not_found: { class: 'execution', message: (path) => `File not found: ${path}` },
  file_is_directory: {
    class: 'execution',
    message: (path) => `Path '${path}' is a directory, not a file. Use list_directory instead.`,
  },
  file_not_directory: { class: 'execution' },
  file_exists: { class: 'execution' },
  file_changed: { class: 'execution' },
  file_readonly: {
    class: 'permission_denied',
    message: (path) => `'${path}' is kept by the runtime and cannot be changed.`,
  },
  file_not_plain: { class: 'permission_denied' },
  directory_not_empty: {
    class: 'execution',
    message: (path) =>
      `Directory '${path}' is not empty. Give recursive: true to delete it with all that is in it. Nothing was deleted.`,
  },
  file_too_large: {
    class: 'resource_limit',
    message: (path) => `'${path}' is larger than a file of the session may be.`,
  },
  files_full: { class: 'resource_limit' },
}

/** Runs file work and converts its errors to messages for the model. */
export async function withFileErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toFileError(error, path) ?? error
  }
}

export function toFileError(error: unknown, path: string): ToolFailure | undefined {
  if (!(error instanceof PawlError)) return undefined
  const { code, message } = error
  // Nothing was changed, so the attempt may be retried.
  if (code === 'file_busy')
    return retry({ message: `Others keep changing '${displayPath(path)}'. Try again.`, code, after: 100 })
  const known = Object.hasOwn(fileErrors, code) ? fileErrors[code] : undefined
  return known && fail(known.message?.(displayPath(path)) ?? message, { code, class: known.class })
}

/**
 * After the first attempt: if the file is not the one found at first, another writer changed it, so it is left alone.
 */
export function rejectForeignChange(
  path: string,
  now: FileStat,
  first: string | null,
  { attempt }: { readonly attempt: number },
): void {
  if (attempt === 1 || now.hash === null || now.hash === first) return
  throw fail(
    `File '${displayPath(path)}' was changed by others while this call was interrupted; it is left as it is. Look at it before you try again.`,
    { code: 'file_changed' },
  )
}

/** The given path for use in a message: control characters replaced, a long path shortened in the middle. */
export const displayPath = (path: string): string => {
  const plain = path.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
  return plain.length <= 400 ? plain : `${plain.slice(0, 100).toWellFormed()}…${plain.slice(-299).toWellFormed()}`
}

/** The last segment of a path, for narrations. */
export const baseName = ({ path }: { readonly path?: string }): string | undefined =>
  typeof path === 'string' ? (path.split('/').findLast((name) => name !== '') ?? '/') : undefined

/** True for content that a model can read as text. */
export const isText = (text: string | null): text is string => text !== null && !text.includes('\0')

export const hashOf = (bytes: string | Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`
