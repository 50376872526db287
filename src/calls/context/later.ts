// What a body holds of a wait: a later, or a question. Returned alone it parks the call; its value waits inside the body.

import type { Wait } from '../../engine/engine.ts'
import { PawlError } from '../../core/errors.ts'

const waits = new WeakMap<object, { wait: Wait; call: string }>()

/** The wait behind a later that a body returned. Another call's later cannot park this one: nothing would ever wake it. */
export function waitOf(returned: unknown, call: string): Wait | undefined {
  const found = typeof returned === 'object' && returned !== null ? waits.get(returned) : undefined
  if (found && found.call !== call)
    throw new PawlError('value_invalid', 'A body may only return a later of its own call.')
  if (found?.wait.terms.asks?.secret)
    throw new PawlError('value_invalid', 'A secret answer cannot be the result of a call: await its value, and use it.')
  return found?.wait
}

/** A later as a body holds it. Only alone does it mean anything: inside a value it is refused, so that its key stays secret. */
export class LaterHandle<T> {
  readonly key: string
  readonly deadline: number
  readonly #answer: () => Promise<T>

  constructor(wait: Wait, answer: () => Promise<T>) {
    this.key = wait.key
    this.deadline = wait.deadline
    this.#answer = answer
  }

  /** A getter, so that a body that parks does not start to wait as well. */
  get value(): Promise<T> {
    return this.#answer()
  }

  toJSON(): never {
    throw new PawlError('value_invalid', 'A later cannot be part of a value: return it alone, or await its value.')
  }
}

/** A question as a body holds it: people answer it, no key does. */
export class AskedHandle<T> {
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
    throw new PawlError('value_invalid', 'A question cannot be part of a value: return it alone, or await its value.')
  }
}

/** From now on a body that returns it parks. */
export function parksOn<T extends object>(handle: T, wait: Wait, call: string): T {
  waits.set(handle, { wait, call })
  return handle
}
