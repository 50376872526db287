// The conversation of a session as a turn uses it: loaded from the last summary on and cached between turns, so that
// old messages are not read again. Only the turn named by the session's head appends to it.

import { type HeadRow, messageKey } from '../../store/records/conversation.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import { utf8Bytes } from '../../core/size-limits.ts'
import { decode, encode } from '../../core/tool-value.ts'
import type { Scope } from '../../core/scope.ts'
import type { UsageByModel } from '../../models/cost-ledger.ts'
import { Conversation } from '../../models/conversation.ts'
import type { Message, ModelMessage } from '../../models/message.ts'
import type { StoredMessage } from '../../models/turn-interface.ts'
import type { StoredDocument, Store, DocumentWrite } from '../../store/store.ts'
import { collections } from '../../store/collections.ts'

/** The stored form of a message, with state that its turn needs after a restart. */
export interface MessageRecord extends StoredMessage {
  /** Model answers of its turn so far. */
  readonly step: number
  /** Summary only: number of the last message it replaces. */
  readonly upTo?: number
  /** Summary and frame only: ids of earlier calls. A later call that reuses one is renamed, so notices are clear. */
  readonly ids?: readonly string[]
  /** Summary only: how often the model rejected the conversation as too long before its next answer. */
  readonly tooLong?: number
  /** Control result of the batch: finish, fail or switch frame. */
  readonly control?: unknown
  /** Model usage of its turn so far. */
  readonly account?: UsageByModel
  /**
   * Frame of the message if it differs from the turn's first frame; the frame message itself may have been summarized.
   */
  readonly frame?: string
  /** Model of that frame, which may be inherited from the frame before. */
  readonly frameModel?: string
  /** The message with hidden arguments removed, if that differs: its tools may be gone later. */
  readonly shown?: Message
  /** The stored message is sealed. */
  readonly secret?: true
  /** Consecutive answers whose calls were all invalid. */
  readonly invalid?: number
  /** Notice only: how many answers of the turn did not match its `output` so far. */
  readonly invalidOutput?: number
  /** The message that the turn was started with. Notices may be recorded before it. */
  readonly opensTurn?: true
}

const pageSize = 500
/** Average bytes of JSON per token. In English that is about three characters, in Chinese about one. */
const bytesPerToken = 3.3
/** Estimate for an image or a page. */
const tokensPerFile = 1_500

/** At most this many call ids, the latest, are carried over. */
const maxIds = 500

interface HistoryEntry {
  readonly record: MessageRecord
  /** Estimate. */
  readonly tokens: number
}

/** Estimated tokens of a text. */
export const tokensIn = (text: string): number => utf8Bytes(text) / bytesPerToken

/** Estimated tokens of a message. */
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
  /** Removes hidden arguments from a message. */
  shown: (message: Message) => Message = (message) => message
  #entries: HistoryEntry[] = []
  #summary: HistoryEntry | null = null
  #last = 0
  #lastRecord: MessageRecord | null = null
  #tokens = 0
  #conversation: Conversation | null = null

  private constructor(born: string) {
    this.born = born
  }

  /** Returns an up-to-date history; reuses the cached one (`before`) if its last message is recorded. */
  static async load(store: Store, of: Scope, born: string, before: History | undefined): Promise<History> {
    if (before?.born === born && before.#last > 0 && (await before.#loadNewer(store, of))) return before
    const history = new History(born)
    await history.#loadAll(store, of)
    return history
  }

  /** Messages since the last summary, without it. */
  get messages(): readonly MessageRecord[] {
    return this.#entries.map(({ record }) => record)
  }

  get summaryRecord(): MessageRecord | undefined {
    return this.#summary?.record
  }

  /** Text of the summary. */
  get summary(): string | null {
    const { message } = this.summaryRecord ?? {}
    return message?.role === 'summary' ? message.text : null
  }

  /** True if any message is sealed. */
  get isSecret(): boolean {
    return this.#summary?.record.secret === true || this.#entries.some(({ record }) => record.secret)
  }

  /** Estimated tokens without the summary. */
  get tokens(): number {
    return Math.ceil(this.#tokens - (this.#summary?.tokens ?? 0))
  }

  /** The last message of the turn, optionally in one role. Stops at the first message of an earlier turn. */
  lastOf(turn: string, role?: Message['role']): MessageRecord | undefined {
    for (let at = this.#entries.length - 1; at >= 0; at--) {
      const { record } = this.#entries[at] as HistoryEntry
      if (record.turn !== turn) return undefined
      if (role === undefined || record.message.role === role) return record
    }
    return undefined
  }

  /** Messages of the current turn in order, including its summary, whose usage counts too. */
  ofTurn(turn: string): MessageRecord[] {
    const from = this.#entries.findLastIndex(({ record }) => record.turn !== turn)
    const records = [...(this.#summary ? [this.#summary] : []), ...this.#entries.slice(from + 1)].map(
      ({ record }) => record,
    )
    return records.filter((record) => record.turn === turn).toSorted((a, b) => a.number - b.number)
  }

  get last(): MessageRecord | undefined {
    return this.#entries.at(-1)?.record
  }

  shownOf({ message, shown = message }: MessageRecord): Message {
    return this.shown(shown)
  }

  /** The conversation as a model reads it. */
  forModel(): readonly ModelMessage[] {
    if (!this.#conversation) {
      this.#conversation = new Conversation(this.#idsBefore)
      if (this.#summary) this.#conversation.push(this.#summary.record.message)
      for (const { record } of this.#entries) this.#conversation.push(this.shownOf(record))
    }
    return this.#conversation.messages
  }

  /** Ids of calls before the loaded messages. */
  get #idsBefore(): readonly string[] {
    return (this.#summary ?? this.#entries[0])?.record.ids ?? []
  }

  #idsUpTo(number: number): readonly string[] {
    const conversation = new Conversation(this.#idsBefore)
    for (const { record } of this.#entries) if (record.number <= number) conversation.push(record.message)
    return conversation.ids.slice(-maxIds)
  }

  /**
   * Builds the next message and its row. The caller adds it after the write, so that a failed write leaves the history
   * unchanged.
   */
  next(
    of: Scope,
    fields: Omit<MessageRecord, 'number'>,
    secret: boolean,
  ): { record: MessageRecord; row: DocumentWrite } {
    const shown = this.shown(fields.message)
    const { role } = fields.message
    const ids = role === 'summary' || role === 'frame' ? this.#idsUpTo(fields.upTo ?? this.#last) : []
    const record: MessageRecord = {
      number: this.#last + 1,
      ...fields,
      ...(ids.length > 0 ? { ids } : {}),
      ...(shown === fields.message ? {} : { shown }),
      ...(secret ? { secret } : {}),
    }
    return {
      record,
      row: {
        ...collections.message.name(of, record.number),
        value: encode(record),
        ...(secret ? { secret: true as const } : {}),
      },
    }
  }

  add(record: MessageRecord): void {
    this.#last = Math.max(this.#last, record.number)
    if (record.number === this.#last) this.#lastRecord = record
    const entry = { record, tokens: tokensOf(record.message) }
    const { role } = record.message
    if (role === 'summary') this.#sumUp(entry)
    else if (role === 'frame') {
      this.#entries = [entry]
      this.#summary = null
      this.#recount()
    } else {
      this.#entries.push(entry)
      this.#tokens += entry.tokens
      this.#conversation?.push(this.shownOf(record))
    }
  }

  #sumUp(entry: HistoryEntry): void {
    this.#summary = entry
    this.#entries = this.#entries.filter(({ record }) => record.number > (entry.record.upTo ?? 0))
    this.#recount()
  }

  #recount(): void {
    this.#conversation = null
    this.#tokens = this.#entries.reduce((sum, { tokens }) => sum + tokens, this.#summary?.tokens ?? 0)
  }

  /** Loads from the newest message back to the last summary or frame. */
  async #loadAll(store: Store, of: Scope): Promise<void> {
    const found: StoredDocument[] = []
    let from = 0
    for (let after = '~'; ;) {
      const rows = await store.documentsOf({ of: collections.message.of, ...of, after, limit: pageSize, newest: true })
      for (const row of rows) {
        found.push(row)
        const { message, upTo = 0, number } = readMessage(row)
        if (message.role === 'summary') from = Math.max(from, upTo)
        if (message.role === 'frame') from = Math.max(from, number)
      }
      const last = rows.at(-1)
      if (!last || rows.length < pageSize || last.key <= messageKey(from)) break
      after = last.key
    }
    for (const row of found.toReversed()) if (row.key >= messageKey(from)) this.add(readMessage(row))
  }

  /** Returns false if the last cached message is not recorded: its writer could not commit it. */
  async #loadNewer(store: Store, of: Scope): Promise<boolean> {
    const last = await store.document(collections.message.name(of, this.#last))
    if (!last || last.value !== encode(this.#lastRecord)) return false
    for (;;) {
      const rows = await store.documentsOf({
        of: collections.message.of,
        ...of,
        after: messageKey(this.#last),
        limit: pageSize,
      })
      for (const row of rows) this.add(readMessage(row))
      if (rows.length < pageSize) return true
    }
  }
}

export const readMessage = ({ value }: Pick<StoredDocument, 'value'>): MessageRecord =>
  decode(value) as unknown as MessageRecord

/** The frame that its turn worked in after the message; undefined for the turn's first frame. */
export const frameNameOf = ({ message, frame }: MessageRecord): string | undefined =>
  message.role === 'frame' ? message.frame : frame

/**
 * Conversations that turns of this process used last. `take` removes the entry: a lost execution may still append to
 * its own copy.
 */
export class HistoryCache {
  readonly #cached = new Map<string, History>()
  readonly #maxSize = 64

  async take(store: Store, of: Scope, born: string): Promise<History> {
    const key = lengthPrefixed(of.tenant, of.session)
    const cached = this.#cached.get(key)
    this.#cached.delete(key)
    return History.load(store, of, born, cached)
  }

  /** Caches the history for the next turn, which verifies it against the record. */
  giveBack(of: Scope, history: History): void {
    this.#cached.set(lengthPrefixed(of.tenant, of.session), history)
    const [oldest] = this.#cached.keys()
    if (this.#cached.size > this.#maxSize && oldest !== undefined) this.#cached.delete(oldest)
  }
}

export async function readHead(store: Store, of: Scope): Promise<{ row: HeadRow | null; revision: number }> {
  const document = await store.document(collections.conversation.name(of))
  return { row: document ? collections.conversation.parse(document.value) : null, revision: document?.revision ?? 0 }
}
