// Names of task signals, their waits and their steps. The prefix `pawl:` is reserved for the runtime.

import { PawlError } from '../../core/errors.ts'
import { isReserved, stepKeys, waitNames } from '../journal-keys.ts'

export const replySignal = (request: string): string => `${waitNames.reply}${request}`

/** Name of the nth wait for a signal. */
export const signalWait = (name: string, number: number): string =>
  `${isReserved(name) ? name : waitNames.signal(name)}:${number}`

/** The step key for a wait name; undefined if the wait is not for a signal. */
export function markOfWait(wait: string): string | undefined {
  const [, name, number] = /^(?:pawl:signal:)?(.+):(\d+)$/s.exec(wait) ?? []
  return name === undefined ? undefined : stepKeys.signal(name, Number(number))
}

const namePattern = /^[A-Za-z0-9_-]{1,64}$/

export function checkSignal(name: unknown): string {
  if (typeof name === 'string' && namePattern.test(name)) return name
  throw new PawlError(
    'task_invalid',
    `The signal name is ${JSON.stringify(name)}; it must be 1 to 64 characters of A-Z a-z 0-9 _ -.`,
  )
}
