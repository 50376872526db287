// ctx.app: the value that the host's factory creates once per session and process, so every worker has it.

import { lengthPrefixed } from '../../core/ids.ts'
import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import type { Scope } from '../../core/scope.ts'
import type { App } from '../../tools/context/tool-context.ts'

/**
 * Creates the value of `ctx.app`. Called once in every process, and again for a session that has been idle for a long
 * time.
 */
export type AppFactory = (of: { readonly tenant: string; readonly session: string }) => App | Promise<App>

/** Cache size. The least recently used session is evicted, and its value is created again when needed. */
const maxSessions = 1_000

export class AppContexts {
  readonly #make: AppFactory
  readonly #made = new Map<string, MaybePromise<unknown>>()

  constructor(make: AppFactory) {
    this.#make = make
  }

  /** Synchronous if the value is cached. After a failure the next call tries again. */
  of({ tenant, session }: Scope): MaybePromise<unknown> {
    const key = lengthPrefixed(tenant, session)
    const known = this.#made.has(key)
    const app = known ? this.#made.get(key) : this.#make({ tenant, session })
    if (!isThenable(app)) return this.#remember(key, app)
    if (known) return app
    const made = Promise.resolve(app)
    this.#remember(key, made)
    void made.then(
      (value) => this.#made.get(key) === made && this.#remember(key, value),
      () => this.#made.get(key) === made && this.#made.delete(key),
    )
    return made
  }

  #remember(key: string, app: MaybePromise<unknown>): MaybePromise<unknown> {
    this.#made.delete(key)
    this.#made.set(key, app)
    if (this.#made.size > maxSessions) this.#made.delete(this.#made.keys().next().value as string)
    return app
  }
}
