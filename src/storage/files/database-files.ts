// FILES in the store: each change of them is one Change, so a crash leaves all of it or nothing.
//
// Every change reads the usage row first and is refused unless it still has that revision: so changes of one session's files happen one after
// the other, whoever makes them, what a change has read still is so when it is written, and quotas are exact. What the runtime writes for itself
// (file-rows.ts) stands beside this: nobody else changes it, and it is not counted.

import { isUtf8 } from 'node:buffer'
import { PawlError } from '../../core/errors.ts'
import { frame, type Ids } from '../../core/ids.ts'
import { type EventBodies, eventOf } from '../../store/records/event.ts'
import { fencedBy } from '../../store/fenced-by.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, Committed, Guard, StoredDocument, Store } from '../../store/store.ts'
import { checkExpected } from './expected-version.ts'
import { Glob } from './glob.ts'
import { mutexOf } from '../../core/keyed-mutex.ts'
import { checkMediaType } from './media-type.ts'
import { pageOf } from './paging.ts'
import { aboveOf, type FilePath, filePath, isReserved, isWithin, nameIn, reserved } from './file-path.ts'
import { checkRoom, checkSize, type FileQuotas, type FileUsage } from './quotas.ts'
import {
  below,
  bytesOf,
  fileName,
  type FilesOf,
  hashOf,
  insideKey,
  newDirectory,
  partIn,
  partName,
  pathOfKey,
  rowOf,
  type Rows,
  rowsOfFile,
  rowsOfPartsGone,
  statOf,
  type StoredFile,
  storedIn,
  usageName,
} from './file-rows.ts'
import type {
  FileContent,
  FilePage,
  FileStat,
  PageOptions,
  SessionFiles,
  WriteOptions,
} from '../../core/session-files.ts'

export interface DatabaseParts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly of: FilesOf
  readonly quotas: FileQuotas
  readonly commit: (change: Change) => Promise<Committed>
  /** What must hold for the writer to be who it was: of a body, that it still holds its call. */
  readonly fence: () => readonly Guard[]
}

/** One plan of a change: what it writes, and what it adds to the usage. Without rows nothing is written. */
interface Plan<T> {
  readonly documents: Rows
  readonly files: number
  readonly bytes: number
  readonly answer: T
  /** What the feed tells of it. */
  readonly changed: FileChange | null
}

type FileChange = EventBodies['file.changed']

/** More others than this do not come first one after the other. */
const mostLooks = 64
/** Parts that are read at once. */
const readAhead = 16
const scanPage = 1000
/** Of a search; the runtime's own files are not under a quota. */
const mostScanned = 100_000

export class DatabaseFiles implements SessionFiles {
  readonly #with: DatabaseParts

  constructor(parts: DatabaseParts) {
    this.#with = parts
  }

  async write(
    given: string,
    content: string | Uint8Array,
    { ifHash, mediaType }: WriteOptions = {},
  ): Promise<FileStat> {
    const path = this.#writable(given)
    checkMediaType(mediaType)
    const bytes = bytesOf(content)
    checkSize(bytes.length, this.#with.quotas, path.path)
    return this.#change(async () => {
      const { was, above } = await this.#around(path)
      if (was?.kind === 'directory') throw new PawlError('file_is_directory', `'${path.path}' is one.`)
      checkExpected(path, was, ifHash)
      const { of, ids, clock } = this.#with
      const how = { at: clock.now(), version: ids.next(), was, ...(mediaType === undefined ? {} : { mediaType }) }
      const { documents, file } = rowsOfFile(of, path, bytes, how)
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
    for (let look = 0; look < mostLooks; look++) {
      const stored = await this.#stored(path)
      if (!stored) throw new PawlError('file_not_found', `There is no '${path.path}'.`)
      if (stored.kind === 'directory') throw new PawlError('file_is_directory', `'${path.path}' is one.`)
      const bytes = await this.#bytes(stored)
      // Another version has taken its place meanwhile.
      if (!bytes) continue
      const hash = hashOf(bytes)
      if (stored.hash !== null && stored.hash !== hash)
        throw new PawlError('value_undecodable', `The bytes of '${path.path}' are not those written.`)
      return { stat: { ...statOf(path, stored), hash }, bytes, text: isUtf8(bytes) ? bytes.toString('utf8') : null }
    }
    throw new PawlError('file_busy', `'${path.path}' is replaced faster than it can be read.`)
  }

  async stat(given: string): Promise<FileStat | undefined> {
    const path = filePath(given)
    const stored = await this.#stored(path)
    return stored && statOf(path, stored)
  }

  async list(given = '/', options: PageOptions = {}): Promise<FilePage> {
    const path = filePath(given)
    const { limit, after } = pageOf(options)
    const stored = await this.#stored(path)
    if (!stored) throw new PawlError('file_not_found', `There is no '${path.path}'.`)
    if (stored.kind === 'file') throw new PawlError('file_not_directory', `'${path.path}' is a file.`)
    const found: FileStat[] = []
    for await (const [each, file] of this.#under(insideKey(path.parts), limit + 1, after && nameIn(after))) {
      found.push(statOf(each, file))
      if (found.length > limit) break
    }
    return { entries: found.slice(0, limit), more: found.length > limit }
  }

  async glob(pattern: string, options: PageOptions = {}): Promise<FilePage> {
    const { limit, after } = pageOf(options)
    const glob = new Glob(pattern)
    const found: FileStat[] = []
    let seen = 0
    // What the runtime keeps grows with every task: it is looked through by whoever means it.
    const skip = glob.step(glob.start(), reserved).size === 0 ? below([reserved]) : null
    for await (const [path, file] of this.#under(below(glob.root), scanPage, '', skip)) {
      if (++seen > mostScanned) throw new PawlError('file_pattern_invalid', 'There are too many files to look through.')
      if (glob.meets(path.parts)) found.push(statOf(path, file))
    }
    const rest = found.filter(({ path }) => !after || path > after.path).toSorted((a, b) => (a.path < b.path ? -1 : 1))
    return { entries: rest.slice(0, limit), more: rest.length > limit }
  }

  async makeDirectory(given: string): Promise<FileStat> {
    const path = this.#writable(given, { root: true })
    return this.#change(async () => {
      const now = this.#with.clock.now()
      if (path.parts.length === 0) return unchanged(statOf(path, newDirectory(0)))
      const { was, above } = await this.#around(path)
      if (was?.kind === 'directory') return unchanged(statOf(path, was))
      if (was) throw new PawlError('file_exists', `'${path.path}' is a file.`)
      const made = newDirectory(now)
      const changed = { path: path.path, change: 'made' } as const
      return {
        documents: [...above, rowOf(this.#with.of, path, made)],
        files: above.length + 1,
        bytes: 0,
        answer: statOf(path, made),
        changed,
      }
    })
  }

  async remove(
    given: string,
    { recursive = false, ifHash }: { recursive?: boolean; ifHash?: string } = {},
  ): Promise<boolean> {
    const path = this.#writable(given)
    return this.#change(async () => {
      const was = await this.#stored(path)
      if (!was) return unchanged(false)
      if (ifHash !== undefined && was.kind === 'directory')
        throw new PawlError('file_is_directory', `'${path.path}' is one, and has no hash.`)
      checkExpected(path, was, ifHash)
      const inside = was.kind === 'directory' ? await this.#all(path) : []
      if (inside.length > 0 && !recursive)
        throw new PawlError('directory_not_empty', `There are ${inside.length} in '${path.path}'.`)
      const gone = [[path, was] as const, ...inside]
      return {
        documents: gone.flatMap(([each, file]) => [
          rowOf(this.#with.of, each, null),
          ...rowsOfPartsGone(this.#with.of, file),
        ]),
        files: -gone.length,
        bytes: -gone.reduce((sum, [, { bytes }]) => sum + bytes, 0),
        answer: true,
        changed: { path: path.path, change: 'removed' },
      }
    })
  }

  async move(from: string, to: string, { replace = false }: { replace?: boolean } = {}): Promise<FileStat> {
    const [source, target] = [this.#writable(from), this.#writable(to)]
    if (source.path !== target.path && isWithin(target, source))
      throw new PawlError('file_path_invalid', `'${source.path}' cannot be moved into itself.`)
    return this.#change(async () => {
      const moved = await this.#stored(source)
      if (!moved) throw new PawlError('file_not_found', `There is no '${source.path}'.`)
      if (source.path === target.path) return unchanged(statOf(source, moved))
      const { was, above } = await this.#around(target)
      if (was && !(replace && was.kind === 'file' && moved.kind === 'file'))
        throw new PawlError('file_exists', `There is a '${target.path}'.`)
      const { of, clock } = this.#with
      const updated = { ...moved, updatedAt: clock.now() }
      const all = [[source, updated] as const, ...(moved.kind === 'directory' ? await this.#all(source) : [])]
      // The parts stay where they are: they stand under the version.
      const rows = all.flatMap(([each, file]) => [
        rowOf(of, each, null),
        rowOf(
          of,
          filePath(`/workspace/${[...target.parts, ...each.parts.slice(source.parts.length)].join('/')}`),
          file,
        ),
      ])
      return {
        documents: [...above, ...rows, ...(was ? rowsOfPartsGone(of, was) : [])],
        files: above.length - (was ? 1 : 0),
        bytes: -(was?.bytes ?? 0),
        answer: statOf(target, updated),
        changed: { path: source.path, change: 'moved', to: target.path },
      }
    })
  }

  /** Reads, plans and writes, until nobody came in between. */
  #change<T>(plan: () => Promise<Plan<T>>): Promise<T> {
    const { store, clock, of, quotas, commit, fence } = this.#with
    const name = usageName(of)
    const once = async (): Promise<{ readonly answer: T } | undefined> => {
      const kept = await store.document(name)
      const used: FileUsage = kept ? (JSON.parse(kept.value) as FileUsage) : { files: 0, bytes: 0 }
      let planned: Plan<T>
      try {
        planned = await plan()
        const { files, bytes } = planned
        checkRoom(used, { files: used.files + files, bytes: used.bytes + bytes }, quotas)
      } catch (error) {
        // What was judged may be half of one moment and half of another.
        if ((await store.document(name))?.revision !== kept?.revision) return undefined
        throw error
      }
      if (planned.documents.length === 0) return planned
      const usage = { files: used.files + planned.files, bytes: used.bytes + planned.bytes }
      const guards = [...fence(), { kind: 'kept', ...name, revision: kept?.revision ?? 0 } as const]
      const subject = { tenant: of.tenant, session: of.session, call: fencedBy(guards) }
      const committed = await commit({
        guards,
        documents: [...planned.documents, { ...name, value: JSON.stringify(usage) }],
        events: planned.changed ? [eventOf(subject, 'file.changed', clock.now(), planned.changed)] : [],
      })
      if (committed.ok) return planned
      const { refused } = committed
      if (refused.kind === 'kept' && refused.of === name.of) return undefined
      throw new PawlError('lease_lost', 'A file was not written.')
    }
    return mutexOf(store).run(frame(of.tenant, of.session), async () => {
      for (let look = 0; look < mostLooks; look++) {
        const done = await once()
        if (done) return done.answer
      }
      throw new PawlError('file_busy')
    })
  }

  #writable(given: string, { root = false } = {}): FilePath {
    const path = filePath(given)
    if (isReserved(path)) throw new PawlError('file_readonly', `'${path.path}' is kept by the runtime.`)
    if (path.parts.length === 0 && !root)
      throw new PawlError('file_is_directory', 'The root itself is not written, moved or removed.')
    return path
  }

  /** What stands at a path, and the rows of the directories above it that are missing. */
  async #around(path: FilePath): Promise<{ was: StoredFile | undefined; above: Rows }> {
    const over = aboveOf(path)
    const [was, ...found] = await Promise.all([path, ...over].map((each) => this.#stored(each)))
    const file = over.find((_, at) => found[at]?.kind === 'file')
    if (file) throw new PawlError('file_not_directory', `'${file.path}' is a file.`)
    const now = this.#with.clock.now()
    return {
      was,
      above: over.filter((_, at) => !found[at]).map((each) => rowOf(this.#with.of, each, newDirectory(now))),
    }
  }

  async #stored(path: FilePath): Promise<StoredFile | undefined> {
    if (path.parts.length === 0) return newDirectory(0)
    const kept = await this.#with.store.document(fileName(this.#with.of, path))
    return kept && storedIn(kept)
  }

  /** Undefined if a part is gone. */
  async #bytes({ version, parts, bytes, hash }: StoredFile): Promise<Buffer | undefined> {
    const read: Buffer[] = []
    for (let from = 0; from < parts; from += readAhead) {
      const wanted = Array.from({ length: Math.min(readAhead, parts - from) }, (_, n) =>
        partName(this.#with.of, version, from + n),
      )
      for (const kept of await Promise.all(wanted.map(async (name) => this.#with.store.document(name)))) {
        if (!kept) return undefined
        read.push(partIn(kept.value))
      }
    }
    const all = Buffer.concat(read)
    // A log may have grown since its row was read: what it was then is its beginning.
    return hash === null ? all.subarray(0, bytes) : all
  }

  async #all(path: FilePath): Promise<(readonly [FilePath, StoredFile])[]> {
    const all: (readonly [FilePath, StoredFile])[] = []
    for await (const each of this.#under(below(path.parts), scanPage)) all.push(each)
    return all
  }

  /** What has keys that begin so, page by page. */
  async *#under(
    prefix: string,
    page: number,
    from = '',
    skip: string | null = null,
  ): AsyncGenerator<readonly [FilePath, StoredFile], void> {
    const { store, of } = this.#with
    for (let after = `${prefix}${from}`; ;) {
      const found: readonly StoredDocument[] = await store.documentsOf({ of: 'file', ...of, after, limit: page })
      let past = ''
      for (const kept of found) {
        if (!kept.key.startsWith(prefix)) return
        // '0' comes right after the '/' that it ends with.
        if (skip !== null && kept.key.startsWith(skip)) past = `${skip.slice(0, -1)}0`
        else yield [pathOfKey(kept.key), storedIn(kept)]
      }
      const last = found.at(-1)
      if (!last || found.length < page) return
      after = last.key > past ? last.key : past
    }
  }
}

const unchanged = <T>(answer: T): Plan<T> => ({ documents: [], files: 0, bytes: 0, answer, changed: null })
