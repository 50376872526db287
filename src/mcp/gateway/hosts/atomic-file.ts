// Reads and writes the files of hosts. A write leaves the old or the new content, whenever the process or the machine
// stops: temporary file, fsync, rename, fsync of the folder.

import { createHash } from 'node:crypto'
import { closeSync, existsSync, fchmodSync, fsyncSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import { readFileSync, readlinkSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** A file of text, as it was read. */
export interface TextFile {
  /** The file itself, behind symbolic links. */
  readonly path: string
  /** Null if there is none. */
  readonly text: string | null
  readonly mode: number
}

/** A person must change something before Pawl can continue. Nothing was written. */
export class HostFileError extends Error {
  override readonly name = 'HostFileError'
}

/** More is no configuration. */
const maxBytes = 64 * 1024 * 1024

export function readTextFile(given: string, newMode = 0o600): TextFile {
  const path = behindLinks(given)
  if (!existsSync(path)) return { path, text: null, mode: newMode }
  const { size, mode } = statSync(path)
  if (size > maxBytes) throw new HostFileError(`${given} has ${size} bytes; it is no configuration.`)
  const bytes = readFileSync(path)
  const text = bytes.toString('utf8')
  // Text that does not become the same bytes again would be damaged by an edit.
  if (!Buffer.from(text, 'utf8').equals(bytes))
    throw new HostFileError(`${given} is not in UTF-8, so it cannot be edited. Nothing was written.`)
  return { path, text, mode: mode & 0o777 }
}

/** A link is written through: it stays a link, also to a file that does not exist yet. */
function behindLinks(given: string): string {
  let path = resolve(given)
  for (let steps = 0; steps < 40; steps++) {
    if (existsSync(path)) return realpathSync(path)
    if (!isLink(path)) return path
    path = resolve(dirname(path), readlinkSync(path))
  }
  throw new HostFileError(`${given} is a symbolic link in a circle.`)
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

/** Refuses if the file changed since it was read: the host may write it at any time. */
export function replaceTextFile(file: TextFile, text: string): void {
  mkdirSync(dirname(file.path), { recursive: true })
  withLock(file.path, () => replaceLocked(file, text))
}

function replaceLocked({ path, text: before, mode }: TextFile, text: string): void {
  const temporary = temporaryName(path)
  rmSync(temporary, { force: true })
  const file = openSync(temporary, 'wx', 0o600)
  try {
    let rest = Buffer.from(text, 'utf8')
    while (rest.length > 0) rest = rest.subarray(writeSync(file, rest))
    fchmodSync(file, mode)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  if (readTextFile(path).text !== before) {
    rmSync(temporary, { force: true })
    throw new HostFileError(changedText(path))
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}

/** A person agreed to a change of these files as they were. */
export function requireUnchanged(...files: readonly TextFile[]): void {
  for (const { path, text } of files) if (readTextFile(path).text !== text) throw new HostFileError(changedText(path))
}

const changedText = (path: string): string =>
  `${path} was changed by another program in the meantime, so it was left as it is. Try again.`

const temporaryName = (path: string): string => join(dirname(path), `.${basename(path)}.pawl-new`)

/** Removes what a run left that was killed. It may contain secrets. */
export function discardTemporary(path: string): void {
  if (existsSync(dirname(path))) withLock(path, () => rmSync(temporaryName(path), { force: true }))
}

/** Two imports at the same time would write one temporary file, and each would undo the change of the other. */
function withLock(path: string, work: () => void): void {
  const lock = join(dirname(path), `.${basename(path)}.pawl-lock`)
  const isLocked = tryLock(lock, path)
  try {
    work()
  } finally {
    if (isLocked) rmSync(lock, { force: true })
  }
}

/** The lock is a symbolic link to the process id, which exists with its content or not at all. */
function tryLock(lock: string, path: string): boolean {
  for (let tries = 0; tries < 3; tries++) {
    try {
      symlinkSync(String(process.pid), lock)
      return true
    } catch (error) {
      // Without links, such as on Windows, only the comparison before the rename protects the file.
      if ((error as { code?: string }).code !== 'EEXIST') return false
    }
    const owner = lockOwner(lock)
    if (owner === null) continue // released in this moment
    if (isOtherProcess(owner)) break
    rmSync(lock, { force: true }) // its process was killed
  }
  throw new HostFileError(
    `${path} is being written by another import, so it was left as it is. Try again. If none runs, delete ${lock}.`,
  )
}

function lockOwner(lock: string): number | null {
  try {
    return Number(readlinkSync(lock))
  } catch {
    return null
  }
}

function isOtherProcess(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}

export function removeTextFile(path: string): void {
  rmSync(path, { force: true })
  if (existsSync(dirname(path))) syncFolder(dirname(path))
}

/** Without it a power cut may undo the rename. Windows has no such call. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

export const digestOf = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')
