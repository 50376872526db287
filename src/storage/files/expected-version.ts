// The condition of a compare-and-set on a file: the current version is the one that the writer has seen.

import { PawlError } from '../../core/errors.ts'
import type { FilePath } from './file-path.ts'

/** `ifHash`: the expected hash; null: the file must not exist; undefined: no condition. */
export function checkExpected(
  path: FilePath,
  was: { readonly hash: string | null } | undefined,
  ifHash: string | null | undefined,
): void {
  if (ifHash === undefined) return
  if (ifHash === null && was)
    throw new PawlError('file_exists', `'${path.path}' already exists.`, { details: { now: was.hash } })
  if (ifHash !== null && was?.hash !== ifHash)
    throw new PawlError(
      'file_changed',
      was ? `'${path.path}' is now ${was.hash ?? 'a directory'}.` : `'${path.path}' no longer exists.`,
      {
        details: { now: was?.hash ?? null },
      },
    )
}
