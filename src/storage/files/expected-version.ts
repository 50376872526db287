// FILES: whether what stands at a path is what a writer has seen: the condition of every compare-and-set.

import { PawlError } from '../../core/errors.ts'
import type { FilePath } from './file-path.ts'

/** Throws unless what stands there is what the writer has seen. */
export function checkExpected(
  path: FilePath,
  was: { readonly hash: string | null } | undefined,
  ifHash: string | null | undefined,
): void {
  if (ifHash === undefined) return
  if (ifHash === null && was)
    throw new PawlError('file_exists', `There is a '${path.path}'.`, { details: { now: was.hash } })
  if (ifHash !== null && was?.hash !== ifHash)
    throw new PawlError(
      'file_changed',
      was ? `'${path.path}' is ${was.hash ?? 'a directory'} now.` : `There is no '${path.path}' any more.`,
      {
        details: { now: was?.hash ?? null },
      },
    )
}
