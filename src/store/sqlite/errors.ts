// Turns SQLite errors into PawlErrors that say what happened to the file and what to do. The low byte of an extended
// SQLite code is the primary code.

import { chainCatch } from '../../core/maybe-promise.ts'
import { dirname } from 'node:path'
import { PawlError } from '../../core/errors.ts'
import type { Store } from '../store.ts'

/** File system codes equivalent to SQLITE_READONLY. */
const readOnlyCodes = new Set(['EACCES', 'EPERM', 'EROFS'])

/** The PawlError for an error thrown by SQLite. */
export function sqliteError(file: string, cause: unknown): PawlError {
  if (cause instanceof PawlError) return cause
  const {
    message,
    code,
    errcode = code !== undefined && readOnlyCodes.has(code) ? 8 : 0,
  } = cause as Error & { errcode?: number; code?: string }
  const unavailable = (why: string): PawlError => new PawlError('store_unavailable', why, { cause })
  switch (errcode & 0xff) {
    case 5:
    case 6:
      return unavailable(`Another process locked '${file}' for longer than the busy timeout.`)
    case 8:
      return unavailable(`'${file}' is not writable by this user: the file, its folder or its disk is read-only.`)
    case 10:
      return unavailable(`Reading or writing '${file}' failed (${message}). Its disk may be full, missing or broken.`)
    case 11:
      return new PawlError('store_damaged', `'${file}': ${message}.`, { cause })
    case 13:
      return unavailable(`The disk of '${file}' is full. Free some space; nothing else needs repair.`)
    case 14:
      return unavailable(
        `'${file}' cannot be opened: its folder '${dirname(file)}' is not writable, or it is not a file.`,
      )
    case 26:
      return new PawlError('store_not_pawl', `'${file}' is not a database.`, { cause })
    default:
      return unavailable(`'${file}': ${message}.`)
  }
}

/** Translates errors of `work`, whether it throws or rejects. */
export function withSqliteErrors<T>(file: string, work: () => T): T {
  const rethrow = (cause: unknown): never => {
    throw sqliteError(file, cause)
  }
  return chainCatch(work, rethrow) as T
}

/** Methods that translate their own errors or have none. */
const notWrapped = new Set(['commit', 'write', 'onHint', 'close', 'keepAlive'])

/** Wraps all methods of the store so that their errors are translated, including the error for a closed store. */
export function wrapErrors(file: string, store: Store): Store {
  let isClosed = false
  const wrapped = Object.entries(store).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function' || notWrapped.has(name)) return [name, method]
    const wrappedMethod = (...args: never[]): unknown => {
      try {
        return withSqliteErrors(file, () => (method as (...given: never[]) => unknown)(...args))
      } catch (cause) {
        throw isClosed ? new PawlError('store_unavailable', `'${file}' was closed with its runtime.`, { cause }) : cause
      }
    }
    return [name, wrappedMethod]
  })
  const close = (): Promise<void> => {
    isClosed = true
    return store.close()
  }
  return { ...(Object.fromEntries(wrapped) as Store), close }
}
