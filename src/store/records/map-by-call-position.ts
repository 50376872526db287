// A map keyed by call position, nested so that a lookup does not have to build a string. Empty levels are removed.

import type { CallPosition } from './call-record.ts'

type ByName<T> = Map<string, T>

export class PositionMap<T> {
  readonly #tenants: ByName<ByName<ByName<ByName<T>>>> = new Map()

  get(at: CallPosition): T | undefined {
    return this.#tenants.get(at.tenant)?.get(at.session)?.get(at.batch)?.get(callKey(at))
  }

  /** All values of a session, unordered. */
  within(tenant: string, session: string): T[] {
    const batches = this.#tenants.get(tenant)?.get(session)
    return batches ? [...batches.values()].flatMap((calls) => [...calls.values()]) : []
  }

  /** Names of the tenants, unordered. */
  tenants(): string[] {
    return [...this.#tenants.keys()]
  }

  /** Names of a tenant's sessions, unordered. */
  sessions(tenant: string): string[] {
    return [...(this.#tenants.get(tenant)?.keys() ?? [])]
  }

  set(at: CallPosition, value: T): void {
    const sessions = getOrCreate(this.#tenants, at.tenant)
    const batches = getOrCreate(sessions, at.session)
    getOrCreate(batches, at.batch).set(callKey(at), value)
  }

  delete(at: CallPosition): void {
    const sessions = this.#tenants.get(at.tenant)
    const batches = sessions?.get(at.session)
    const calls = batches?.get(at.batch)
    if (!sessions || !batches || !calls?.delete(callKey(at)) || calls.size > 0) return
    batches.delete(at.batch)
    if (batches.size > 0) return
    sessions.delete(at.session)
    if (sessions.size === 0) this.#tenants.delete(at.tenant)
  }
}

/** Ids contain no NUL, so no id collides with a second occurrence. */
const callKey = ({ id, occurrence }: CallPosition): string => (occurrence === 0 ? id : `${id}\0${occurrence}`)

function getOrCreate<T>(of: ByName<ByName<T>>, name: string): ByName<T> {
  let found = of.get(name)
  if (!found) of.set(name, (found = new Map()))
  return found
}
