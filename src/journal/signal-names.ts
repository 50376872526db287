// JOURNAL: what signals to a task are called. Those that begin with pawl: are the runtime's own.

import { PawlError } from '../kernel/errors.ts'
import { replyWait } from './task.ts'

export const messageSignal = 'pawl:message'
export const replySignal = (request: string): string => `${replyWait}${request}`
const shape = /^[A-Za-z0-9_-]{1,64}$/

export function checkSignal(name: unknown): string {
  if (typeof name === 'string' && shape.test(name)) return name
  throw new PawlError('task_invalid', `The name of a signal is ${JSON.stringify(name)}; it must be 1 to 64 of A-Z a-z 0-9 _ -.`)
}
