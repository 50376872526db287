// PEOPLE: which definitions of remote tools are accepted (POL-9). tools/provider-connection.ts asks here before it gives a contract. The first definition
// that any worker sees is pinned; another one puts the tool into quarantine on record, where people read what changed and accept it, from
// whatever process. Nothing is remembered here: each question reads the pin, so what somebody accepts holds everywhere with the next one.

import { createHash } from 'node:crypto'
import { PawlError } from '../core/errors.ts'
import { frame, isName } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Change, Guard, StoredDocument, DocumentName, Store } from '../store/store.ts'
import type { Logger } from '../tools/context/context.ts'
import { differenceOf } from '../tools/definition-difference.ts'
import type { Definition, Pins } from '../tools/definition-pin.ts'

/** A remote tool whose definition is not the accepted one any more. */
export interface QuarantinedTool {
  readonly provider: string
  /** What it goes by: its id, or its name if that is what another tool was accepted for. */
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

/** As it is kept, under each word that the tool goes by: its id, and its name if that is another. */
interface Pin {
  readonly v: 1
  readonly provider: string
  readonly tool: string
  readonly name: string
  readonly fingerprint: string
  readonly definition: string
  /** Who accepted it; null: it was the first. */
  readonly by: string | null
  readonly at: number
}

/** `word`: what it goes by and another definition is pinned for; it is kept under that. */
type Changed = Omit<Pin, 'by' | 'at'> & { readonly word: string; readonly since: number }

type Collection = 'pin' | 'quarantine'
type Form = { readonly v: 1 }

interface Found<T> {
  readonly word: string
  readonly name: DocumentName
  readonly value: T | undefined
  /** That it still is so. */
  readonly guard: Guard
}

/** More others than this do not change the same tool in the same moment. */
const mostLooks = 10

export class PinsOnRecord implements Pins, Quarantine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger

  constructor({ store, clock, logger }: { readonly store: Store; readonly clock: Clock; readonly logger: Logger }) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  async judge({ provider, tool, name, text: definition, fingerprint }: Definition): Promise<boolean> {
    const about = { v: 1, provider, tool, name, fingerprint, definition } as const
    return this.#until(async () => {
      const pins = await this.#all<Pin>('pin', provider, wordsOf(about))
      const other = pins.findLast(({ value }) => value && value.fingerprint !== fingerprint)
      if (other) {
        const { word } = other
        const changed = await this.#read<Changed>('quarantine', provider, word)
        if (changed.value?.fingerprint === fingerprint) return false
        const put: Changed = { ...about, word, since: changed.value?.since ?? this.#clock.now() }
        return (await this.#commit([...pins, changed], [{ ...changed.name, value: JSON.stringify(put) }]))
          ? false
          : undefined
      }
      const first: Pin = { ...about, by: null, at: this.#clock.now() }
      const documents = pins.filter(({ value }) => !value).map((pin) => ({ ...pin.name, value: JSON.stringify(first) }))
      // It has returned to what it was.
      const changed = await this.#all<Changed>('quarantine', provider, wordsOf(about))
      const over = changed.filter(({ value }) => value).map((each) => ({ ...each.name, value: null }))
      if (documents.length + over.length === 0) return true
      return (await this.#commit([...pins, ...changed], [...documents, ...over])) ? true : undefined
    })
  }

  async list(): Promise<readonly QuarantinedTool[]> {
    const found: QuarantinedTool[] = []
    for await (const each of iterateDocuments(this.#store, { of: 'quarantine', tenant: '', session: '' })) {
      const { provider, word: tool, fingerprint: now, definition, since } = readOf<Changed>(each)
      const pin = (await this.#read<Pin>('pin', provider, tool)).value
      // Accepted, or gone, between the two reads.
      if (!pin || pin.fingerprint === now) continue
      found.push({
        provider,
        tool,
        was: pin.fingerprint,
        now,
        difference: differenceOf(pin.definition, definition),
        since,
      })
    }
    return found.toSorted((a, b) => (frameOf(a) < frameOf(b) ? -1 : 1))
  }

  async accept(change: AcceptChange): Promise<void> {
    const { provider, tool, fingerprint, by } = checked(change)
    const about = `The tool is '${tool}' of provider '${provider}'.`
    await this.#until(async () => {
      const [pin, changed] = await Promise.all([
        this.#read<Pin>('pin', provider, tool),
        this.#read<Changed>('quarantine', provider, tool),
      ])
      // Said twice, it is done.
      if (pin.value?.fingerprint === fingerprint) return true
      if (!pin.value || !changed.value) throw new PawlError('quarantine_unknown', about)
      const { since: _since, word: _word, ...now } = changed.value
      if (now.fingerprint !== fingerprint)
        throw new PawlError('quarantine_changed', about, { details: { now: now.fingerprint } })
      const old = pin.value
      const next: Pin = { ...now, by, at: this.#clock.now() }
      const words = wordsOf(next)
      const pins = await this.#all<Pin>('pin', provider, [...new Set([tool, ...words, ...wordsOf(old)])])
      // A word that it went by and does not any more is free for another tool.
      const left = pins.filter(({ word, value }) => !words.includes(word) && value?.fingerprint === old.fingerprint)
      const documents = [
        ...pins
          .filter(({ word }) => words.includes(word))
          .map(({ name }) => ({ ...name, value: JSON.stringify(next) })),
        ...[...left, changed].map(({ name }) => ({ ...name, value: null })),
      ]
      return (await this.#commit([pin, ...pins, changed], documents)) ? true : undefined
    })
    this.#logger.info('A changed definition of a remote tool was accepted', { provider, tool, fingerprint, by })
  }

  #all<T extends Form>(of: Collection, provider: string, words: readonly string[]): Promise<Found<T>[]> {
    return Promise.all(words.map((word) => this.#read<T>(of, provider, word)))
  }

  async #read<T extends Form>(of: Collection, provider: string, word: string): Promise<Found<T>> {
    const key = createHash('sha256').update(frame(provider, word)).digest('base64url')
    const name = { of, tenant: '', session: '', key }
    const kept = await this.#store.document(name)
    return {
      word,
      name,
      value: kept && readOf<T>(kept),
      guard: { kind: 'kept', ...name, revision: kept?.revision ?? 0 },
    }
  }

  /** If all that was found still is so. */
  async #commit(found: readonly Found<Form>[], documents: NonNullable<Change['documents']>): Promise<boolean> {
    return (await this.#store.commit({ guards: found.map(({ guard }) => guard), documents: documents, events: [] })).ok
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
function readOf<T extends Form>({ value: text }: StoredDocument): T {
  const value = JSON.parse(text) as T
  if (value.v !== 1) throw new PawlError('store_newer', `A pin has the form ${JSON.stringify(value.v)}.`)
  return value
}

/** The name last: it is what a model knows it by. */
const wordsOf = ({ tool, name }: { readonly tool: string; readonly name: string }): string[] => [
  ...new Set([tool, name]),
]

const frameOf = ({ provider, tool }: QuarantinedTool): string => `${provider} ${tool}`

function checked(change: AcceptChange): AcceptChange {
  const { provider, tool, fingerprint, by } = Object(change) as AcceptChange
  for (const [name, value] of Object.entries({ provider, tool, fingerprint, by }))
    if (!isName(value) || value.trim() === '')
      throw new PawlError(
        'config_invalid',
        `accept({ provider, tool, fingerprint, by }) needs ${name}, a text of at most 512 characters.`,
      )
  return { provider, tool, fingerprint, by }
}
