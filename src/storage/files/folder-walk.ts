// FILES: the way to a file of a real folder: opened name by name from the root, so that every name is looked at in the directory it was found in.

import type { Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { PawlError } from '../../core/errors.ts'
import { checkPlain, codeOf, Directory } from './open-directory.ts'
import type { FolderLock } from './folder-lock.ts'
import { aboveOf, type FilePath, nameIn, parentOf, pathOf } from './file-path.ts'
import { checkSize, type FileQuotas, type FileUsage } from './quotas.ts'

interface How {
  /** Makes the directories that are missing, and counts them. */
  readonly make?: FolderLock
  /** A path that goes on behind a file leads to nothing. */
  readonly orNothing?: boolean
}

/** The path of something in a directory, whatever it is: for work in the directory itself. */
export const within = ({ parts }: FilePath): FilePath => pathOf([...parts, '.'])

export class FolderWalk {
  readonly #with: { readonly folder: string; readonly quotas: FileQuotas }
  #root: Promise<string> | undefined

  constructor(parts: { readonly folder: string; readonly quotas: FileQuotas }) {
    this.#with = parts
  }

  /** What the system calls the folder, so that two names of it are one. */
  folder(): Promise<string> {
    const { folder } = this.#with
    this.#root ??= realpath(folder).catch((cause: unknown) => {
      this.#root = undefined
      throw new PawlError('config_invalid', `The folder for files, '${folder}', is not there.`, { cause })
    })
    return this.#root
  }

  /** How many directories above a path are not there. */
  async missing(path: FilePath): Promise<number> {
    const over = aboveOf(path)
    for (const [at, each] of over.entries()) if (!(await this.find(each))) return over.length - at
    return 0
  }

  /** What stands where a file is to be written. */
  async file(path: FilePath): Promise<Stats | undefined> {
    const found = await this.find(path)
    if (found?.isDirectory()) throw new PawlError('file_is_directory', `'${path.path}' is one.`)
    return found
  }

  /** Throws if it is no plain file or directory. */
  async find(path: FilePath): Promise<Stats | undefined> {
    if (path.parts.length === 0) return this.inside(within(path), {}, (root) => root.look('.'))
    return this.inside(path, { orNothing: true }, async (directory) => {
      const found = await directory.find(nameIn(path))
      if (found) checkPlain(nameIn(path), found)
      return found
    })
  }

  async read(path: FilePath): Promise<{ stats: Stats; bytes: Buffer } | undefined> {
    const most = this.#with.quotas.fileBytes
    return this.inside(path, { orNothing: true }, async (directory) => {
      const found = await directory.find(nameIn(path))
      if (path.parts.length === 0 || found?.isDirectory())
        throw new PawlError('file_is_directory', `'${path.path}' is one.`)
      if (!found) return undefined
      // Before it is opened: there are devices that do something then.
      checkPlain(nameIn(path), found)
      checkSize(found.size, this.#with.quotas, path.path)
      const { handle, stats } = await directory.openFile(nameIn(path))
      try {
        checkSize(stats.size, this.#with.quotas, path.path)
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

  /** Works in the directory that a path is in. Undefined if it is not there. */
  async inside<T>(
    path: FilePath,
    how: How & { make: FolderLock },
    work: (directory: Directory) => Promise<T>,
  ): Promise<T>
  async inside<T>(path: FilePath, how: How, work: (directory: Directory) => Promise<T>): Promise<T | undefined>
  async inside<T>(
    path: FilePath,
    { make, orNothing = false }: How,
    work: (directory: Directory) => Promise<T>,
  ): Promise<T | undefined> {
    const open: Directory[] = [await Directory.root(await this.folder())]
    try {
      for (const name of parentOf(path).parts) {
        const here = open.at(-1) as Directory
        let next = await here.enter(name)
        if (!next && make) {
          await here.make(name)
          add(make, { files: 1, bytes: 0 })
          await here.sync()
          next = await here.enter(name)
          if (!next) throw new PawlError('file_busy', `'${name}' was taken away as it was made.`)
        }
        if (!next) return undefined
        open.push(next)
      }
      return await work(open.at(-1) as Directory)
    } catch (error) {
      if (orNothing && error instanceof PawlError && error.code === 'file_not_directory') return undefined
      throw error
    } finally {
      // Only now: a number that was closed may already mean another directory.
      await Promise.all(open.map((directory) => directory.close()))
    }
  }

  /** For who looks at all there is: what turned into something else under its eyes is passed over. */
  async orNothing<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (cause) {
      const error = clear(cause, this.#with.folder)
      if (
        error instanceof PawlError &&
        ['file_not_plain', 'file_not_directory', 'file_path_invalid'].includes(error.code)
      )
        return undefined
      throw error
    }
  }

  /** What the system says, in our words. */
  async clearly<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      throw clear(cause, this.#with.folder)
    }
  }
}

/** Counts what was done, as far as anything is counted. */
export function add(turn: FolderLock, { files, bytes }: FileUsage): void {
  if (turn.used) turn.used = { files: turn.used.files + files, bytes: turn.used.bytes + bytes }
}

function clear(cause: unknown, folder: string): unknown {
  if (cause instanceof PawlError) return cause
  switch (codeOf(cause)) {
    case 'ENOENT':
      return new PawlError('file_not_found', 'It was taken away meanwhile.', { cause })
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
      return new PawlError('file_readonly', 'The system does not allow it.', { cause })
    case 'ENAMETOOLONG':
    case 'EINVAL':
      return new PawlError('file_path_invalid', 'The folder does not take this name.', { cause })
    case 'ENOSPC':
    case 'EDQUOT':
      return new PawlError('files_full', 'There is no room on the disk.', { cause })
    default:
      return new PawlError('store_unavailable', `The folder '${folder}' does not work.`, { cause })
  }
}
