// An open directory of a real folder, with operations on one name at a time.
//
// Node has no openat. On Linux /proc/self/fd/<n>/<name> is equivalent: <n> is the opened directory, even if it has been
// moved since, and <name> is a single name (file-path.ts guarantees that) whose links are never followed. So a process
// that swaps directories or links concurrently can make an operation fail but cannot redirect it outside of the folder.

import { isUtf8 } from 'node:buffer'
import { type Stats, constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, opendir, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { PawlError } from '../../core/errors.ts'
import { nameProblem, temporaryPrefix } from './file-path.ts'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Maximum number of entries that one operation visits. */
export const maxEntries = 100_000
const maxDepth = 256

type Name = string | Buffer

export class Directory {
  readonly #handle: FileHandle

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Opens the root folder. Its path comes from the operator and is trusted. */
  static async root(path: string): Promise<Directory> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((cause: unknown) => {
      throw new PawlError('config_invalid', `The files folder '${path}' cannot be opened as a directory.`, {
        cause,
      })
    })
    try {
      const [own, viaProc] = await Promise.all([
        handle.stat(),
        stat(`/proc/self/fd/${handle.fd}/`).catch(() => undefined),
      ])
      if (own.ino !== viaProc?.ino || own.dev !== viaProc.dev)
        throw new PawlError(
          'config_invalid',
          'files.folder requires /proc/self/fd (Linux). Omit it to store files in the database.',
        )
      return new Directory(handle)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** Makes renames and removals in this directory durable. */
  sync(): Promise<void> {
    return this.#handle.sync()
  }

  #at(name: Name): string | Buffer {
    const here = `/proc/self/fd/${this.#handle.fd}/`
    return typeof name === 'string' ? here + name : Buffer.concat([Buffer.from(here), name])
  }

  /** lstat: never follows a link. */
  lookup(name: Name): Promise<Stats | undefined> {
    return orUndefined(lstat(this.#at(name)))
  }

  /** Looks up a name that a caller requested. Throws if the file system has the name only in another case. */
  async find(name: string): Promise<Stats | undefined> {
    const found = await this.lookup(name)
    const collision =
      found && (await caseCollision(name, found, { look: (other) => this.lookup(other), names: () => this.names() }))
    if (collision !== undefined)
      throw new PawlError(
        'file_path_invalid',
        `'${collision}' exists, and this case-insensitive folder does not distinguish it from '${name}'.`,
      )
    return found
  }

  /** Opens a subdirectory. Undefined if there is no such name; throws if it is not a directory. */
  async enter(name: string): Promise<Directory | undefined> {
    const found = await this.find(name)
    if (!found) return undefined
    if (found.isFile()) throw new PawlError('file_not_directory', `'${name}' is a file.`)
    if (!found.isDirectory()) throw notPlain(name)
    return this.#open(name)
  }

  async #open(name: Name): Promise<Directory | undefined> {
    try {
      return new Directory(await open(this.#at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      // It was a directory a moment ago, so it was swapped.
      if (codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ELOOP') throw notPlain(String(name))
      throw error
    }
  }

  async make(name: string): Promise<void> {
    await mkdir(this.#at(name)).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
  }

  /** Opens a plain file for reading. O_NONBLOCK and the second check cover a file swapped for a pipe or a device. */
  async openFile(name: string): Promise<{ handle: FileHandle; stats: Stats }> {
    const handle = await open(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const stats = await handle.stat()
      checkPlain(name, stats)
      return { handle, stats }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Writes and syncs a new file. */
  async writeNew(name: string, bytes: Uint8Array, mode: number | undefined): Promise<void> {
    const handle = await open(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    try {
      await handle.writeFile(bytes)
      if (mode !== undefined) await handle.chmod(mode & 0o777)
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async rename(from: string, to: string, into: Directory = this): Promise<void> {
    await rename(this.#at(from), into.#at(to))
  }

  /** Removes an entry, recursively if it is a directory. */
  async remove(name: Name, depth = 0): Promise<void> {
    const found = await this.lookup(name)
    if (!found) return
    const inner = found.isDirectory() ? await this.#open(name) : undefined
    if (!inner) return orUndefined(unlink(this.#at(name)))
    if (depth > maxDepth)
      throw new PawlError('directory_not_empty', `The directory is nested deeper than ${maxDepth} levels.`)
    try {
      for (const each of await inner.entries()) await inner.remove(each, depth + 1)
    } finally {
      await inner.close()
    }
    await orUndefined(rmdir(this.#at(name)))
  }

  /** All names, as raw bytes. */
  async entries(): Promise<Buffer[]> {
    const names: Buffer[] = []
    // With encoding 'buffer' Node returns Buffers, although the types say string.
    const listing = await opendir(`/proc/self/fd/${this.#handle.fd}/`, { encoding: 'buffer' as BufferEncoding })
    for await (const { name } of listing) {
      names.push(name as unknown as Buffer)
      if (names.length > maxEntries)
        throw new PawlError('files_full', `A directory has more than ${maxEntries} entries.`)
    }
    return names
  }

  /** The names that a session path can contain, in byte order. */
  async names(): Promise<string[]> {
    const names = (await this.entries()).filter((name) => isUtf8(name)).toSorted((a, b) => Buffer.compare(a, b))
    return names.map(String).filter((name) => nameProblem(name) === undefined)
  }

  /** Counts entries and bytes recursively and removes leftovers of unfinished writes. Requires the folder lock. */
  async measure(depth = 0): Promise<{ files: number; bytes: number }> {
    const sum = { files: 0, bytes: 0 }
    for (const name of await this.entries()) {
      if (name.toString('latin1').startsWith(temporaryPrefix)) {
        await this.remove(name)
        continue
      }
      const found = await this.lookup(name)
      if (!found) continue
      sum.files++
      if (found.isFile()) sum.bytes += found.size
      const inner = found.isDirectory() && depth < maxDepth ? await this.#open(name) : undefined
      if (!inner) continue
      try {
        const { files, bytes } = await inner.measure(depth + 1)
        sum.files += files
        sum.bytes += bytes
      } finally {
        await inner.close()
      }
      if (sum.files > maxEntries) throw new PawlError('files_full', `The folder has more than ${maxEntries} files.`)
    }
    return sum
  }
}

/**
 * A file with several hard links may also be a file outside of the folder, so it is rejected like a link. A link count
 * of 0 means that the file was replaced while it was open.
 */
export const isPlain = (stats: Stats): boolean => stats.isDirectory() || (stats.isFile() && stats.nlink <= 1)

export function checkPlain(name: string, stats: Stats): void {
  if (!isPlain(stats)) throw notPlain(name)
}

const notPlain = (name: string): PawlError => new PawlError('file_not_plain', `The name is '${name}'.`)

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code

async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

interface FileIdentity {
  readonly ino: number
  readonly dev: number
}

interface DirectoryReader {
  look(name: string): Promise<FileIdentity | undefined>
  names(): Promise<readonly string[]>
}

/**
 * Detects case-insensitive file systems, where looking up 'A' finds 'a' and two names would silently be one file.
 * Returns the name that the file system found instead of the requested one; undefined if it found that one. Costs one
 * extra lookup on a case-sensitive file system, where the name in swapped case does not exist or is another file.
 */
export async function caseCollision(
  name: string,
  found: FileIdentity,
  { look, names }: DirectoryReader,
): Promise<string | undefined> {
  const swapped = swapCase(name)
  if (swapped === name) return undefined
  const other = await look(swapped)
  if (!other || other.ino !== found.ino || other.dev !== found.dev) return undefined
  const all = await names()
  return all.includes(name) ? undefined : (all.find((each) => fold(each) === fold(name)) ?? swapped)
}

const fold = (name: string): string => name.toLowerCase().toUpperCase()

/** Swaps upper and lower case, except for letters whose length would change. */
const swapCase = (name: string): string =>
  Array.from(name, (letter) => {
    const [small, capital] = [letter.toLowerCase(), letter.toUpperCase()]
    const other = letter === small ? capital : small
    return other.length === letter.length ? other : letter
  }).join('')
