// FILES: the rows of a file in the store, as pure functions: whoever writes them puts them into a change of its own. The task runner writes a
// log and a result in its fenced change this way.
//
// A file is one row that says what it is, and its bytes in parts under the id of its version. A new version has new parts, and takes the old
// ones away in the same change; so a reader that finds a part missing knows that the version was replaced under it.

import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { PawlError } from '../../core/errors.ts'
import type { Change, StoredDocument, DocumentName, Store } from '../../store/store.ts'
import { mediaTypeOf } from './media-type.ts'
import { aboveOf, type FilePath, filePath, isReserved, nameIn, parentOf, pathOf } from './file-path.ts'
import type { FileStat } from '../../core/session-files.ts'

/** Whose files. */
export interface FilesOf {
  readonly tenant: string
  readonly session: string
}

export type Rows = NonNullable<Change['documents']>

/** What the row of a file or directory says. */
export interface StoredFile {
  readonly v: 1
  readonly kind: 'file' | 'directory'
  /** Which parts; '' for a directory. */
  readonly version: string
  readonly parts: number
  readonly bytes: number
  /** Null for a directory, and for a log: nobody reads all of it to add a line. */
  readonly hash: string | null
  readonly mediaType: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

const partBytes = 65_536
/** As base64 it has the length of a part. */
const rawPartBytes = 49_152

/**
 * What is in one directory stands together, and so does all below it: the key has two strokes before the name itself. A row of
 * /a/b/c is found under /a/b//c; /a has all keys that begin with /a/, and in itself those that begin with /a//.
 */
export const fileName = (of: FilesOf, { parts }: FilePath): DocumentName => ({
  of: 'file',
  tenant: of.tenant,
  session: of.session,
  key: `${insideKey(parts.slice(0, -1))}${parts.at(-1)}`,
})
export const insideKey = (parts: readonly string[]): string => `${below(parts)}/`
/** What all keys below a directory begin with. */
export const below = (parts: readonly string[]): string => (parts.length === 0 ? '/' : `/${parts.join('/')}/`)
export const pathOfKey = (key: string): FilePath => pathOf(key.split('/').filter((name) => name !== ''))

export const partName = (of: FilesOf, version: string, part: number): DocumentName => ({
  of: 'file-part',
  tenant: of.tenant,
  session: of.session,
  key: `${version}:${String(part).padStart(6, '0')}`,
})
export const usageName = ({ tenant, session }: FilesOf): DocumentName => ({
  of: 'file-usage',
  tenant,
  session,
  key: '',
})

export const hashOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

export function storedIn({ value }: StoredDocument): StoredFile {
  const stored = JSON.parse(value) as StoredFile
  if (stored.v !== 1) throw new PawlError('store_newer', `A file has the form ${JSON.stringify(stored.v)}.`)
  return stored
}

export const statOf = (
  path: FilePath,
  { kind, bytes, hash, mediaType, createdAt, updatedAt }: StoredFile,
): FileStat => ({
  path: path.path,
  name: nameIn(path),
  kind,
  bytes,
  hash,
  mediaType,
  createdAt,
  updatedAt,
  readonly: isReserved(path),
})

export const rowOf = (of: FilesOf, path: FilePath, stored: StoredFile | null): Rows[number] => ({
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
  /** Never used before. */
  readonly version: string
  readonly mediaType?: string
  /** What stands there now, and goes. */
  readonly was?: StoredFile | undefined
}

/** A whole file, without the directories above it. */
export function rowsOfFile(
  of: FilesOf,
  path: FilePath,
  content: string | Uint8Array,
  how: NewFile,
): { documents: Rows; file: StoredFile } {
  const bytes = bytesOf(content)
  const parts = partsOf(bytes)
  const file: StoredFile = {
    v: 1,
    kind: 'file',
    version: how.version,
    parts: parts.length,
    bytes: bytes.length,
    hash: hashOf(bytes),
    mediaType: how.mediaType ?? mediaTypeOf(nameIn(path)),
    createdAt: how.was?.createdAt ?? how.at,
    updatedAt: how.at,
  }
  const written = parts.map((value, part) => ({ ...partName(of, how.version, part), value }))
  return { documents: [rowOf(of, path, file), ...written, ...(how.was ? rowsOfPartsGone(of, how.was) : [])], file }
}

/** For the runtime: a whole file and the directories above it, in a place where only the runtime writes. */
export function rowsOfNew(
  of: FilesOf,
  given: string,
  content: string | Uint8Array,
  how: NewFile,
): { documents: Rows; stat: FileStat; file: StoredFile } {
  const path = ownPath(given)
  const { documents, file } = rowsOfFile(of, path, content, how)
  return { documents: [...rowsAbove(of, path, how.at), ...documents], stat: statOf(path, file), file }
}

/** For the runtime: what stands there, if anything does. */
export async function storedAt(
  store: Pick<Store, 'document'>,
  of: FilesOf,
  given: string,
): Promise<StoredFile | undefined> {
  const kept = await store.document(fileName(of, filePath(given)))
  return kept && storedIn(kept)
}

/** For the runtime: a file of its own that is taken away, with the directory that was made for it. */
export const rowsOfGone = (of: FilesOf, given: string, was: StoredFile): Rows => {
  const path = ownPath(given)
  return [rowOf(of, path, null), rowOf(of, parentOf(path), null), ...rowsOfPartsGone(of, was)]
}

export const rowsOfPartsGone = (of: FilesOf, { version, parts }: StoredFile): Rows =>
  Array.from({ length: parts }, (_, part) => ({ ...partName(of, version, part), value: null }))

export const rowsAbove = (of: FilesOf, path: FilePath, at: number): Rows =>
  aboveOf(path).map((above) => rowOf(of, above, newDirectory(at)))

/** Where the runtime keeps its own: others only read there. */
export function ownPath(given: string): FilePath {
  const path = filePath(given)
  if (!isReserved(path) || path.parts.length < 2)
    throw new Error(`The runtime writes its files below /.background, not to ${path.path}.`)
  return path
}

export const bytesOf = (content: string | Uint8Array): Buffer => {
  if (typeof content === 'string') return Buffer.from(content.toWellFormed())
  if (!(content instanceof Uint8Array))
    throw new PawlError('value_invalid', 'The content of a file is a text or a Uint8Array.')
  // Of our own: nobody changes it while it is on its way.
  return Buffer.from(content)
}

/** Text stays text, where a database can hold it: people look into databases, and base64 is a third longer. */
function partsOf(bytes: Buffer): string[] {
  if (isUtf8(bytes)) return cutsOf(bytes).map(([from, to]) => textPart(bytes.toString('utf8', from, to)))
  const parts: string[] = []
  for (let from = 0; from < bytes.length; from += rawPartBytes)
    parts.push(`b${bytes.toString('base64', from, Math.min(bytes.length, from + rawPartBytes))}`)
  return parts
}

/** PostgreSQL has no NUL in texts. */
export const textPart = (text: string): string =>
  text.includes('\0') ? `b${Buffer.from(text).toString('base64')}` : `t${text}`

export const partIn = (value: string): Buffer => Buffer.from(value.slice(1), value.startsWith('b') ? 'base64' : 'utf8')

/** Where text is cut into parts: never inside a character. */
export function cutsOf(text: Buffer): [number, number][] {
  const cuts: [number, number][] = []
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + partBytes)
    while (to < text.length && ((text[to] as number) & 0xc0) === 0x80) to--
    cuts.push([from, to])
    from = to
  }
  return cuts
}
