// The rows of a file in the store, as pure functions: the caller adds them to its own commit. The task runner writes
// logs and results in its fenced commits this way.
//
// A file is one metadata row plus its bytes in parts, keyed by version id. A new version writes new parts and deletes
// the old ones in the same commit, so a reader that finds a part missing knows that the version was replaced.

import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { PawlError } from '../../core/errors.ts'
import type { StoredDocument, DocumentName, Store, DocumentWrite } from '../../store/store.ts'
import { mediaTypeOf } from './media-type.ts'
import { ancestorsOf, type FilePath, filePath, isReserved, baseName, parentOf, pathOf } from './file-path.ts'
import type { FileStat } from '../../core/session-files-interface.ts'
import type { Scope } from '../../core/scope.ts'
import { collections } from '../../store/collections.ts'

export type Rows = readonly DocumentWrite[]

/** The metadata row of a file or directory. */
export interface StoredFile {
  readonly v: 1
  readonly kind: 'file' | 'directory'
  /** Version id, the key prefix of its parts; '' for a directory. */
  readonly version: string
  readonly parts: number
  readonly bytes: number
  /** Null for a directory, and for a log, where hashing would have to read all of it for every append. */
  readonly hash: string | null
  readonly mediaType: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

const partBytes = 65_536
/** The number of bytes whose base64 form fills a part. */
const rawPartBytes = 49_152

/**
 * Keys have two slashes before the last name: /a/b/c is stored as /a/b//c. So the entries of directory /a are the key
 * range with prefix /a//, and everything below /a is the range with prefix /a/.
 */
export const fileName = (of: Scope, { parts }: FilePath): DocumentName =>
  collections.file.name(of, `${directoryPrefix(parts.slice(0, -1))}${parts.at(-1)}`)
export const directoryPrefix = (parts: readonly string[]): string => `${subtreePrefix(parts)}/`
/** The key prefix of everything below a directory. */
export const subtreePrefix = (parts: readonly string[]): string => (parts.length === 0 ? '/' : `/${parts.join('/')}/`)
export const pathFromKey = (key: string): FilePath => pathOf(key.split('/').filter((name) => name !== ''))

export const hashOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

export function parseStoredFile({ value }: StoredDocument): StoredFile {
  const stored = collections.file.parse(value) as StoredFile
  if (stored.v !== 1)
    throw new PawlError('store_newer', `The row of a file has the format version ${JSON.stringify(stored.v)}.`)
  return stored
}

export const statOf = (
  path: FilePath,
  { kind, bytes, hash, mediaType, createdAt, updatedAt }: StoredFile,
): FileStat => ({
  path: path.path,
  name: baseName(path),
  kind,
  bytes,
  hash,
  mediaType,
  createdAt,
  updatedAt,
  readonly: isReserved(path),
})

export const fileRow = (of: Scope, path: FilePath, stored: StoredFile | null): Rows[number] => ({
  ...fileName(of, path),
  value: stored && JSON.stringify(stored),
})

export const newDirectory = (at: number): StoredFile => ({
  v: 1,
  kind: 'directory',
  version: '',
  parts: 0,
  bytes: 0,
  hash: null,
  mediaType: null,
  createdAt: at,
  updatedAt: at,
})

export interface NewFile {
  readonly at: number
  /** A new unique id. */
  readonly version: string
  readonly mediaType?: string
  /** The current version, whose parts are deleted. */
  readonly was?: StoredFile | undefined
}

/** The rows of a complete file, without its parent directories. */
export function fileRows(
  of: Scope,
  path: FilePath,
  content: string | Uint8Array,
  options: NewFile,
): { documents: Rows; file: StoredFile } {
  const bytes = contentBytes(content)
  const parts = encodeParts(bytes)
  const file: StoredFile = {
    v: 1,
    kind: 'file',
    version: options.version,
    parts: parts.length,
    bytes: bytes.length,
    hash: hashOf(bytes),
    mediaType: options.mediaType ?? mediaTypeOf(baseName(path)),
    createdAt: options.was?.createdAt ?? options.at,
    updatedAt: options.at,
  }
  const written = parts.map((value, part) => ({ ...collections.filePart.name(of, options.version, part), value }))
  const removed = options.was ? removedPartRows(of, options.was) : []
  return { documents: [fileRow(of, path, file), ...written, ...removed], file }
}

/** The rows of a runtime file (below /.background) and its parent directories. */
export function newFileRows(
  of: Scope,
  given: string,
  content: string | Uint8Array,
  options: NewFile,
): { documents: Rows; stat: FileStat; file: StoredFile } {
  const path = runtimePath(given)
  const { documents, file } = fileRows(of, path, content, options)
  return { documents: [...parentRows(of, path, options.at), ...documents], stat: statOf(path, file), file }
}

/** The current metadata row of a runtime file. */
export async function readStoredFile(
  store: Pick<Store, 'document'>,
  of: Scope,
  given: string,
): Promise<StoredFile | undefined> {
  const stored = await store.document(fileName(of, filePath(given)))
  return stored && parseStoredFile(stored)
}

/** Deletes a runtime file and the directory that was created for it. */
export const removedFileRows = (of: Scope, given: string, was: StoredFile): Rows => {
  const path = runtimePath(given)
  return [fileRow(of, path, null), fileRow(of, parentOf(path), null), ...removedPartRows(of, was)]
}

export const removedPartRows = (of: Scope, { version, parts }: StoredFile): Rows =>
  Array.from({ length: parts }, (_, part) => ({ ...collections.filePart.name(of, version, part), value: null }))

export const parentRows = (of: Scope, path: FilePath, at: number): Rows =>
  ancestorsOf(path).map((above) => fileRow(of, above, newDirectory(at)))

/** Parses the path of a runtime file; sessions can only read those. */
export function runtimePath(given: string): FilePath {
  const path = filePath(given)
  if (!isReserved(path) || path.parts.length < 2)
    throw new Error(`Runtime files must be below /.background; the path is ${path.path}.`)
  return path
}

export const contentBytes = (content: string | Uint8Array): Buffer => {
  if (typeof content === 'string') return Buffer.from(content.toWellFormed())
  if (!(content instanceof Uint8Array))
    throw new PawlError('value_invalid', 'The content of a file must be a string or a Uint8Array.')
  // Copied, so that the caller cannot change it while it is being written.
  return Buffer.from(content)
}

/** Text is stored as text, which is readable in the database and shorter than base64. */
function encodeParts(bytes: Buffer): string[] {
  if (isUtf8(bytes)) return splitUtf8(bytes).map(([from, to]) => encodeTextPart(bytes.toString('utf8', from, to)))
  const parts: string[] = []
  for (let from = 0; from < bytes.length; from += rawPartBytes)
    parts.push(`b${bytes.toString('base64', from, Math.min(bytes.length, from + rawPartBytes))}`)
  return parts
}

/** Base64 if the text contains NUL, which PostgreSQL cannot store. */
export const encodeTextPart = (text: string): string =>
  text.includes('\0') ? `b${Buffer.from(text).toString('base64')}` : `t${text}`

export const decodePart = (value: string): Buffer =>
  Buffer.from(value.slice(1), value.startsWith('b') ? 'base64' : 'utf8')

/** Part boundaries of UTF-8 text, never inside a character. */
export function splitUtf8(text: Buffer): [number, number][] {
  const cuts: [number, number][] = []
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + partBytes)
    while (to < text.length && ((text[to] as number) & 0xc0) === 0x80) to--
    cuts.push([from, to])
    from = to
  }
  return cuts
}
