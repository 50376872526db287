// FILES in a real folder, with the same promises: no path, link, race, device or case leads outside of it (open-directory.ts), a write is there whole
// or not at all (a new file beside the old one, synced, then renamed), and of Pawl's writers one is at work at a time (folder-lock.ts).
// Links, devices, pipes, sockets and files with a second name are no files of the session. What the runtime keeps for itself is in the store.

import { isUtf8 } from 'node:buffer'
import type { Stats } from 'node:fs'
import { PawlError } from '../../core/errors.ts'
import { type Directory, isPlain, mostEntries } from './open-directory.ts'
import { checkExpected } from './expected-version.ts'
import { withFolderLock, type FolderLock, type FolderLockParts } from './folder-lock.ts'
import { add, FolderWalk, within } from './folder-walk.ts'
import { Glob, type Places } from './glob.ts'
import { checkMediaType, mediaTypeOf } from './media-type.ts'
import { FirstByPath, pageOf } from './paging.ts'
import { type FilePath, filePath, isReserved, isWithin, nameIn, pathOf, tooLongIn, unfinished } from './file-path.ts'
import { checkRoom, checkSize, type FileQuotas, type FileUsage } from './quotas.ts'
import { bytesOf, hashOf } from './file-rows.ts'
import type {
  FileContent,
  FilePage,
  FileStat,
  PageOptions,
  SessionFiles,
  WriteOptions,
} from '../../core/session-files.ts'

export interface FolderParts extends FolderLockParts {
  readonly folder: string
  readonly quotas: FileQuotas
  /** The files of the session in the store: what the runtime keeps there is read as if it were in the folder. */
  readonly own: SessionFiles
}

export class FolderFiles implements SessionFiles {
  readonly #with: FolderParts
  readonly #walk: FolderWalk

  constructor(parts: FolderParts) {
    this.#with = parts
    this.#walk = new FolderWalk(parts)
  }

  async write(
    given: string,
    content: string | Uint8Array,
    { ifHash, mediaType }: WriteOptions = {},
  ): Promise<FileStat> {
    const path = writable(given)
    checkMediaType(mediaType)
    const bytes = bytesOf(content)
    const { quotas, ids } = this.#with
    checkSize(bytes.length, quotas, path.path)
    return this.#change(async (turn) => {
      const name = nameIn(path)
      const first = await this.#walk.file(path)
      await this.#expect(path, ifHash)
      const missing = await this.#walk.missing(path)
      await this.#room(turn, { files: missing + (first ? 0 : 1), bytes: bytes.length - (first?.size ?? 0) })
      return this.#walk.inside(path, { make: turn }, async (directory) => {
        const temporary = `${unfinished}${ids.next()}`
        try {
          await directory.put(temporary, bytes, first?.mode)
          const was = await this.#walk.file(path)
          await this.#expect(path, ifHash)
          await turn.confirm()
          await directory.rename(temporary, name)
          turn.changed = { path: path.path, change: 'written' }
          add(turn, { files: was ? 0 : 1, bytes: bytes.length - (was?.size ?? 0) })
        } catch (error) {
          await directory.remove(temporary)
          throw error
        }
        await directory.sync()
        const stats = await directory.look(name)
        if (!stats) throw new PawlError('file_busy', `'${path.path}' was taken away as it was written.`)
        return { ...statOf(path, stats), bytes: bytes.length, hash: hashOf(bytes) }
      })
    })
  }

  async read(given: string): Promise<FileContent> {
    const path = filePath(given)
    if (isReserved(path)) return this.#with.own.read(given)
    const read = await this.#walk.clearly(() => this.#walk.read(path))
    if (!read) throw new PawlError('file_not_found', `There is no '${path.path}'.`)
    const { stats, bytes } = read
    const stat = { ...statOf(path, stats), bytes: bytes.length, hash: hashOf(bytes) }
    return { stat, bytes, text: isUtf8(bytes) ? bytes.toString('utf8') : null }
  }

  async stat(given: string): Promise<FileStat | undefined> {
    const path = filePath(given)
    if (isReserved(path)) return this.#with.own.stat(given)
    return this.#walk.clearly(async () => {
      const stats = await this.#walk.find(path)
      if (!stats) return undefined
      const stat = statOf(path, stats)
      if (stat.kind === 'directory' || stat.bytes > this.#with.quotas.fileBytes) return stat
      const bytes = (await this.#walk.read(path))?.bytes
      return bytes && { ...stat, bytes: bytes.length, hash: hashOf(bytes) }
    })
  }

  async list(given = '/', options: PageOptions = {}): Promise<FilePage> {
    const path = filePath(given)
    if (isReserved(path)) return this.#with.own.list(given, options)
    const { limit, after } = pageOf(options)
    const own = path.parts.length === 0 ? await this.#with.own.stat('/.background') : undefined
    const found = await this.#walk.clearly(() =>
      this.#walk.inside(within(path), {}, async (directory) => {
        const entries: FileStat[] = []
        const names = (await directory.names()).filter((name) => !isReserved(pathOf([...path.parts, name])))
        if (own) names.push(own.name)
        const rest = names.filter((name) => !after || inOrder(nameIn(after), name) < 0).toSorted(inOrder)
        for (const name of rest) {
          const stats = await directory.look(name)
          if (own && name === own.name) entries.push(own)
          else if (stats && isPlain(stats)) entries.push(statOf(pathOf([...path.parts, name]), stats))
          if (entries.length > limit) break
        }
        return { entries: entries.slice(0, limit), more: entries.length > limit }
      }),
    )
    if (!found) throw new PawlError('file_not_found', `There is no '${path.path}'.`)
    return found
  }

  async glob(pattern: string, options: PageOptions = {}): Promise<FilePage> {
    const { limit, after } = pageOf(options)
    const glob = new Glob(pattern)
    const found = new FirstByPath(limit + 1, after?.path)
    let seen = 0
    const search = async (directory: Directory, parts: readonly string[], places: Places): Promise<void> => {
      for (const name of await directory.names()) {
        const path = pathOf([...parts, name])
        if (found.excludes(path.path)) continue
        if (++seen > mostEntries)
          throw new PawlError('file_pattern_invalid', 'There are too many files to look through.')
        const next = glob.step(places, name)
        if (next.size === 0 || isReserved(path)) continue
        const stats = await directory.look(name)
        if (!stats || !isPlain(stats)) continue
        if (glob.met(next)) found.add(statOf(path, stats))
        const inner =
          stats.isDirectory() && path.parts.length < 64
            ? await this.#walk.orNothing(() => directory.enter(name))
            : undefined
        if (!inner) continue
        try {
          await search(inner, path.parts, next)
        } finally {
          await inner.close()
        }
      }
    }
    await this.#walk.clearly(() => this.#walk.inside(within(pathOf([])), {}, (root) => search(root, [], glob.start())))
    const own = await this.#ownFound(pattern, options)
    found.add(...own.entries)
    const all = found.entries()
    return { entries: all.slice(0, limit), more: all.length > limit || own.more }
  }

  async makeDirectory(given: string): Promise<FileStat> {
    const path = writable(given, { root: true })
    return this.#change(async (turn) => {
      const found = await this.#walk.find(path)
      if (found?.isFile()) throw new PawlError('file_exists', `'${path.path}' is a file.`)
      const inner = within(path)
      if (!found) {
        await this.#room(turn, { files: await this.#walk.missing(inner), bytes: 0 })
        await turn.confirm()
      }
      await this.#walk.inside(inner, { make: turn }, async () => undefined)
      if (!found) turn.changed = { path: path.path, change: 'made' }
      const made = await this.#walk.find(path)
      if (!made) throw new PawlError('file_busy', `'${path.path}' was taken away as it was made.`)
      return statOf(path, made)
    })
  }

  async remove(
    given: string,
    { recursive = false, ifHash }: { recursive?: boolean; ifHash?: string } = {},
  ): Promise<boolean> {
    const path = writable(given)
    const { ids } = this.#with
    return this.#change(async (turn) => {
      const found = await this.#walk.find(path)
      if (!found) return false
      const isDirectory = found.isDirectory()
      if (isDirectory && ifHash !== undefined)
        throw new PawlError('file_is_directory', `'${path.path}' is one, and has no hash.`)
      if (ifHash !== undefined) await this.#expect(path, ifHash)
      const count =
        isDirectory && !recursive
          ? await this.#walk.inside(within(path), {}, async (inner) => (await inner.entries()).length)
          : 0
      if (count) throw new PawlError('directory_not_empty', `There are ${count} in '${path.path}'.`)
      const done = await this.#walk.inside(path, {}, async (directory) => {
        await turn.confirm()
        // Out of sight at once; a crash from here on leaves nothing that a path can name.
        const temporary = `${unfinished}${ids.next()}`
        await directory.rename(nameIn(path), temporary)
        turn.changed = { path: path.path, change: 'removed' }
        await directory.sync()
        if (isDirectory) turn.used = undefined
        else add(turn, { files: -1, bytes: -found.size })
        await directory.remove(temporary)
        return true
      })
      return done ?? false
    })
  }

  async move(from: string, to: string, { replace = false }: { replace?: boolean } = {}): Promise<FileStat> {
    const [source, target] = [writable(from), writable(to)]
    if (source.path !== target.path && isWithin(target, source))
      throw new PawlError('file_path_invalid', `'${source.path}' cannot be moved into itself.`)
    return this.#change(async (turn) => {
      const moved = await this.#walk.find(source)
      if (!moved) throw new PawlError('file_not_found', `There is no '${source.path}'.`)
      if (source.path === target.path) return this.#told(source, moved)
      const was = await this.#walk.find(target)
      if (was && !(replace && was.isFile() && moved.isFile()))
        throw new PawlError('file_exists', `There is a '${target.path}'.`)
      if (moved.isDirectory()) await this.#walk.inside(within(source), {}, (inner) => this.#fitsBelow(inner, target))
      await this.#room(turn, { files: (await this.#walk.missing(target)) - (was ? 1 : 0), bytes: -(was?.size ?? 0) })
      await this.#walk.inside(target, { make: turn }, async (into) =>
        this.#walk.inside(source, {}, async (directory) => {
          await turn.confirm()
          await directory.rename(nameIn(source), nameIn(target), into)
          turn.changed = { path: source.path, change: 'moved', to: target.path }
          if (was) add(turn, { files: -1, bytes: -was.size })
          await Promise.all([directory.sync(), into.sync()])
        }),
      )
      return this.#told(target, moved)
    })
  }

  /** Whatever is moved with a directory has a path where that goes. */
  async #fitsBelow(directory: Directory, target: FilePath): Promise<void> {
    for (const name of await directory.names()) {
      const path = pathOf([...target.parts, name])
      const tooLong = tooLongIn(path)
      if (tooLong)
        throw new PawlError('file_path_invalid', `The path of what is in it ${tooLong} then. Nothing was moved.`)
      const inner = (await directory.look(name))?.isDirectory()
        ? await this.#walk.orNothing(() => directory.enter(name))
        : undefined
      try {
        if (inner) await this.#fitsBelow(inner, path)
      } finally {
        await inner?.close()
      }
    }
  }

  async #told(path: FilePath, stats: Stats): Promise<FileStat> {
    const hash = stats.isFile() ? ((await this.#walk.read(path))?.bytes ?? undefined) : undefined
    return { ...statOf(path, stats), ...(hash ? { hash: hashOf(hash) } : {}) }
  }

  /** What the runtime keeps, as far as it fits. */
  async #ownFound(pattern: string, options: PageOptions): Promise<FilePage> {
    const { entries, more } = await this.#with.own.glob(pattern, options)
    return { entries: entries.filter(({ path }) => isReserved(filePath(path))), more }
  }

  #change<T>(work: (turn: FolderLock) => Promise<T>): Promise<T> {
    return this.#walk.clearly(async () => withFolderLock(this.#with, await this.#walk.folder(), work))
  }

  /** Throws unless there is room; counts anew before it says no. */
  async #room(turn: FolderLock, more: FileUsage): Promise<void> {
    const measured = turn.used === undefined
    turn.used ??= await this.#measure()
    try {
      checkRoom(turn.used, sum(turn.used, more), this.#with.quotas)
    } catch (error) {
      if (measured) throw error
      turn.used = await this.#measure()
      checkRoom(turn.used, sum(turn.used, more), this.#with.quotas)
    }
  }

  async #measure(): Promise<FileUsage> {
    return (await this.#walk.inside(within(pathOf([])), {}, (root) => root.measure())) ?? { files: 0, bytes: 0 }
  }

  async #expect(path: FilePath, ifHash: string | null | undefined): Promise<void> {
    if (ifHash === undefined) return
    const read = await this.#walk.read(path)
    checkExpected(path, read && { hash: hashOf(read.bytes) }, ifHash)
  }
}

function writable(given: string, { root = false } = {}): FilePath {
  const path = filePath(given)
  if (isReserved(path)) throw new PawlError('file_readonly', `'${path.path}' is kept by the runtime.`)
  if (path.parts.length === 0 && !root)
    throw new PawlError('file_is_directory', 'The root itself is not written, moved or removed.')
  return path
}

const statOf = (path: FilePath, stats: Stats): FileStat => ({
  path: path.path,
  name: nameIn(path),
  kind: stats.isDirectory() ? 'directory' : 'file',
  bytes: stats.isDirectory() ? 0 : stats.size,
  hash: null,
  mediaType: stats.isDirectory() ? null : mediaTypeOf(nameIn(path)),
  createdAt: Math.floor(stats.birthtimeMs),
  updatedAt: Math.floor(stats.mtimeMs),
  readonly: false,
})

const sum = (used: FileUsage, more: FileUsage): FileUsage => ({
  files: used.files + more.files,
  bytes: used.bytes + more.bytes,
})

/** As bytes, like the store's order. */
const inOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
