// FILES: an open directory of a real folder, and what can be done in it by one name at a time.
//
// Node has no openat. On Linux /proc/self/fd/<n>/<name> means the same: <n> is the directory that was opened, wherever it or its path has
// gone meanwhile, and <name> is one name (file-path.ts lets no other through) that is never followed if it is a link. So whoever swaps
// directories and links under us can make an operation fail, and cannot lead it outside.

import { isUtf8 } from 'node:buffer'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, opendir, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { PawlError } from '../../core/errors.ts'
import { twinOf } from './case-collision.ts'
import { problemOf, unfinished } from './file-path.ts'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Entries of a folder that are looked at in one operation. */
export const mostEntries = 100_000
const deepest = 256

type Name = string | Buffer

export class Directory {
  readonly #handle: FileHandle

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** The root: its own path is the operator's word. */
  static async root(path: string): Promise<Directory> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((cause: unknown) => {
      throw new PawlError('config_invalid', `The folder for files, '${path}', cannot be opened as a directory.`, {
        cause,
      })
    })
    try {
      const [own, shown] = await Promise.all([
        handle.stat(),
        stat(`/proc/self/fd/${handle.fd}/`).catch(() => undefined),
      ])
      if (own.ino !== shown?.ino || own.dev !== shown.dev)
        throw new PawlError(
          'config_invalid',
          'A folder for files needs /proc/self/fd, as Linux has it; leave the folder out to keep files in the store.',
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

  /** Makes what happened to its names last. */
  sync(): Promise<void> {
    return this.#handle.sync()
  }

  #at(name: Name): string | Buffer {
    const here = `/proc/self/fd/${this.#handle.fd}/`
    return typeof name === 'string' ? here + name : Buffer.concat([Buffer.from(here), name])
  }

  /** Of the name itself, never of what it leads to. */
  look(name: Name): Promise<Stats | undefined> {
    return orUndefined(lstat(this.#at(name)))
  }

  /** The same for a name somebody asked for. Throws if the file system has it only in another case. */
  async find(name: string): Promise<Stats | undefined> {
    const found = await this.look(name)
    const twin = found && (await twinOf(name, found, { look: (other) => this.look(other), names: () => this.names() }))
    if (twin !== undefined)
      throw new PawlError('file_path_invalid', `There is a '${twin}', and this folder does not tell it from '${name}'.`)
    return found
  }

  /** Undefined if there is nothing of this name; throws if it is no directory. */
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
      // It was a directory a moment ago.
      if (codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ELOOP') throw notPlain(String(name))
      throw error
    }
  }

  async make(name: string): Promise<void> {
    await mkdir(this.#at(name)).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
  }

  /** To read, once it is known to be a plain file: what waits or does something when it is opened or read is not. */
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

  /** A new file, whole and synced. */
  async put(name: string, bytes: Uint8Array, mode: number | undefined): Promise<void> {
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

  /** The name itself, with all below it if it is a directory. */
  async remove(name: Name, depth = 0): Promise<void> {
    const found = await this.look(name)
    if (!found) return
    const inner = found.isDirectory() ? await this.#open(name) : undefined
    if (!inner) return orUndefined(unlink(this.#at(name)))
    if (depth > deepest) throw new PawlError('directory_not_empty', `It goes deeper than ${deepest}.`)
    try {
      for (const each of await inner.entries()) await inner.remove(each, depth + 1)
    } finally {
      await inner.close()
    }
    await orUndefined(rmdir(this.#at(name)))
  }

  /** All names, as they are on the disk. */
  async entries(): Promise<Buffer[]> {
    const names: Buffer[] = []
    // Node gives names as bytes, whatever its types say.
    const listing = await opendir(`/proc/self/fd/${this.#handle.fd}/`, { encoding: 'buffer' as BufferEncoding })
    for await (const { name } of listing) {
      names.push(name as unknown as Buffer)
      if (names.length > mostEntries)
        throw new PawlError('files_full', `A directory has more than ${mostEntries} entries.`)
    }
    return names
  }

  /** Those that a path can have, in order. */
  async names(): Promise<string[]> {
    const names = (await this.entries()).filter((name) => isUtf8(name)).toSorted((a, b) => Buffer.compare(a, b))
    return names.map(String).filter((name) => problemOf(name) === undefined)
  }

  /** What there is in it and below, after writes that were not finished are taken away. Only for who may change it. */
  async measure(depth = 0): Promise<{ files: number; bytes: number }> {
    const sum = { files: 0, bytes: 0 }
    for (const name of await this.entries()) {
      if (name.toString('latin1').startsWith(unfinished)) {
        await this.remove(name)
        continue
      }
      const found = await this.look(name)
      if (!found) continue
      sum.files++
      if (found.isFile()) sum.bytes += found.size
      const inner = found.isDirectory() && depth < deepest ? await this.#open(name) : undefined
      if (!inner) continue
      try {
        const { files, bytes } = await inner.measure(depth + 1)
        sum.files += files
        sum.bytes += bytes
      } finally {
        await inner.close()
      }
      if (sum.files > mostEntries) throw new PawlError('files_full', `The folder has more than ${mostEntries} files.`)
    }
    return sum
  }
}

/** A file with a second name may be a file outside by that name, so it is refused like a link. One without a name was replaced as it was opened. */
export const isPlain = (stats: Stats): boolean => stats.isDirectory() || (stats.isFile() && stats.nlink <= 1)

export function checkPlain(name: string, stats: Stats): void {
  if (!isPlain(stats)) throw notPlain(name)
}

const notPlain = (name: string): PawlError => new PawlError('file_not_plain', `It is '${name}'.`)

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code

async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
