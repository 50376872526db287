// What the host hands to tools (CALL-9): made by its factory, once per session and process, so that whichever worker takes a call up has it too.

import { frame } from '../../core/ids.ts'
import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import type { App } from '../../tools/context/context.ts'

/** Makes what bodies get as `ctx.app`. Asked again in every process, and for a session that was long idle. */
export type AppFactory = (of: { readonly tenant: string; readonly session: string }) => App | Promise<App>

/** Of more sessions than this it is forgotten, those first that used it longest ago, and made again when it is needed. */
const most = 1_000

export class AppContexts {
  readonly #make: AppFactory
  readonly #made = new Map<string, MaybePromise<unknown>>()

  constructor(make: AppFactory) {
    this.#make = make
  }

  /** At once, if it is there. What could not be made is tried again with the next call. */
  of({ tenant, session }: { readonly tenant: string; readonly session: string }): MaybePromise<unknown> {
    const place = frame(tenant, session)
    const known = this.#made.has(place)
    const app = known ? this.#made.get(place) : this.#make({ tenant, session })
    if (!isThenable(app)) return this.#keep(place, app)
    if (known) return app
    const made = Promise.resolve(app)
    this.#keep(place, made)
    void made.then(
      (value) => this.#made.get(place) === made && this.#keep(place, value),
      () => this.#made.get(place) === made && this.#made.delete(place),
    )
    return made
  }

  #keep(place: string, app: MaybePromise<unknown>): MaybePromise<unknown> {
    this.#made.delete(place)
    this.#made.set(place, app)
    if (this.#made.size > most) this.#made.delete(this.#made.keys().next().value as string)
    return app
  }
}
