// The conversation of a session as a turn works with it: loaded from where it was last summed up, and kept between turns, so that what was said
// before costs no more for having been long. Only the turn that the session's head names adds to it.

import { headName, type HeadRow, messageKey, messageName } from '../../store/records/conversation.ts'
import { frame } from '../../core/ids.ts'
import { bytesIn } from '../../core/size-limits.ts'
import { decode, encode } from '../../core/value.ts'
import type { Account } from '../../models/cost-ledger.ts'
import { Conversation } from '../../models/conversation.ts'
import type { Message, ModelMessage } from '../../models/message.ts'
import type { StoredMessage } from '../../models/turn-interface.ts'
import type { Change, StoredDocument, Store } from '../../store/store.ts'
import type { Scope } from '../ports.ts'

/** As it is kept: with what the turn that wrote it must know of it later. */
export interface KeptMessage extends StoredMessage {
  /** How many answers its turn had so far. */
  readonly step: number
  /** Of a summary: the last message that it stands for. */
  readonly upTo?: number
  /** Of what stands for what was said before, or begins anew: how the calls before it were named. What is told of them later names no other call. */
  readonly ids?: readonly string[]
  /** Of a summary: the model could not read what it was given for its next answer, so many times. */
  readonly tooLong?: number
  /** What the calls of a batch asked of the turn, or made of it (VAL-6). */
  readonly control?: unknown
  /** What its turn has cost so far. */
  readonly account?: Account
  /** In which frame it was said, where that is not the one its turn began in: what says so may be summed up. */
  readonly frame?: string
  /** The model of that frame, which may be of one before it. */
  readonly frameModel?: string
  /** As it was to be shown when it was said, where that is not as it is: its tools may be gone. */
  readonly shown?: Message
  /** It is sealed. */
  readonly secret?: true
  /** So many answers in a row had only calls that could not be made. */
  readonly invalid?: number
}

type Keep = NonNullable<Change['documents']>

const page = 500
/** Of JSON, a token is about so many bytes: in English as many characters, in Chinese about one. */
const bytesPerToken = 3.3
/** What a picture, or a page, is about. */
const tokensPerFile = 1_500

/** Of the calls that a conversation began without, so many are known by name: the last. */
const mostIds = 500

interface Entry {
  readonly kept: KeptMessage
  /** About. */
  readonly tokens: number
}

/** About how many tokens a text is. */
export const tokensIn = (text: string): number => bytesIn(text) / bytesPerToken

/** About how many a model reads of a message. */
export function tokensOf(message: Message): number {
  const parts =
    message.role === 'tool'
      ? message.results.flatMap((result) => result.parts)
      : 'parts' in message
        ? message.parts
        : []
  const files = (parts as readonly { readonly type: string }[]).filter(({ type }) => type === 'attachment').length
  return tokensIn(JSON.stringify(message)) + files * tokensPerFile
}

export class History {
  readonly born: string
  /** A message as models may see it. */
  shown: (message: Message) => Message = (message) => message
  #entries: Entry[] = []
  #summary: Entry | null = null
  #last = 0
  #lastKept: KeptMessage | null = null
  #tokens = 0
  #conversation: Conversation | null = null

  private constructor(born: string) {
    this.born = born
  }

  /** Up to date. `before` is what was known of the conversation here. */
  static async load(store: Store, of: Scope, born: string, before: History | undefined): Promise<History> {
    if (before?.born === born && before.#last > 0 && (await before.#newer(store, of))) return before
    const history = new History(born)
    await history.#whole(store, of)
    return history
  }

  /** Since it was last summed up, without the summary. */
  get messages(): readonly KeptMessage[] {
    return this.#entries.map(({ kept }) => kept)
  }

  get summedUp(): KeptMessage | undefined {
    return this.#summary?.kept
  }

  /** What stands for all before it. */
  get summary(): string | null {
    const { message } = this.summedUp ?? {}
    return message?.role === 'summary' ? message.text : null
  }

  /** Whether something in it is sealed. */
  get isSecret(): boolean {
    return this.#summary?.kept.secret === true || this.#entries.some(({ kept }) => kept.secret)
  }

  /** Of what is not summed up. */
  get tokens(): number {
    return Math.ceil(this.#tokens - (this.#summary?.tokens ?? 0))
  }

  /** The last message of a turn, or the last of it in this role. What is older than the turn is not looked through. */
  lastOf(turn: string, role?: Message['role']): KeptMessage | undefined {
    for (let at = this.#entries.length - 1; at >= 0; at--) {
      const { kept } = this.#entries[at] as Entry
      if (kept.turn !== turn) return undefined
      if (role === undefined || kept.message.role === role) return kept
    }
    return undefined
  }

  /** What is there of the turn that speaks now, in its order; of a summary, too: it was paid. */
  ofTurn(turn: string): KeptMessage[] {
    const from = this.#entries.findLastIndex(({ kept }) => kept.turn !== turn)
    const said = [...(this.#summary ? [this.#summary] : []), ...this.#entries.slice(from + 1)].map(({ kept }) => kept)
    return said.filter((kept) => kept.turn === turn).toSorted((a, b) => a.number - b.number)
  }

  get last(): KeptMessage | undefined {
    return this.#entries.at(-1)?.kept
  }

  shownOf({ message, shown = message }: KeptMessage): Message {
    return this.shown(shown)
  }

  /** What a model reads. */
  forModel(): readonly ModelMessage[] {
    if (!this.#conversation) {
      this.#conversation = new Conversation(this.#idsBefore)
      if (this.#summary) this.#conversation.push(this.#summary.kept.message)
      for (const { kept } of this.#entries) this.#conversation.push(this.shownOf(kept))
    }
    return this.#conversation.messages
  }

  /** Of calls before what is known here. */
  get #idsBefore(): readonly string[] {
    return (this.#summary ?? this.#entries[0])?.kept.ids ?? []
  }

  #idsUpTo(number: number): readonly string[] {
    const conversation = new Conversation(this.#idsBefore)
    for (const { kept } of this.#entries) if (kept.number <= number) conversation.push(kept.message)
    return conversation.ids.slice(-mostIds)
  }

  /** The next message, with its row; not a part of it until it is added: what could not be written was not said. */
  next(of: Scope, given: Omit<KeptMessage, 'number'>, secret: boolean): { kept: KeptMessage; row: Keep[number] } {
    const shown = this.shown(given.message)
    const { role } = given.message
    const ids = role === 'summary' || role === 'frame' ? this.#idsUpTo(given.upTo ?? this.#last) : []
    const kept: KeptMessage = {
      number: this.#last + 1,
      ...given,
      ...(ids.length > 0 ? { ids } : {}),
      ...(shown === given.message ? {} : { shown }),
      ...(secret ? { secret } : {}),
    }
    return {
      kept,
      row: { ...messageName(of, kept.number), value: encode(kept), ...(secret ? { secret: true as const } : {}) },
    }
  }

  add(kept: KeptMessage): void {
    this.#last = Math.max(this.#last, kept.number)
    if (kept.number === this.#last) this.#lastKept = kept
    const entry = { kept, tokens: tokensOf(kept.message) }
    const { role } = kept.message
    if (role === 'summary') this.#sumUp(entry)
    else if (role === 'frame') {
      this.#entries = [entry]
      this.#summary = null
      this.#recount()
    } else {
      this.#entries.push(entry)
      this.#tokens += entry.tokens
      this.#conversation?.push(this.shownOf(kept))
    }
  }

  #sumUp(entry: Entry): void {
    this.#summary = entry
    this.#entries = this.#entries.filter(({ kept }) => kept.number > (entry.kept.upTo ?? 0))
    this.#recount()
  }

  #recount(): void {
    this.#conversation = null
    this.#tokens = this.#entries.reduce((sum, { tokens }) => sum + tokens, this.#summary?.tokens ?? 0)
  }

  /** From the newest back to where it was last summed up, or another frame began. */
  async #whole(store: Store, of: Scope): Promise<void> {
    const found: StoredDocument[] = []
    let from = 0
    for (let after = '~'; ;) {
      const rows = await store.documentsOf({ of: 'message', ...of, after, limit: page, newest: true })
      for (const row of rows) {
        found.push(row)
        const { message, upTo = 0, number } = readMessage(row)
        if (message.role === 'summary') from = Math.max(from, upTo)
        if (message.role === 'frame') from = Math.max(from, number)
      }
      const last = rows.at(-1)
      if (!last || rows.length < page || last.key <= messageKey(from)) break
      after = last.key
    }
    for (const row of found.toReversed()) if (row.key >= messageKey(from)) this.add(readMessage(row))
  }

  /** False if what was last said here is not on record: whoever said it could not write it. */
  async #newer(store: Store, of: Scope): Promise<boolean> {
    const last = await store.document(messageName(of, this.#last))
    if (!last || last.value !== encode(this.#lastKept)) return false
    for (;;) {
      const rows = await store.documentsOf({ of: 'message', ...of, after: messageKey(this.#last), limit: page })
      for (const row of rows) this.add(readMessage(row))
      if (rows.length < page) return true
    }
  }
}

export const readMessage = ({ value }: Pick<StoredDocument, 'value'>): KeptMessage =>
  decode(value) as unknown as KeptMessage

/** The conversations that turns of this process last worked with. Who works with one has it alone: an execution that was lost may still add to its own. */
export class Histories {
  readonly #known = new Map<string, History>()
  readonly #most = 64

  async take(store: Store, of: Scope, born: string): Promise<History> {
    const place = frame(of.tenant, of.session)
    const before = this.#known.get(place)
    this.#known.delete(place)
    return History.load(store, of, born, before)
  }

  /** For the next turn, which looks whether all of it is on record. */
  giveBack(of: Scope, history: History): void {
    this.#known.set(frame(of.tenant, of.session), history)
    const [oldest] = this.#known.keys()
    if (this.#known.size > this.#most && oldest !== undefined) this.#known.delete(oldest)
  }
}

export async function headOf(store: Store, of: Scope): Promise<{ row: HeadRow | null; revision: number }> {
  const kept = await store.document(headName(of))
  return { row: kept ? (JSON.parse(kept.value) as HeadRow) : null, revision: kept?.revision ?? 0 }
}
