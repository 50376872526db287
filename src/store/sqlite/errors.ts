// What SQLite says in numbers, in words: what happened to the file and what to do. Extended codes carry the plain one in their last byte.

import { dirname } from 'node:path'
import { PawlError } from '../../core/errors.ts'
import type { Store } from '../store.ts'

/** What a file system says to the same effect as SQLITE_READONLY. */
const forbidden = new Set(['EACCES', 'EPERM', 'EROFS'])

/** The error of ours for what SQLite threw. */
export function troubleWith(file: string, cause: unknown): PawlError {
  if (cause instanceof PawlError) return cause
  const {
    message,
    code,
    errcode = code !== undefined && forbidden.has(code) ? 8 : 0,
  } = cause as Error & { errcode?: number; code?: string }
  const unavailable = (why: string): PawlError => new PawlError('store_unavailable', why, { cause })
  switch (errcode & 0xff) {
    case 5:
    case 6:
      return unavailable(`Another process has kept '${file}' locked for longer than we wait.`)
    case 8:
      return unavailable(`'${file}' may not be written by this user: it, its folder or what it lies on is read-only.`)
    case 10:
      return unavailable(`Reading or writing '${file}' failed (${message}): its disk may be full, gone or broken.`)
    case 11:
      return new PawlError('store_damaged', `'${file}': ${message}.`, { cause })
    case 13:
      return unavailable(`There is no room left for '${file}': make some; nothing else is to be done.`)
    case 14:
      return unavailable(
        `'${file}' cannot be opened: its folder '${dirname(file)}' may not be written, or it is no file.`,
      )
    case 26:
      return new PawlError('store_not_pawl', `'${file}' is not a database.`, { cause })
    default:
      return unavailable(`'${file}': ${message}.`)
  }
}

/** Whether it fails at once or later. */
export function inWords<T>(file: string, work: () => T): T {
  const tell = (cause: unknown): never => {
    throw troubleWith(file, cause)
  }
  try {
    const given = work()
    return given instanceof Promise ? (given.catch(tell) as T) : given
  } catch (cause) {
    return tell(cause)
  }
}

/** What tells of its failures by itself, or has none. */
const clear = new Set(['commit', 'write', 'onHint', 'close', 'keepAlive'])

/** Whoever hears of a failure hears it in words; of one that is closed that it is. */
export function clearly(file: string, store: Store): Store {
  let isClosed = false
  const told = Object.entries(store).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function' || clear.has(name)) return [name, method]
    const asks = (...args: never[]): unknown => {
      try {
        return inWords(file, () => (method as (...given: never[]) => unknown)(...args))
      } catch (cause) {
        throw isClosed ? new PawlError('store_unavailable', `'${file}' is closed, with its runtime.`, { cause }) : cause
      }
    }
    return [name, asks]
  })
  const close = (): Promise<void> => {
    isClosed = true
    return store.close()
  }
  return { ...(Object.fromEntries(told) as Store), close }
}
