// An append-only text file, such as the output of a task. An append rewrites only the last part, which still begins
// with its old text. So the cost is proportional to the appended text, and a reader with an older metadata row still
// reads correctly.

import type { Scope } from '../../core/scope.ts'
import type { Store } from '../../store/store.ts'
import { filePath } from './file-path.ts'
import {
  splitUtf8,
  fileName,
  type NewFile,
  runtimePath,
  decodePart,
  fileRow,
  type Rows,
  parentRows,
  fileRows,
  type StoredFile,
  parseStoredFile,
  encodeTextPart,
} from './file-rows.ts'
import { collections } from '../../store/collections.ts'

/** The state needed to append to a log. */
export interface GrowingLog {
  readonly path: string
  readonly file: StoredFile
  /** The text of the last part. */
  readonly tail: string
}

/** The rows of a new, empty runtime log. */
export function newLogRows(of: Scope, given: string, options: NewFile): { documents: Rows; log: GrowingLog } {
  const path = runtimePath(given)
  const { documents, file } = fileRows(of, path, '', options)
  const growing = { ...file, hash: null }
  const rows = documents.map((row) => (row.of === 'file' ? fileRow(of, path, growing) : row))
  return {
    documents: [...parentRows(of, path, options.at), ...rows],
    log: { path: path.path, file: growing, tail: '' },
  }
}

/** The rows that append text to a runtime log. */
export function appendRows(of: Scope, log: GrowingLog, more: string, at: number): { documents: Rows; log: GrowingLog } {
  const path = runtimePath(log.path)
  const text = Buffer.from(log.tail + more.toWellFormed())
  const grown = text.length - Buffer.byteLength(log.tail)
  if (grown === 0) return { documents: [], log }
  const parts = splitUtf8(text).map(([from, to]) => text.toString('utf8', from, to))
  const first = log.tail === '' ? log.file.parts : log.file.parts - 1
  const file = { ...log.file, hash: null, parts: first + parts.length, bytes: log.file.bytes + grown, updatedAt: at }
  const written = parts.map((part, n) => ({
    ...collections.filePart.name(of, file.version, first + n),
    value: encodeTextPart(part),
  }))
  return { documents: [fileRow(of, path, file), ...written], log: { path: path.path, file, tail: parts.at(-1) ?? '' } }
}

/**
 * Reads the state of a log that another worker may have started. Call it after acquiring the lease of the call: from
 * then on the writes of the other worker are rejected, and the log cannot change.
 */
export async function readGrowingLog(
  store: Pick<Store, 'document'>,
  of: Scope,
  given: string,
): Promise<GrowingLog | undefined> {
  const path = filePath(given)
  const stored = await store.document(fileName(of, path))
  if (!stored) return undefined
  const file = parseStoredFile(stored)
  const last =
    file.parts > 0 ? await store.document(collections.filePart.name(of, file.version, file.parts - 1)) : undefined
  return { path: path.path, file, tail: last ? decodePart(last.value).toString('utf8') : '' }
}
