// JOURNAL: things kept by the place of a call, without making a text of the place for every look. What is empty is forgotten.

import type { CallPosition } from './call-record.ts'

type Named<T> = Map<string, T>

export class PositionMap<T> {
  readonly #tenants: Named<Named<Named<Named<T>>>> = new Map()

  get(at: CallPosition): T | undefined {
    return this.#tenants.get(at.tenant)?.get(at.session)?.get(at.batch)?.get(nameOf(at))
  }

  /** All of a session, in no order. */
  within(tenant: string, session: string): T[] {
    const batches = this.#tenants.get(tenant)?.get(session)
    return batches ? [...batches.values()].flatMap((calls) => [...calls.values()]) : []
  }

  set(at: CallPosition, value: T): void {
    const sessions = inner(this.#tenants, at.tenant)
    const batches = inner(sessions, at.session)
    inner(batches, at.batch).set(nameOf(at), value)
  }

  delete(at: CallPosition): void {
    const sessions = this.#tenants.get(at.tenant)
    const batches = sessions?.get(at.session)
    const calls = batches?.get(at.batch)
    if (!sessions || !batches || !calls?.delete(nameOf(at)) || calls.size > 0) return
    batches.delete(at.batch)
    if (batches.size > 0) return
    sessions.delete(at.session)
    if (sessions.size === 0) this.#tenants.delete(at.tenant)
  }
}

/** Ids hold no NUL, so nothing else is named like a second occurrence. */
const nameOf = ({ id, occurrence }: CallPosition): string => (occurrence === 0 ? id : `${id}\0${occurrence}`)

function inner<T>(of: Named<Named<T>>, name: string): Named<T> {
  let found = of.get(name)
  if (!found) of.set(name, (found = new Map()))
  return found
}
