// PEOPLE: which definitions of remote tools are accepted (POL-9). tool/source.ts asks here before it gives a contract. The first definition
// that any worker sees is pinned; another one puts the tool into quarantine on record, where people read what changed and accept it, from
// whatever process. Nothing is remembered here: each question reads the pin, so what somebody accepts holds everywhere with the next one.

import { createHash } from 'node:crypto'
import { PawlError } from '../kernel/errors.ts'
import { frame, isName } from '../kernel/id.ts'
import type { Clock } from '../kernel/time.ts'
import type { Change, Guard, Kept, KeptName, Store } from '../store/store.ts'
import type { Logger } from '../tool/context.ts'
import { differenceOf } from '../tool/definition-difference.ts'
import type { Definition, Pins } from '../tool/pin.ts'

/** A remote tool whose definition is not the accepted one any more. */
export interface QuarantinedTool {
  readonly provider: string
  /** Its id. */
  readonly tool: string
  /** The fingerprint of the definition that was accepted … */
  readonly was: string
  /** … and of the one that its provider gave last: what accept() is asked for. */
  readonly now: string
  /** What changed, line by line. What cannot be seen in the provider's text is shown by its number, and what is too long to show is said. */
  readonly difference: string
  /** When another definition was first seen, in milliseconds since 1970. */
  readonly since: number
}

export interface AcceptChange {
  readonly provider: string
  readonly tool: string
  /** Of the definition that was read: `now` in the list. */
  readonly fingerprint: string
  /** Who accepts it; kept with the pin. */
  readonly by: string
}

/** Changed definitions of remote tools, for people to decide about. */
export interface Quarantine {
  /** All of this store, whichever worker saw the change; by provider and tool. */
  list(): Promise<readonly QuarantinedTool[]>
  /** Makes the changed definition the accepted one, for all workers. Refused if it has changed again since it was shown. */
  accept(change: AcceptChange): Promise<void>
}

/** As it is kept. */
interface Pin {
  readonly v: 1
  readonly provider: string
  readonly tool: string
  readonly fingerprint: string
  readonly definition: string
  /** Who accepted it; null: it was the first. */
  readonly by: string | null
  readonly at: number
}

type Changed = Omit<Pin, 'by' | 'at'> & { readonly since: number }

interface Found<T> {
  readonly revision: number
  readonly value: T
}

/** More others than this do not change the same tool in the same moment. */
const mostLooks = 10
const pageOf = 100

export class PinsOnRecord implements Pins, Quarantine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger

  constructor({ store, clock, logger }: { readonly store: Store; readonly clock: Clock; readonly logger: Logger }) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  async judge({ provider, tool, text: definition, fingerprint }: Definition): Promise<boolean> {
    const about = { v: 1, provider, tool, fingerprint, definition } as const
    return this.#until(async () => {
      const { names, pin, changed, guards } = await this.#look(provider, tool)
      if (!pin) {
        const first: Pin = { ...about, by: null, at: this.#clock.now() }
        return (await this.#commit(guards, [{ ...names.pin, value: JSON.stringify(first) }])) ? true : undefined
      }
      if (pin.value.fingerprint === fingerprint) {
        // It has returned to what it was. If that cannot be noted now, the next one does it.
        if (changed) await this.#commit(guards, [{ ...names.changed, value: null }])
        return true
      }
      if (changed?.value.fingerprint === fingerprint) return false
      const since = changed?.value.since ?? this.#clock.now()
      const put: Changed = { ...about, since }
      return (await this.#commit(guards, [{ ...names.changed, value: JSON.stringify(put) }])) ? false : undefined
    })
  }

  async list(): Promise<readonly QuarantinedTool[]> {
    const found: QuarantinedTool[] = []
    for (let after = ''; ;) {
      const page = await this.#store.keptOf({ of: 'quarantine', tenant: '', session: '', after, limit: pageOf })
      for (const each of page) {
        const { provider, tool, fingerprint: now, definition, since } = readOf<Changed>(each).value
        const pin = (await this.#look(provider, tool)).pin?.value
        // Accepted, or gone, between the two reads.
        if (!pin || pin.fingerprint === now) continue
        found.push({ provider, tool, was: pin.fingerprint, now, difference: differenceOf(pin.definition, definition), since })
      }
      if (page.length < pageOf) break
      after = (page.at(-1) as Kept).key
    }
    return found.toSorted((a, b) => (frameOf(a) < frameOf(b) ? -1 : 1))
  }

  async accept(change: AcceptChange): Promise<void> {
    const { provider, tool, fingerprint, by } = checked(change)
    await this.#until(async () => {
      const { names, pin, changed, guards } = await this.#look(provider, tool)
      // Said twice, it is done.
      if (pin && pin.value.fingerprint === fingerprint) return true
      if (!pin || !changed) throw new PawlError('quarantine_unknown', `The tool is '${tool}' of provider '${provider}'.`)
      const { since: _since, ...now } = changed.value
      if (now.fingerprint !== fingerprint)
        throw new PawlError('quarantine_changed', `The tool is '${tool}' of provider '${provider}'.`, { details: { now: now.fingerprint } })
      const next: Pin = { ...now, by, at: this.#clock.now() }
      const keep = [
        { ...names.pin, value: JSON.stringify(next) },
        { ...names.changed, value: null },
      ]
      return (await this.#commit(guards, keep)) ? true : undefined
    })
    this.#logger.info('A changed definition of a remote tool was accepted', { provider, tool, fingerprint, by })
  }

  /** Both as they are now, and guards that they still are when something is written. */
  async #look(provider: string, tool: string) {
    const key = createHash('sha256').update(frame(provider, tool)).digest('base64url')
    const names = {
      pin: { of: 'pin', tenant: '', session: '', key } satisfies KeptName,
      changed: { of: 'quarantine', tenant: '', session: '', key } satisfies KeptName,
    }
    const [pin, changed] = await Promise.all([this.#read<Pin>(names.pin), this.#read<Changed>(names.changed)])
    const guards: Guard[] = [
      { kind: 'kept', ...names.pin, revision: pin?.revision ?? 0 },
      { kind: 'kept', ...names.changed, revision: changed?.revision ?? 0 },
    ]
    return { names, pin, changed, guards }
  }

  async #read<T extends { readonly v: 1 }>(name: KeptName): Promise<Found<T> | undefined> {
    const kept = await this.#store.kept(name)
    return kept && readOf<T>(kept)
  }

  async #commit(guards: readonly Guard[], keep: NonNullable<Change['keep']>): Promise<boolean> {
    return (await this.#store.commit({ guards, keep, events: [] })).ok
  }

  /** Looks again while another was faster. */
  async #until(once: () => Promise<boolean | undefined>): Promise<boolean> {
    for (let look = 0; look < mostLooks; look++) {
      const answer = await once()
      if (answer !== undefined) return answer
    }
    throw new PawlError('store_unavailable', 'Others keep changing the same pin.')
  }
}

/** What cannot be read is not taken for anything: a pin of a later form may say more than we know. */
function readOf<T extends { readonly v: 1 }>({ revision, value: text }: Kept): Found<T> {
  const value = JSON.parse(text) as T
  if (value.v !== 1) throw new PawlError('store_newer', `A pin has the form ${JSON.stringify(value.v)}.`)
  return { revision, value }
}

const frameOf = ({ provider, tool }: QuarantinedTool): string => `${provider} ${tool}`

function checked(change: AcceptChange): AcceptChange {
  const { provider, tool, fingerprint, by } = Object(change) as AcceptChange
  for (const [name, value] of Object.entries({ provider, tool, fingerprint, by }))
    if (!isName(value) || value.trim() === '')
      throw new PawlError('config_invalid', `accept({ provider, tool, fingerprint, by }) needs ${name}, a text of at most 512 characters.`)
  return { provider, tool, fingerprint, by }
}
