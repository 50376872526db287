// The handles of ctx.later and ctx.ask. Returning a handle parks the call; awaiting its value waits inside the body.

import type { Wait } from '../../engine/engine.ts'
import { PawlError } from '../../core/errors.ts'

const waitByHandle = new WeakMap<object, { wait: Wait; call: string }>()

/**
 * The wait behind a returned handle. A handle of another call is rejected, because nothing would ever wake this call.
 */
export function returnedWait(returned: unknown, call: string): Wait | undefined {
  const found = typeof returned === 'object' && returned !== null ? waitByHandle.get(returned) : undefined
  if (found && found.call !== call)
    throw new PawlError(
      'value_invalid',
      'A body can only return a handle that ctx.later or ctx.ask created in the same call.',
    )
  if (found?.wait.terms.asks?.secret)
    throw new PawlError('value_invalid', 'A secret answer cannot be the result of a call. Await its value and use it.')
  return found?.wait
}

/**
 * The handle of ctx.later. It can only be returned alone: inside a value it is rejected, so that its key stays secret.
 */
export class LaterHandle<T> {
  readonly key: string
  readonly deadline: number
  readonly #answer: () => Promise<T>

  constructor(wait: Wait, answer: () => Promise<T>) {
    this.key = wait.key
    this.deadline = wait.deadline
    this.#answer = answer
  }

  /** A getter, so that the wait starts only if the body reads it, not if the body returns the handle to park. */
  get value(): Promise<T> {
    return this.#answer()
  }

  toJSON(): never {
    throw new PawlError(
      'value_invalid',
      'A handle from ctx.later cannot be part of a value. Return it alone, or await its value.',
    )
  }
}

/** The handle of ctx.ask. It has no key, because only people in the inbox answer it. */
export class QuestionHandle<T> {
  readonly deadline: number
  readonly #answer: () => Promise<T>

  constructor(wait: Wait, answer: () => Promise<T>) {
    this.deadline = wait.deadline
    this.#answer = answer
  }

  get value(): Promise<T> {
    return this.#answer()
  }

  toJSON(): never {
    throw new PawlError('value_invalid', 'A question cannot be part of a value. Return it alone, or await its value.')
  }
}

/** Registers the handle, so that a body that returns it parks the call. */
export function registerWait<T extends object>(handle: T, wait: Wait, call: string): T {
  waitByHandle.set(handle, { wait, call })
  return handle
}
