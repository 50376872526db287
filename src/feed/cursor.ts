// The text form of a position in the feed. Used by everything that reads events from a cursor.

import { errorTable, PawlError } from '../core/errors.ts'

/**
 * A position in the feed, and the erasure count when its reader started: a reader may have missed events erased since.
 */
export interface Cursor {
  readonly position: number
  readonly erasures: number
}

export const formatCursor = (position: number, erasures: number): string =>
  erasures === 0 ? `p${position}` : `p${position}e${erasures}`

export function parseCursor(cursor: string): Cursor {
  const match = /^p(\d{1,15})(?:e(\d{1,15}))?$/.exec(cursor)
  if (!match)
    throw new PawlError(
      'cursor_invalid',
      `The cursor ${JSON.stringify(cursor)} was not issued by this feed. ${errorTable.cursor_invalid.next}`,
    )
  return { position: Number(match[1]), erasures: Number(match[2] ?? 0) }
}
