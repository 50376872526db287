// Session files in the store: each change is one commit, so a crash leaves all of it or nothing.
//
// Every change reads the usage row first and commits only if that row still has the same revision. So changes of one
// session's files are serialized across processes, everything a change has read is still true when it commits, and
// quotas are exact. Runtime files (file-rows.ts) bypass this: only the runtime writes them, and they are not counted.

import { isUtf8 } from 'node:buffer'
import { PawlError } from '../../core/errors.ts'
import { lengthPrefixed, type Ids } from '../../core/ids.ts'
import { type EventBodies, eventOf } from '../../store/records/event.ts'
import { fencedBy } from '../../store/fence-guards.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, Committed, Guard, StoredDocument, Store } from '../../store/store.ts'
import { checkExpected } from './expected-version.ts'
import { Glob } from './glob.ts'
import { mutexOf } from '../../core/keyed-mutex.ts'
import { checkMediaType } from './media-type.ts'
import { checkMove, checkRemove, checkWrite, type MoveOptions, pageOf, type RemoveOptions } from './file-options.ts'
import {
  fileNotFound,
  ancestorsOf,
  type FilePath,
  filePath,
  isReserved,
  isWithin,
  baseName,
  reservedDirectory,
} from './file-path.ts'
import { checkQuota, checkSize, type FileQuotas, type FileUsage } from './quotas.ts'
import {
  subtreePrefix,
  contentBytes,
  fileName,
  hashOf,
  directoryPrefix,
  newDirectory,
  decodePart,
  pathFromKey,
  fileRow,
  type Rows,
  fileRows,
  removedPartRows,
  statOf,
  type StoredFile,
  parseStoredFile,
} from './file-rows.ts'
import type {
  FileContent,
  FilePage,
  FileStat,
  PageOptions,
  SessionFiles,
  WriteOptions,
} from '../../core/session-files-interface.ts'
import type { Scope } from '../../core/scope.ts'
import { collections } from '../../store/collections.ts'

export interface DatabaseParts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly of: Scope
  readonly quotas: FileQuotas
  readonly commit: (change: Change) => Promise<Committed>
  /** Guards of every commit: a writing body still holds the lease of its call. */
  readonly fence: () => readonly Guard[]
}

/** A planned change: its rows and the difference in usage. Without rows nothing is written. */
interface Plan<T> {
  readonly documents: Rows
  readonly files: number
  readonly bytes: number
  readonly answer: T
  /** The body of the feed event; null: none. */
  readonly changed: FileChange | null
}

type FileChange = EventBodies['file.changed']

/** Attempts before file_busy. */
const maxAttempts = 64
/** Parts read in parallel. */
const readAhead = 16
const scanPage = 1000
/** Limit of a search; needed because runtime files have no quota. */
const maxScanned = 100_000

export class DatabaseFiles implements SessionFiles {
  readonly #parts: DatabaseParts

  constructor(parts: DatabaseParts) {
    this.#parts = parts
  }

  async write(given: string, content: string | Uint8Array, options?: WriteOptions): Promise<FileStat> {
    checkWrite(options)
    const { ifHash, mediaType } = options ?? {}
    const path = this.#writable(given)
    checkMediaType(mediaType)
    const bytes = contentBytes(content)
    checkSize(bytes.length, this.#parts.quotas, path.path)
    return this.#change(async () => {
      const { was, above } = await this.#lookup(path)
      if (was?.kind === 'directory') throw new PawlError('file_is_directory', `The path is '${path.path}'.`)
      checkExpected(path, was, ifHash)
      const { of, ids, clock } = this.#parts
      const how = { at: clock.now(), version: ids.next(), was, ...(mediaType === undefined ? {} : { mediaType }) }
      const { documents, file } = fileRows(of, path, bytes, how)
      return {
        documents: [...above, ...documents],
        files: above.length + (was ? 0 : 1),
        bytes: file.bytes - (was?.bytes ?? 0),
        answer: statOf(path, file),
        changed: { path: path.path, change: 'written' },
      }
    })
  }

  async read(given: string): Promise<FileContent> {
    const path = filePath(given)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const stored = await this.#stored(path)
      if (!stored) throw fileNotFound(path)
      if (stored.kind === 'directory') throw new PawlError('file_is_directory', `The path is '${path.path}'.`)
      const bytes = await this.#bytes(stored)
      // The version was replaced while it was being read: try again.
      if (!bytes) continue
      const hash = hashOf(bytes)
      if (stored.hash !== null && stored.hash !== hash)
        throw new PawlError('value_undecodable', `The bytes of '${path.path}' do not match their hash.`)
      return { stat: { ...statOf(path, stored), hash }, bytes, text: isUtf8(bytes) ? bytes.toString('utf8') : null }
    }
    throw new PawlError('file_busy', `'${path.path}' was replaced during each of ${maxAttempts} reads.`)
  }

  async stat(given: string): Promise<FileStat | undefined> {
    const path = filePath(given)
    const stored = await this.#stored(path)
    return stored && statOf(path, stored)
  }

  async list(given = '/', options: PageOptions = {}): Promise<FilePage> {
    const path = filePath(given)
    const { limit, after } = pageOf(options, 'files.list()')
    const stored = await this.#stored(path)
    if (!stored) throw fileNotFound(path)
    if (stored.kind === 'file') throw new PawlError('file_not_directory', `'${path.path}' is a file.`)
    const found: FileStat[] = []
    for await (const [each, file] of this.#scan(directoryPrefix(path.parts), limit + 1, after && baseName(after))) {
      found.push(statOf(each, file))
      if (found.length > limit) break
    }
    return { entries: found.slice(0, limit), more: found.length > limit }
  }

  async glob(pattern: string, options: PageOptions = {}): Promise<FilePage> {
    const { limit, after } = pageOf(options, 'files.glob()')
    const glob = new Glob(pattern)
    const found: FileStat[] = []
    let seen = 0
    // Runtime files grow with every task, so they are searched only if the pattern can match them.
    const skip = glob.step(glob.start(), reservedDirectory).size === 0 ? subtreePrefix([reservedDirectory]) : null
    for await (const [path, file] of this.#scan(subtreePrefix(glob.root), scanPage, '', skip)) {
      if (++seen > maxScanned)
        throw new PawlError(
          'file_pattern_invalid',
          `The search visits more than ${maxScanned} files. Use a narrower pattern.`,
        )
      if (glob.matches(path.parts)) found.push(statOf(path, file))
    }
    const rest = found.filter(({ path }) => !after || path > after.path).toSorted((a, b) => (a.path < b.path ? -1 : 1))
    return { entries: rest.slice(0, limit), more: rest.length > limit }
  }

  async makeDirectory(given: string): Promise<FileStat> {
    const path = this.#writable(given, { root: true })
    return this.#change(async () => {
      const now = this.#parts.clock.now()
      if (path.parts.length === 0) return unchanged(statOf(path, newDirectory(0)))
      const { was, above } = await this.#lookup(path)
      if (was?.kind === 'directory') return unchanged(statOf(path, was))
      if (was) throw new PawlError('file_exists', `'${path.path}' is a file.`)
      const made = newDirectory(now)
      const changed = { path: path.path, change: 'made' } as const
      return {
        documents: [...above, fileRow(this.#parts.of, path, made)],
        files: above.length + 1,
        bytes: 0,
        answer: statOf(path, made),
        changed,
      }
    })
  }

  async remove(given: string, options?: RemoveOptions): Promise<boolean> {
    checkRemove(options)
    const { recursive = false, ifHash } = options ?? {}
    const path = this.#writable(given)
    return this.#change(async () => {
      const was = await this.#stored(path)
      if (!was) return unchanged(false)
      if (ifHash !== undefined && was.kind === 'directory')
        throw new PawlError('file_is_directory', `'${path.path}' is a directory and has no hash; omit \`ifHash\`.`)
      checkExpected(path, was, ifHash)
      const inside = was.kind === 'directory' ? await this.#descendants(path) : []
      if (inside.length > 0 && !recursive)
        throw new PawlError('directory_not_empty', `'${path.path}' has ${inside.length} entries.`)
      const removed = [[path, was] as const, ...inside]
      return {
        documents: removed.flatMap(([each, file]) => [
          fileRow(this.#parts.of, each, null),
          ...removedPartRows(this.#parts.of, file),
        ]),
        files: -removed.length,
        bytes: -removed.reduce((sum, [, { bytes }]) => sum + bytes, 0),
        answer: true,
        changed: { path: path.path, change: 'removed' },
      }
    })
  }

  async move(from: string, to: string, options?: MoveOptions): Promise<FileStat> {
    checkMove(options)
    const { replace = false } = options ?? {}
    const [source, target] = [this.#writable(from), this.#writable(to)]
    if (source.path !== target.path && isWithin(target, source))
      throw new PawlError('file_path_invalid', `'${source.path}' cannot be moved into itself.`)
    return this.#change(async () => {
      const sourceFile = await this.#stored(source)
      if (!sourceFile) throw fileNotFound(source)
      if (source.path === target.path) return unchanged(statOf(source, sourceFile))
      const { was, above } = await this.#lookup(target)
      if (was && !(replace && was.kind === 'file' && sourceFile.kind === 'file'))
        throw new PawlError('file_exists', `'${target.path}' already exists.`)
      const { of, clock } = this.#parts
      const updated = { ...sourceFile, updatedAt: clock.now() }
      const all = [
        [source, updated] as const,
        ...(sourceFile.kind === 'directory' ? await this.#descendants(source) : []),
      ]
      // Parts are keyed by version, not by path, so they need not move.
      const rows = all.flatMap(([each, file]) => [
        fileRow(of, each, null),
        fileRow(
          of,
          filePath(`/workspace/${[...target.parts, ...each.parts.slice(source.parts.length)].join('/')}`),
          file,
        ),
      ])
      return {
        documents: [...above, ...rows, ...(was ? removedPartRows(of, was) : [])],
        files: above.length - (was ? 1 : 0),
        bytes: -(was?.bytes ?? 0),
        answer: statOf(target, updated),
        changed: { path: source.path, change: 'moved', to: target.path },
      }
    })
  }

  /** Reads, plans and commits; repeats if another writer changed the files in between. */
  #change<T>(plan: () => Promise<Plan<T>>): Promise<T> {
    const { store, clock, of, quotas, commit, fence } = this.#parts
    const name = collections.fileUsage.name(of)
    const once = async (): Promise<{ readonly answer: T } | undefined> => {
      const stored = await store.document(name)
      const used: FileUsage = stored ? (collections.fileUsage.parse(stored.value) as FileUsage) : { files: 0, bytes: 0 }
      let planned: Plan<T>
      try {
        planned = await plan()
        const { files, bytes } = planned
        checkQuota(used, { files: used.files + files, bytes: used.bytes + bytes }, quotas)
      } catch (error) {
        // The error may come from an inconsistent read across a concurrent change: then plan again.
        if ((await store.document(name))?.revision !== stored?.revision) return undefined
        throw error
      }
      if (planned.documents.length === 0) return planned
      const usage = { files: used.files + planned.files, bytes: used.bytes + planned.bytes }
      const guards = [...fence(), { kind: 'kept', ...name, revision: stored?.revision ?? 0 } as const]
      const subject = { tenant: of.tenant, session: of.session, call: fencedBy(guards) }
      const committed = await commit({
        guards,
        documents: [...planned.documents, { ...name, value: JSON.stringify(usage) }],
        events: planned.changed ? [eventOf(subject, 'file.changed', clock.now(), planned.changed)] : [],
      })
      if (committed.ok) return planned
      const { refused } = committed
      if (refused.kind === 'kept' && refused.of === name.of) return undefined
      throw new PawlError('lease_lost', 'The file was not written.')
    }
    return mutexOf(store).run(lengthPrefixed(of.tenant, of.session), async () => {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const done = await once()
        if (done) return done.answer
      }
      throw new PawlError('file_busy')
    })
  }

  #writable(given: string, { root = false } = {}): FilePath {
    const path = filePath(given)
    if (isReserved(path)) throw new PawlError('file_readonly', `'${path.path}' belongs to the runtime.`)
    if (path.parts.length === 0 && !root)
      throw new PawlError('file_is_directory', 'The root directory cannot be written, moved or removed.')
    return path
  }

  /** The current file at a path, and rows for its missing parent directories. */
  async #lookup(path: FilePath): Promise<{ was: StoredFile | undefined; above: Rows }> {
    const over = ancestorsOf(path)
    const [was, ...found] = await Promise.all([path, ...over].map((each) => this.#stored(each)))
    const file = over.find((_, at) => found[at]?.kind === 'file')
    if (file) throw new PawlError('file_not_directory', `'${file.path}' is a file.`)
    const now = this.#parts.clock.now()
    return {
      was,
      above: over.filter((_, at) => !found[at]).map((each) => fileRow(this.#parts.of, each, newDirectory(now))),
    }
  }

  async #stored(path: FilePath): Promise<StoredFile | undefined> {
    if (path.parts.length === 0) return newDirectory(0)
    const stored = await this.#parts.store.document(fileName(this.#parts.of, path))
    return stored && parseStoredFile(stored)
  }

  /** Undefined if a part is missing: the version was replaced. */
  async #bytes({ version, parts, bytes, hash }: StoredFile): Promise<Buffer | undefined> {
    const read: Buffer[] = []
    for (let from = 0; from < parts; from += readAhead) {
      const wanted = Array.from({ length: Math.min(readAhead, parts - from) }, (_, n) =>
        collections.filePart.name(this.#parts.of, version, from + n),
      )
      for (const stored of await Promise.all(wanted.map(async (name) => this.#parts.store.document(name)))) {
        if (!stored) return undefined
        read.push(decodePart(stored.value))
      }
    }
    const all = Buffer.concat(read)
    // A log may have grown since its row was read: its content at that time is a prefix.
    return hash === null ? all.subarray(0, bytes) : all
  }

  async #descendants(path: FilePath): Promise<(readonly [FilePath, StoredFile])[]> {
    const all: (readonly [FilePath, StoredFile])[] = []
    for await (const each of this.#scan(subtreePrefix(path.parts), scanPage)) all.push(each)
    return all
  }

  /** Files whose keys begin with the prefix, page by page. `skip`: a key prefix to leave out. */
  async *#scan(
    prefix: string,
    page: number,
    from = '',
    skip: string | null = null,
  ): AsyncGenerator<readonly [FilePath, StoredFile], void> {
    const { store, of } = this.#parts
    for (let after = `${prefix}${from}`; ;) {
      const found: readonly StoredDocument[] = await store.documentsOf({
        of: collections.file.of,
        ...of,
        after,
        limit: page,
      })
      let past = ''
      for (const stored of found) {
        if (!stored.key.startsWith(prefix)) return
        // '0' follows '/' in byte order, so this key is just past everything with the skipped prefix.
        if (skip !== null && stored.key.startsWith(skip)) past = `${skip.slice(0, -1)}0`
        else yield [pathFromKey(stored.key), parseStoredFile(stored)]
      }
      const last = found.at(-1)
      if (!last || found.length < page) return
      after = last.key > past ? last.key : past
    }
  }
}

const unchanged = <T>(answer: T): Plan<T> => ({ documents: [], files: 0, bytes: 0, answer, changed: null })
