// JOURNAL: what signals to a task are called. Those that begin with pawl: are the runtime's own.

import { PawlError } from '../../core/errors.ts'
import { replyWait } from './task-record.ts'

export const messageSignal = 'pawl:message'
export const replySignal = (request: string): string => `${replyWait}${request}`

/** The n-th wait for one. */
export const signalWait = (name: string, number: number): string =>
  `${name.startsWith('pawl:') ? name : `pawl:signal:${name}`}:${number}`
/** The step that says what it met. */
export const signalMark = (name: string, number: number): string => `signal:${number}:${name}`

/** Of a wait by its name; undefined if it is none for a signal. */
export function markOfWait(wait: string): string | undefined {
  const [, name, number] = /^(?:pawl:signal:)?(.+):(\d+)$/s.exec(wait) ?? []
  return name === undefined ? undefined : signalMark(name, Number(number))
}

const shape = /^[A-Za-z0-9_-]{1,64}$/

export function checkSignal(name: unknown): string {
  if (typeof name === 'string' && shape.test(name)) return name
  throw new PawlError(
    'task_invalid',
    `The name of a signal is ${JSON.stringify(name)}; it must be 1 to 64 of A-Z a-z 0-9 _ -.`,
  )
}
