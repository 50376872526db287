// FILES: a text that grows, such as the output of a task. Its last part is written anew with more text, and what was there stays its
// beginning: so adding costs what is added, and a reader that read the row before has all it needs.

import type { Store } from '../../store/store.ts'
import { filePath } from './file-path.ts'
import {
  cutsOf,
  fileName,
  type FilesOf,
  type NewFile,
  ownPath,
  partIn,
  partName,
  rowOf,
  type Rows,
  rowsAbove,
  rowsOfFile,
  type StoredFile,
  storedIn,
  textPart,
} from './file-rows.ts'

/** A log that grows: what is needed to add to it. */
export interface GrowingLog {
  readonly path: string
  readonly file: StoredFile
  /** The text of the last part. */
  readonly tail: string
}

/** For the runtime: a log without a line yet. */
export function rowsOfLog(of: FilesOf, given: string, how: NewFile): { documents: Rows; log: GrowingLog } {
  const path = ownPath(given)
  const { documents, file } = rowsOfFile(of, path, '', how)
  const growing = { ...file, hash: null }
  const rows = documents.map((row) => (row.of === 'file' ? rowOf(of, path, growing) : row))
  return { documents: [...rowsAbove(of, path, how.at), ...rows], log: { path: path.path, file: growing, tail: '' } }
}

/** For the runtime: more text at the end of a log. Only its last part is written again. */
export function rowsOfAppend(
  of: FilesOf,
  log: GrowingLog,
  more: string,
  at: number,
): { documents: Rows; log: GrowingLog } {
  const path = ownPath(log.path)
  const text = Buffer.from(log.tail + more.toWellFormed())
  const grown = text.length - Buffer.byteLength(log.tail)
  if (grown === 0) return { documents: [], log }
  const parts = cutsOf(text).map(([from, to]) => text.toString('utf8', from, to))
  const first = log.tail === '' ? log.file.parts : log.file.parts - 1
  const file = { ...log.file, hash: null, parts: first + parts.length, bytes: log.file.bytes + grown, updatedAt: at }
  const written = parts.map((part, n) => ({ ...partName(of, file.version, first + n), value: textPart(part) }))
  return { documents: [rowOf(of, path, file), ...written], log: { path: path.path, file, tail: parts.at(-1) ?? '' } }
}

/**
 * What the runtime needs to add to a log that another worker may have begun. Read it once the work is yours: from then on the other's writes are
 * refused, and the log stands still.
 */
export async function growingLog(
  store: Pick<Store, 'document'>,
  of: FilesOf,
  given: string,
): Promise<GrowingLog | undefined> {
  const path = filePath(given)
  const kept = await store.document(fileName(of, path))
  if (!kept) return undefined
  const file = storedIn(kept)
  const last = file.parts > 0 ? await store.document(partName(of, file.version, file.parts - 1)) : undefined
  return { path: path.path, file, tail: last ? partIn(last.value).toString('utf8') : '' }
}
