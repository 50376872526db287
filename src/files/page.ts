// FILES: how much of a list is asked for.

import { PawlError } from '../kernel/errors.ts'
import { type FilePath, filePath } from './path.ts'
import type { PageOptions } from '../kernel/files.ts'

export function pageOf({ limit = 200, after }: PageOptions): { readonly limit: number; readonly after: FilePath | undefined } {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1000)
    throw new PawlError('config_invalid', `limit is ${String(limit)}; it must be a whole number from 1 to 1000.`)
  return { limit, after: after === undefined ? undefined : filePath(after) }
}
