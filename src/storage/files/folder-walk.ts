// Resolves paths in a real folder: opens each directory from the root down, so that every name is looked up relative to
// the directory handle it was found in. Used by folder-files.ts.

import type { Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { PawlError } from '../../core/errors.ts'
import { checkPlain, codeOf, Directory } from './open-directory.ts'
import type { FolderLock } from './folder-lock.ts'
import { ancestorsOf, type FilePath, baseName, parentOf, pathOf } from './file-path.ts'
import { checkSize, type FileQuotas, type FileUsage } from './quotas.ts'

interface WalkOptions {
  /** Creates missing directories and adds them to the usage of this lock. */
  readonly make?: FolderLock
  /** Return undefined, instead of throwing, for a path that continues below a file. */
  readonly orNothing?: boolean
}

/** A pseudo path inside a directory, so that inDirectory opens the directory itself. */
export const asDirectory = ({ parts }: FilePath): FilePath => pathOf([...parts, '.'])

export class FolderWalk {
  readonly #parts: { readonly folder: string; readonly quotas: FileQuotas }
  #root: Promise<string> | undefined

  constructor(parts: { readonly folder: string; readonly quotas: FileQuotas }) {
    this.#parts = parts
  }

  /** The real path of the folder, so that two paths to it share one lock. */
  folder(): Promise<string> {
    const { folder } = this.#parts
    this.#root ??= realpath(folder).catch((cause: unknown) => {
      this.#root = undefined
      throw new PawlError('config_invalid', `The files folder '${folder}' does not exist.`, { cause })
    })
    return this.#root
  }

  /** The number of missing parent directories. */
  async countMissing(path: FilePath): Promise<number> {
    const over = ancestorsOf(path)
    for (const [at, each] of over.entries()) if (!(await this.find(each))) return over.length - at
    return 0
  }

  /** The existing file at a path to be written. Throws if it is a directory. */
  async file(path: FilePath): Promise<Stats | undefined> {
    const found = await this.find(path)
    if (found?.isDirectory()) throw new PawlError('file_is_directory', `The path is '${path.path}'.`)
    return found
  }

  /** Throws if the entry is not a plain file or directory. */
  async find(path: FilePath): Promise<Stats | undefined> {
    if (path.parts.length === 0) return this.inDirectory(asDirectory(path), {}, (root) => root.lookup('.'))
    return this.inDirectory(path, { orNothing: true }, async (directory) => {
      const found = await directory.find(baseName(path))
      if (found) checkPlain(baseName(path), found)
      return found
    })
  }

  async read(path: FilePath): Promise<{ stats: Stats; bytes: Buffer } | undefined> {
    const most = this.#parts.quotas.fileBytes
    return this.inDirectory(path, { orNothing: true }, async (directory) => {
      const found = await directory.find(baseName(path))
      if (path.parts.length === 0 || found?.isDirectory())
        throw new PawlError('file_is_directory', `The path is '${path.path}'.`)
      if (!found) return undefined
      // Checked before opening, because opening some devices has side effects.
      checkPlain(baseName(path), found)
      checkSize(found.size, this.#parts.quotas, path.path)
      const { handle, stats } = await directory.openFile(baseName(path))
      try {
        checkSize(stats.size, this.#parts.quotas, path.path)
        const bytes = Buffer.alloc(Math.min(stats.size, most))
        let length = 0
        while (length < bytes.length) {
          const { bytesRead } = await handle.read(bytes, length, bytes.length - length)
          if (bytesRead === 0) break
          length += bytesRead
        }
        return { stats, bytes: bytes.subarray(0, length) }
      } finally {
        await handle.close()
      }
    })
  }

  /** Runs work in the parent directory of a path. Undefined if that directory does not exist. */
  async inDirectory<T>(
    path: FilePath,
    how: WalkOptions & { make: FolderLock },
    work: (directory: Directory) => Promise<T>,
  ): Promise<T>
  async inDirectory<T>(
    path: FilePath,
    how: WalkOptions,
    work: (directory: Directory) => Promise<T>,
  ): Promise<T | undefined>
  async inDirectory<T>(
    path: FilePath,
    { make, orNothing = false }: WalkOptions,
    work: (directory: Directory) => Promise<T>,
  ): Promise<T | undefined> {
    const open: Directory[] = [await Directory.root(await this.folder())]
    try {
      for (const name of parentOf(path).parts) {
        const here = open.at(-1) as Directory
        let next = await here.enter(name)
        if (!next && make) {
          await here.make(name)
          addUsage(make, { files: 1, bytes: 0 })
          await here.sync()
          next = await here.enter(name)
          if (!next) throw new PawlError('file_busy', `'${name}' was removed while it was being created.`)
        }
        if (!next) return undefined
        open.push(next)
      }
      return await work(open.at(-1) as Directory)
    } catch (error) {
      if (orNothing && error instanceof PawlError && error.code === 'file_not_directory') return undefined
      throw error
    } finally {
      // Closed only at the end: a closed descriptor number may already refer to another directory.
      await Promise.all(open.map((directory) => directory.close()))
    }
  }

  /** For scans: skips an entry that was replaced by something else since it was listed. */
  async skipUnreadable<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (cause) {
      const error = translateError(cause, this.#parts.folder)
      if (
        error instanceof PawlError &&
        ['file_not_plain', 'file_not_directory', 'file_path_invalid'].includes(error.code)
      )
        return undefined
      throw error
    }
  }

  /** Translates system errors to PawlErrors. */
  async translateErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      throw translateError(cause, this.#parts.folder)
    }
  }
}

/** Updates the usage of the lock, if it is known. */
export function addUsage(lock: FolderLock, { files, bytes }: FileUsage): void {
  if (lock.used) lock.used = { files: lock.used.files + files, bytes: lock.used.bytes + bytes }
}

function translateError(cause: unknown, folder: string): unknown {
  if (cause instanceof PawlError) return cause
  switch (codeOf(cause)) {
    case 'ENOENT':
      return new PawlError('file_not_found', 'The file was removed during the operation. Try again.', { cause })
    case 'ELOOP':
    case 'ENXIO':
      return new PawlError('file_not_plain', undefined, { cause })
    case 'ENOTDIR':
      return new PawlError('file_not_directory', undefined, { cause })
    case 'EISDIR':
    case 'ENOTEMPTY':
    case 'EEXIST':
      return new PawlError('file_exists', undefined, { cause })
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new PawlError('file_readonly', 'The operating system denied access.', { cause })
    case 'ENAMETOOLONG':
    case 'EINVAL':
      return new PawlError('file_path_invalid', 'The file system does not accept this name.', { cause })
    case 'ENOSPC':
    case 'EDQUOT':
      return new PawlError('files_full', 'The disk is full.', { cause })
    default:
      return new PawlError('store_unavailable', `The folder '${folder}' failed with a system error.`, { cause })
  }
}
