// Session files in a real folder, with the same guarantees as in the store: no path, link, race, device or case variant
// leads outside of it (open-directory.ts), a write is atomic (temporary file, sync, rename), and one Pawl writer works
// at a time (folder-lock.ts). Links, devices, pipes, sockets and files with several hard links are not session files.
// The runtime's own files stay in the store.

import { isUtf8 } from 'node:buffer'
import type { Stats } from 'node:fs'
import { PawlError } from '../../core/errors.ts'
import { type Directory, isPlain, maxEntries } from './open-directory.ts'
import { checkExpected } from './expected-version.ts'
import { withFolderLock, type FolderLock, type FolderLockParts } from './folder-lock.ts'
import { addUsage, FolderWalk, asDirectory } from './folder-walk.ts'
import { Glob, type Positions } from './glob.ts'
import { checkMediaType, mediaTypeOf } from './media-type.ts'
import { FirstByPath } from './paging.ts'
import { checkMove, checkRemove, checkWrite, type MoveOptions, pageOf, type RemoveOptions } from './file-options.ts'
import {
  fileNotFound,
  type FilePath,
  filePath,
  isReserved,
  isWithin,
  baseName,
  pathOf,
  lengthProblem,
  temporaryPrefix,
} from './file-path.ts'
import { checkQuota, checkSize, type FileQuotas, type FileUsage } from './quotas.ts'
import { contentBytes, hashOf } from './file-rows.ts'
import type {
  FileContent,
  FilePage,
  FileStat,
  PageOptions,
  SessionFiles,
  WriteOptions,
} from '../../core/session-files-interface.ts'

export interface FolderParts extends FolderLockParts {
  readonly folder: string
  readonly quotas: FileQuotas
  /** The session files in the store: the runtime files there are read as if they were in the folder. */
  readonly own: SessionFiles
}

export class FolderFiles implements SessionFiles {
  readonly #parts: FolderParts
  readonly #walk: FolderWalk

  constructor(parts: FolderParts) {
    this.#parts = parts
    this.#walk = new FolderWalk(parts)
  }

  async write(given: string, content: string | Uint8Array, options?: WriteOptions): Promise<FileStat> {
    checkWrite(options)
    const { ifHash, mediaType } = options ?? {}
    const path = writable(given)
    checkMediaType(mediaType)
    const bytes = contentBytes(content)
    const { quotas, ids } = this.#parts
    checkSize(bytes.length, quotas, path.path)
    return this.#change(async (lock) => {
      const name = baseName(path)
      const first = await this.#walk.file(path)
      await this.#checkHash(path, ifHash)
      const missing = await this.#walk.countMissing(path)
      await this.#checkQuota(lock, { files: missing + (first ? 0 : 1), bytes: bytes.length - (first?.size ?? 0) })
      return this.#walk.inDirectory(path, { make: lock }, async (directory) => {
        const temporary = `${temporaryPrefix}${ids.next()}`
        try {
          await directory.writeNew(temporary, bytes, first?.mode)
          const was = await this.#walk.file(path)
          await this.#checkHash(path, ifHash)
          await lock.confirm()
          await directory.rename(temporary, name)
          lock.changed = { path: path.path, change: 'written' }
          addUsage(lock, { files: was ? 0 : 1, bytes: bytes.length - (was?.size ?? 0) })
        } catch (error) {
          await directory.remove(temporary)
          throw error
        }
        await directory.sync()
        const stats = await directory.lookup(name)
        if (!stats) throw new PawlError('file_busy', `'${path.path}' was removed while it was being written.`)
        return { ...statOf(path, stats), bytes: bytes.length, hash: hashOf(bytes) }
      })
    })
  }

  async read(given: string): Promise<FileContent> {
    const path = filePath(given)
    if (isReserved(path)) return this.#parts.own.read(given)
    const read = await this.#walk.translateErrors(() => this.#walk.read(path))
    if (!read) throw fileNotFound(path)
    const { stats, bytes } = read
    const stat = { ...statOf(path, stats), bytes: bytes.length, hash: hashOf(bytes) }
    return { stat, bytes, text: isUtf8(bytes) ? bytes.toString('utf8') : null }
  }

  async stat(given: string): Promise<FileStat | undefined> {
    const path = filePath(given)
    if (isReserved(path)) return this.#parts.own.stat(given)
    return this.#walk.translateErrors(async () => {
      const stats = await this.#walk.find(path)
      if (!stats) return undefined
      const stat = statOf(path, stats)
      if (stat.kind === 'directory' || stat.bytes > this.#parts.quotas.fileBytes) return stat
      const bytes = (await this.#walk.read(path))?.bytes
      return bytes && { ...stat, bytes: bytes.length, hash: hashOf(bytes) }
    })
  }

  async list(given = '/', options: PageOptions = {}): Promise<FilePage> {
    const path = filePath(given)
    if (isReserved(path)) return this.#parts.own.list(given, options)
    const { limit, after } = pageOf(options, 'files.list()')
    const own = path.parts.length === 0 ? await this.#parts.own.stat('/.background') : undefined
    const found = await this.#walk.translateErrors(() =>
      this.#walk.inDirectory(asDirectory(path), {}, async (directory) => {
        const entries: FileStat[] = []
        const names = (await directory.names()).filter((name) => !isReserved(pathOf([...path.parts, name])))
        if (own) names.push(own.name)
        const rest = names.filter((name) => !after || compareBytes(baseName(after), name) < 0).toSorted(compareBytes)
        for (const name of rest) {
          const stats = await directory.lookup(name)
          if (own && name === own.name) entries.push(own)
          else if (stats && isPlain(stats)) entries.push(statOf(pathOf([...path.parts, name]), stats))
          if (entries.length > limit) break
        }
        return { entries: entries.slice(0, limit), more: entries.length > limit }
      }),
    )
    if (!found) throw fileNotFound(path)
    return found
  }

  async glob(pattern: string, options: PageOptions = {}): Promise<FilePage> {
    const { limit, after } = pageOf(options, 'files.glob()')
    const glob = new Glob(pattern)
    const found = new FirstByPath(limit + 1, after?.path)
    let seen = 0
    const search = async (directory: Directory, parts: readonly string[], places: Positions): Promise<void> => {
      for (const name of await directory.names()) {
        const path = pathOf([...parts, name])
        if (found.excludes(path.path)) continue
        if (++seen > maxEntries)
          throw new PawlError(
            'file_pattern_invalid',
            `The search visits more than ${maxEntries} files. Use a narrower pattern.`,
          )
        const next = glob.step(places, name)
        if (next.size === 0 || isReserved(path)) continue
        const stats = await directory.lookup(name)
        if (!stats || !isPlain(stats)) continue
        if (glob.isMatch(next)) found.add(statOf(path, stats))
        const inner =
          stats.isDirectory() && path.parts.length < 64
            ? await this.#walk.skipUnreadable(() => directory.enter(name))
            : undefined
        if (!inner) continue
        try {
          await search(inner, path.parts, next)
        } finally {
          await inner.close()
        }
      }
    }
    await this.#walk.translateErrors(() =>
      this.#walk.inDirectory(asDirectory(pathOf([])), {}, (root) => search(root, [], glob.start())),
    )
    const own = await this.#globRuntimeFiles(pattern, options)
    found.add(...own.entries)
    const all = found.entries()
    return { entries: all.slice(0, limit), more: all.length > limit || own.more }
  }

  async makeDirectory(given: string): Promise<FileStat> {
    const path = writable(given, { root: true })
    return this.#change(async (lock) => {
      const found = await this.#walk.find(path)
      if (found?.isFile()) throw new PawlError('file_exists', `'${path.path}' is a file.`)
      const inner = asDirectory(path)
      if (!found) {
        await this.#checkQuota(lock, { files: await this.#walk.countMissing(inner), bytes: 0 })
        await lock.confirm()
      }
      await this.#walk.inDirectory(inner, { make: lock }, async () => undefined)
      if (!found) lock.changed = { path: path.path, change: 'made' }
      const made = await this.#walk.find(path)
      if (!made) throw new PawlError('file_busy', `'${path.path}' was removed while it was being created.`)
      return statOf(path, made)
    })
  }

  async remove(given: string, options?: RemoveOptions): Promise<boolean> {
    checkRemove(options)
    const { recursive = false, ifHash } = options ?? {}
    const path = writable(given)
    const { ids } = this.#parts
    return this.#change(async (lock) => {
      const found = await this.#walk.find(path)
      if (!found) return false
      const isDirectory = found.isDirectory()
      if (isDirectory && ifHash !== undefined)
        throw new PawlError('file_is_directory', `'${path.path}' is a directory and has no hash; omit \`ifHash\`.`)
      if (ifHash !== undefined) await this.#checkHash(path, ifHash)
      const count =
        isDirectory && !recursive
          ? await this.#walk.inDirectory(asDirectory(path), {}, async (inner) => (await inner.entries()).length)
          : 0
      if (count) throw new PawlError('directory_not_empty', `'${path.path}' has ${count} entries.`)
      const done = await this.#walk.inDirectory(path, {}, async (directory) => {
        await lock.confirm()
        // Renamed first, so that it disappears atomically: after a crash no path leads to the remains.
        const temporary = `${temporaryPrefix}${ids.next()}`
        await directory.rename(baseName(path), temporary)
        lock.changed = { path: path.path, change: 'removed' }
        await directory.sync()
        if (isDirectory) lock.used = undefined
        else addUsage(lock, { files: -1, bytes: -found.size })
        await directory.remove(temporary)
        return true
      })
      return done ?? false
    })
  }

  async move(from: string, to: string, options?: MoveOptions): Promise<FileStat> {
    checkMove(options)
    const { replace = false } = options ?? {}
    const [source, target] = [writable(from), writable(to)]
    if (source.path !== target.path && isWithin(target, source))
      throw new PawlError('file_path_invalid', `'${source.path}' cannot be moved into itself.`)
    return this.#change(async (lock) => {
      const sourceFile = await this.#walk.find(source)
      if (!sourceFile) throw fileNotFound(source)
      if (source.path === target.path) return this.#statWithHash(source, sourceFile)
      const was = await this.#walk.find(target)
      if (was && !(replace && was.isFile() && sourceFile.isFile()))
        throw new PawlError('file_exists', `'${target.path}' already exists.`)
      if (sourceFile.isDirectory())
        await this.#walk.inDirectory(asDirectory(source), {}, (inner) => this.#checkMovedPaths(inner, target))
      await this.#checkQuota(lock, {
        files: (await this.#walk.countMissing(target)) - (was ? 1 : 0),
        bytes: -(was?.size ?? 0),
      })
      await this.#walk.inDirectory(target, { make: lock }, async (into) =>
        this.#walk.inDirectory(source, {}, async (directory) => {
          await lock.confirm()
          await directory.rename(baseName(source), baseName(target), into)
          lock.changed = { path: source.path, change: 'moved', to: target.path }
          if (was) addUsage(lock, { files: -1, bytes: -was.size })
          await Promise.all([directory.sync(), into.sync()])
        }),
      )
      return this.#statWithHash(target, sourceFile)
    })
  }

  /** Throws if an entry of a moved directory would get a path that is too long. */
  async #checkMovedPaths(directory: Directory, target: FilePath): Promise<void> {
    for (const name of await directory.names()) {
      const path = pathOf([...target.parts, name])
      const tooLong = lengthProblem(path)
      if (tooLong)
        throw new PawlError('file_path_invalid', `After the move, the path of an entry ${tooLong}. Nothing was moved.`)
      const inner = (await directory.lookup(name))?.isDirectory()
        ? await this.#walk.skipUnreadable(() => directory.enter(name))
        : undefined
      try {
        if (inner) await this.#checkMovedPaths(inner, path)
      } finally {
        await inner?.close()
      }
    }
  }

  async #statWithHash(path: FilePath, stats: Stats): Promise<FileStat> {
    const hash = stats.isFile() ? ((await this.#walk.read(path))?.bytes ?? undefined) : undefined
    return { ...statOf(path, stats), ...(hash ? { hash: hashOf(hash) } : {}) }
  }

  /** The runtime files that match the pattern. */
  async #globRuntimeFiles(pattern: string, options: PageOptions): Promise<FilePage> {
    const { entries, more } = await this.#parts.own.glob(pattern, options)
    return { entries: entries.filter(({ path }) => isReserved(filePath(path))), more }
  }

  #change<T>(work: (lock: FolderLock) => Promise<T>): Promise<T> {
    return this.#walk.translateErrors(async () => withFolderLock(this.#parts, await this.#walk.folder(), work))
  }

  /** Throws files_full if the change exceeds a quota; measures the folder again before refusing. */
  async #checkQuota(lock: FolderLock, more: FileUsage): Promise<void> {
    const measured = lock.used === undefined
    lock.used ??= await this.#measure()
    try {
      checkQuota(lock.used, sum(lock.used, more), this.#parts.quotas)
    } catch (error) {
      if (measured) throw error
      lock.used = await this.#measure()
      checkQuota(lock.used, sum(lock.used, more), this.#parts.quotas)
    }
  }

  async #measure(): Promise<FileUsage> {
    return (
      (await this.#walk.inDirectory(asDirectory(pathOf([])), {}, (root) => root.measure())) ?? { files: 0, bytes: 0 }
    )
  }

  async #checkHash(path: FilePath, ifHash: string | null | undefined): Promise<void> {
    if (ifHash === undefined) return
    const read = await this.#walk.read(path)
    checkExpected(path, read && { hash: hashOf(read.bytes) }, ifHash)
  }
}

function writable(given: string, { root = false } = {}): FilePath {
  const path = filePath(given)
  if (isReserved(path)) throw new PawlError('file_readonly', `'${path.path}' belongs to the runtime.`)
  if (path.parts.length === 0 && !root)
    throw new PawlError('file_is_directory', 'The root directory cannot be written, moved or removed.')
  return path
}

const statOf = (path: FilePath, stats: Stats): FileStat => ({
  path: path.path,
  name: baseName(path),
  kind: stats.isDirectory() ? 'directory' : 'file',
  bytes: stats.isDirectory() ? 0 : stats.size,
  hash: null,
  mediaType: stats.isDirectory() ? null : mediaTypeOf(baseName(path)),
  createdAt: Math.floor(stats.birthtimeMs),
  updatedAt: Math.floor(stats.mtimeMs),
  readonly: false,
})

const sum = (used: FileUsage, more: FileUsage): FileUsage => ({
  files: used.files + more.files,
  bytes: used.bytes + more.bytes,
})

/** Byte order, like the store. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
