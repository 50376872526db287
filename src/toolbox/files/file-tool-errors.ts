// What a model reads when a file cannot be had: a sentence it can act on, with a stable code. What is no fault of the arguments or the files (a lost
// lease, a store that does not answer) is not told: it is the runtime's to deal with.

import { createHash } from 'node:crypto'
import { PawlError } from '../../core/errors.ts'
import type { FileStat } from '../../core/session-files.ts'
import { fail, type FailureClass, retry, type ToolFailure } from '../../core/outcome.ts'
import { text } from '../schema-fields.ts'

export const pathField = text(
  'A path in the workspace: notes/today.md, /notes/today.md and /workspace/notes/today.md are the same file',
  {
    minLength: 1,
  },
)

/** By code: how a program is to take it, and the sentence; without one the files' own. */
const sayings: Readonly<Record<string, { readonly class: FailureClass; readonly says?: (path: string) => string }>> = {
  file_path_invalid: { class: 'invalid_request' },
  file_pattern_invalid: { class: 'invalid_request' },
  file_not_found: { class: 'execution', says: (path) => `File not found: ${path}` },
  file_is_directory: {
    class: 'execution',
    says: (path) => `Path '${path}' is a directory, not a file. Use list_directory instead.`,
  },
  file_not_directory: { class: 'execution' },
  file_exists: { class: 'execution' },
  file_changed: { class: 'execution' },
  file_readonly: {
    class: 'permission_denied',
    says: (path) => `'${path}' is kept by the runtime and cannot be changed.`,
  },
  file_not_plain: { class: 'permission_denied' },
  directory_not_empty: {
    class: 'execution',
    says: (path) =>
      `Directory '${path}' is not empty. Give recursive: true to delete it with all that is in it. Nothing was deleted.`,
  },
  file_too_large: { class: 'resource_limit', says: (path) => `'${path}' is larger than a file of the session may be.` },
  files_full: { class: 'resource_limit' },
}

/** Does something with a path, and says what went wrong in words for the model. */
export async function told<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw sayingOf(error, path) ?? error
  }
}

export function sayingOf(error: unknown, path: string): ToolFailure | undefined {
  if (!(error instanceof PawlError)) return undefined
  const { code, message } = error
  // Nothing was done: it may be tried again.
  if (code === 'file_busy')
    return retry({ message: `Others keep changing '${shown(path)}'. Try again.`, code, after: 100 })
  const saying = Object.hasOwn(sayings, code) ? sayings[code] : undefined
  return saying && fail(saying.says?.(shown(path)) ?? message, { code, class: saying.class })
}

/** In an attempt after the first: a file that is not the one that was found at first was put there by somebody else meanwhile, and stays. */
export function keepOthers(
  path: string,
  now: FileStat,
  first: string | null,
  { attempt }: { readonly attempt: number },
): void {
  if (attempt === 1 || now.hash === null || now.hash === first) return
  throw fail(
    `File '${shown(path)}' was changed by others while this call was interrupted; it is left as it is. Look at it before you try again.`,
    { code: 'file_changed' },
  )
}

/** A path as it was given, short and harmless enough to stand in a sentence. Of a long one both ends: the last name is what is meant. */
export const shown = (path: string): string => {
  const plain = path.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
  return plain.length <= 400 ? plain : `${plain.slice(0, 100).toWellFormed()}…${plain.slice(-299).toWellFormed()}`
}

/** The last name of a path, for people who watch. */
export const baseName = ({ path }: { readonly path?: string }): string | undefined =>
  typeof path === 'string' ? (path.split('/').findLast((name) => name !== '') ?? '/') : undefined

/** Bytes that are a text a model can read. */
export const isText = (text: string | null): text is string => text !== null && !text.includes('\0')

export const hashOf = (bytes: string | Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`
