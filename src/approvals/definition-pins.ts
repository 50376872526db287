// Accepted definitions of remote tools. tools/tool-provider-connection.ts asks here before it hands out a contract. The
// first definition that any worker sees is pinned; a different one puts the tool into quarantine until a person
// accepts the change. Nothing is cached: every check reads the pin, so an acceptance takes effect on all workers at
// once.

import { createHash } from 'node:crypto'
import { checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { lengthPrefixed, isName } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import type { Guard, StoredDocument, DocumentName, Store, DocumentWrite } from '../store/store.ts'
import type { Logger } from '../tools/context/tool-context.ts'
import { differenceOf } from '../tools/definition-difference.ts'
import type { Definition, Pins } from '../tools/pinned-definition.ts'
import { eventOf, storeSubject, type EventBodies } from '../store/records/event.ts'
import { collections } from '../store/collections.ts'

/** A remote tool whose definition differs from the accepted one. */
export interface QuarantinedTool {
  /** Name of the provider. */
  readonly provider: string
  /** The tool's id, or its name if the accepted definition under that name belongs to another tool. */
  readonly tool: string
  /** Fingerprint of the accepted definition. */
  readonly was: string
  /** Fingerprint of the definition the provider returned last; pass it to accept(). */
  readonly now: string
  /** Line-by-line difference. Invisible characters are shown by code point; text that is too long is marked as cut. */
  readonly difference: string
  /** When a different definition was first seen, in milliseconds since 1970. */
  readonly since: number
}

/** Names the changed definition to accept. */
export interface AcceptChange {
  /** Name of the provider. */
  readonly provider: string
  /** Name of the tool. */
  readonly tool: string
  /** Fingerprint of the definition that was reviewed: `now` in the list. */
  readonly fingerprint: string
  /** The person who accepts it; stored with the pin. */
  readonly by: string
}

const name = option.required({
  expected: 'a non-blank string of at most 512 characters',
  valid: (value) => isName(value) && value.trim() !== '',
})
export const acceptOptions = {
  provider: name,
  tool: name,
  fingerprint: name,
  by: name,
} satisfies OptionTable<AcceptChange>

/** Changed definitions of remote tools that a person has to accept. */
export interface Quarantine {
  /** All quarantined tools of this store, sorted by provider and tool. */
  list(): Promise<readonly QuarantinedTool[]>
  /** Accepts the changed definition for all workers. Rejected if the definition changed again since it was listed. */
  accept(change: AcceptChange): Promise<void>
}

/** The stored pin. One copy is stored under the tool's id and one under its name, if they differ. */
interface Pin {
  readonly v: 1
  readonly provider: string
  readonly tool: string
  readonly name: string
  readonly fingerprint: string
  readonly definition: string
  /** The person who accepted it; null for the first definition, which is pinned without approval. */
  readonly by: string | null
  readonly at: number
}

/**
 * A changed definition, stored in quarantine. `word`: the tool id or name whose pin has a different definition; part of
 * the key.
 */
type QuarantinedDefinition = Omit<Pin, 'by' | 'at'> & { readonly word: string; readonly since: number }

type DefinitionChange = EventBodies['definition.changed']
type PinCollection = 'pin' | 'quarantine'
type Versioned = { readonly v: 1 }

interface DocumentRead<T> {
  readonly word: string
  readonly name: DocumentName
  readonly value: T | undefined
  /** Lets a commit pass only while the document is unchanged. */
  readonly guard: Guard
}

/** Give up after this many conflicting commits. */
const maxTries = 10

export class PinStore implements Pins, Quarantine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger

  constructor({ store, clock, logger }: { readonly store: Store; readonly clock: Clock; readonly logger: Logger }) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  async isAccepted({ provider, tool, name, text: definition, fingerprint }: Definition): Promise<boolean> {
    const about = { v: 1, provider, tool, name, fingerprint, definition } as const
    return this.#retryOnConflict(async () => {
      const pins = await this.#readAll<Pin>('pin', provider, aliasesOf(about))
      const mismatch = pins.findLast(({ value }) => value && value.fingerprint !== fingerprint)
      if (mismatch) {
        const { word } = mismatch
        const changed = await this.#read<QuarantinedDefinition>('quarantine', provider, word)
        if (changed.value?.fingerprint === fingerprint) return false
        const row: QuarantinedDefinition = { ...about, word, since: changed.value?.since ?? this.#clock.now() }
        const documents = [{ ...changed.name, value: JSON.stringify(row) }]
        const event = { provider, tool: word, change: 'quarantined', fingerprint } as const
        return (await this.#commit([...pins, changed], documents, [event])) ? false : undefined
      }
      const first: Pin = { ...about, by: null, at: this.#clock.now() }
      const documents = pins.filter(({ value }) => !value).map((pin) => ({ ...pin.name, value: JSON.stringify(first) }))
      // The definition matches the pin again: remove the quarantine entries.
      const changed = await this.#readAll<QuarantinedDefinition>('quarantine', provider, aliasesOf(about))
      const cleared = changed.filter(({ value }) => value).map((each) => ({ ...each.name, value: null }))
      if (documents.length + cleared.length === 0) return true
      const events: DefinitionChange[] = [
        ...(documents.length > 0 ? [{ provider, tool, change: 'pinned' as const, fingerprint }] : []),
        ...changed.flatMap(({ word, value }) =>
          value ? [{ provider, tool: word, change: 'restored' as const, fingerprint }] : [],
        ),
      ]
      return (await this.#commit([...pins, ...changed], [...documents, ...cleared], events)) ? true : undefined
    })
  }

  async list(): Promise<readonly QuarantinedTool[]> {
    const found: QuarantinedTool[] = []
    for await (const each of collections.quarantine.iterate(this.#store, { tenant: '', session: '' })) {
      const { provider, word: tool, fingerprint: now, definition, since } = parseRow<QuarantinedDefinition>(each)
      const pin = (await this.#read<Pin>('pin', provider, tool)).value
      // Accepted or removed between the two reads.
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
    return found.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  }

  async accept(change: AcceptChange): Promise<void> {
    checkRequiredOptions(change, acceptOptions, 'quarantine.accept()')
    const { provider, tool, fingerprint, by } = change
    const subject = `The tool is '${tool}' of provider '${provider}'.`
    await this.#retryOnConflict(async () => {
      const [pin, changed] = await Promise.all([
        this.#read<Pin>('pin', provider, tool),
        this.#read<QuarantinedDefinition>('quarantine', provider, tool),
      ])
      // Accepting twice is not an error.
      if (pin.value?.fingerprint === fingerprint) return true
      if (!pin.value || !changed.value) throw new PawlError('quarantine_unknown', subject)
      const { since: _since, word: _word, ...now } = changed.value
      if (now.fingerprint !== fingerprint)
        throw new PawlError('quarantine_changed', subject, { details: { now: now.fingerprint } })
      const old = pin.value
      const next: Pin = { ...now, by, at: this.#clock.now() }
      const aliases = aliasesOf(next)
      const pins = await this.#readAll<Pin>('pin', provider, [...new Set([tool, ...aliases, ...aliasesOf(old)])])
      // An id or name the tool no longer uses becomes free for another tool.
      const released = pins.filter(
        ({ word, value }) => !aliases.includes(word) && value?.fingerprint === old.fingerprint,
      )
      const documents = [
        ...pins
          .filter(({ word }) => aliases.includes(word))
          .map(({ name }) => ({ ...name, value: JSON.stringify(next) })),
        ...[...released, changed].map(({ name }) => ({ ...name, value: null })),
      ]
      const event = { provider, tool, change: 'accepted', fingerprint, by } as const
      return (await this.#commit([pin, ...pins, changed], documents, [event])) ? true : undefined
    })
    this.#logger.info('A changed definition of a remote tool was accepted', { provider, tool, fingerprint, by })
  }

  #readAll<T extends Versioned>(
    of: PinCollection,
    provider: string,
    aliases: readonly string[],
  ): Promise<DocumentRead<T>[]> {
    return Promise.all(aliases.map((alias) => this.#read<T>(of, provider, alias)))
  }

  async #read<T extends Versioned>(of: PinCollection, provider: string, word: string): Promise<DocumentRead<T>> {
    const key = createHash('sha256').update(lengthPrefixed(provider, word)).digest('base64url')
    const name = collections[of].name({ tenant: '', session: '' }, key)
    const document = await this.#store.document(name)
    return {
      word,
      name,
      value: document && parseRow<T>(document),
      guard: { kind: 'kept', ...name, revision: document?.revision ?? 0 },
    }
  }

  /** Commits only if every document read is unchanged. */
  async #commit(
    found: readonly DocumentRead<Versioned>[],
    documents: readonly DocumentWrite[],
    changes: readonly DefinitionChange[],
  ): Promise<boolean> {
    const at = this.#clock.now()
    const events = changes.map((change) => eventOf(storeSubject, 'definition.changed', at, change))
    return (await this.#store.commit({ guards: found.map(({ guard }) => guard), documents, events })).ok
  }

  /** Repeats `once` while it returns undefined (a concurrent commit won). */
  async #retryOnConflict(once: () => Promise<boolean | undefined>): Promise<boolean> {
    for (let attempt = 0; attempt < maxTries; attempt++) {
      const answer = await once()
      if (answer !== undefined) return answer
    }
    throw new PawlError('store_unavailable', `Commits to the same pin conflicted ${maxTries} times.`)
  }
}

/** An unknown version is an error: a pin written by a newer release may mean more than this one understands. */
function parseRow<T extends Versioned>({ value: text }: StoredDocument): T {
  const value = collections.pin.parse(text) as T
  if (value.v !== 1)
    throw new PawlError(
      'store_newer',
      `A stored pin has version ${JSON.stringify(value.v)}; this release reads version 1.`,
    )
  return value
}

/** The name is last, because the last mismatch is the one reported, and models call the tool by its name. */
const aliasesOf = ({ tool, name }: { readonly tool: string; readonly name: string }): string[] => [
  ...new Set([tool, name]),
]

const sortKey = ({ provider, tool }: QuarantinedTool): string => `${provider} ${tool}`
