// WORDS of turns: one durable run of the model loop (SESS-1), as a host asks for it and hears of it.

import type { Duration } from '../core/duration.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Json } from '../core/value.ts'
import type { Message } from './message.ts'
import type { FinishReason, Model, ModelSettings, Usage } from './model.ts'

/** The agent context that a turn works in. Data, but for the model: it goes on record with the turn. */
export interface Frame {
  readonly name: string
  /** Read by the model before everything else. */
  readonly instructions?: string
  /** Its name, or the model itself; that of the turn if left out. */
  readonly model?: Model | string
  /** Which tools it has, by name; all of the session's if left out. What it does not see cannot be run in it either. */
  readonly tools?: readonly string[]
  readonly settings?: ModelSettings
  /** False: the model is asked for one call at a time, and calls run one after the other. Default: true. */
  readonly parallel?: boolean
}

export interface TurnLimits {
  /** How often the model is asked (default 20). */
  readonly steps?: number
  /** How long the turn may take, what waits for people or the outside included. */
  readonly time?: Duration
  /** After so many answers in a row whose calls all had invalid arguments, it ends (default 3). */
  readonly invalid?: number
  /** How many tokens of the conversation are sent; older messages are summed up (default: four fifths of what the model can read, less instructions and tools). */
  readonly historyTokens?: number
  /**
   * What its answers and summaries may cost, in the unit of the models' prices: looked at before the model is asked, so the last answer may go beyond it. What
   * bodies ask of models (`ctx.complete`, agents) is not in it. A model without a price is not asked then.
   */
  readonly cost?: number
}

/** What a user says: a text, or a text with files (pictures, PDFs). */
export type UserMessageInput = string | { readonly text?: string; readonly attachments?: readonly UserFile[] }

export interface UserFile {
  /** Its bytes, or its text. */
  readonly data: Uint8Array | string
  readonly mediaType: string
  readonly name?: string
}

export interface StartTurn {
  /** Its name, as `createRuntime({ models })` knows it, or the model itself. */
  readonly model?: Model | string
  /** What the user says. Without it the model goes on from what was said, and from what has arrived. */
  readonly message?: UserMessageInput
  /** Where it works: a frame that `createRuntime({ frames })` knows, or one that is given. */
  readonly frame?: string | Frame
  readonly instructions?: string
  readonly tools?: readonly string[]
  readonly settings?: ModelSettings
  readonly parallel?: boolean
  readonly limits?: TurnLimits
  /** The same id with the same content is the same turn. A frame that is named is the same if the name is; the turn goes on in it as it was. None may begin with `woken_`. */
  readonly id?: string
  /** A call that takes longer goes on in the background, where its tool can. */
  readonly background?: Duration
  readonly signal?: AbortSignal
}

export interface TurnValue {
  /** `answer`: the model said all it had to say. `finish`: a tool ended the turn with a value. */
  readonly end: 'answer' | 'finish'
  /** The last thing the model said. */
  readonly text: string
  /** What a tool finished it with; null otherwise. */
  readonly value: Json
  /** How often the model was asked. */
  readonly steps: number
  readonly usage: TurnUsage
  /** Why the model stopped there: `length` and `filter` say that its last answer is not whole. */
  readonly finish: FinishReason
}

export interface TurnUsage extends Usage {
  /** Null where the price of a model is not known. */
  readonly cost: number | null
}

export interface UsageOf extends TurnUsage {
  /** How often a model was asked. */
  readonly times: number
}

/** What models have cost in a session. */
export interface SessionUsage {
  readonly total: UsageOf
  /** By the name of the model. */
  readonly models: { readonly [model: string]: UsageOf }
  /** What bodies of tools asked of models, by the name of the tool; a part of the total. */
  readonly tools: { readonly [tool: string]: UsageOf }
}

export type TurnOutcome = Outcome<TurnValue> & { readonly turn: string }

export interface Turn {
  readonly id: string
  /** Rejects only if the store or the runtime is lost: then the turn goes on elsewhere, or later. */
  readonly outcome: Promise<TurnOutcome>
  /** Asks it, and all that it has called, to stop. False if it was over. */
  cancel(reason?: string, by?: string): Promise<boolean>
}

/** A message as it is on record. */
export interface StoredMessage {
  /** Its place in the conversation, from 1. */
  readonly number: number
  readonly at: number
  /** The turn in which it was said; null for one that came between turns. */
  readonly turn: string | null
  readonly message: Message
  /** Of what a model said. */
  readonly model?: string
  readonly usage?: TurnUsage
  readonly finish?: FinishReason
  /** Of results: the ids of calls that wanted to end or hand over the turn, too, and were not heard, as another was first (VAL-6). */
  readonly unheard?: readonly string[]
}

export interface Messages {
  /** In their order. Of long conversations a page: `after` a number, at most `limit` (200, 1,000 at most). */
  list(page?: { readonly after?: number; readonly limit?: number }): Promise<StoredMessage[]>
  /**
   * Something the user says while a turn may be under way: its model reads it the next time it is asked (`next`, the default), or the next turn does
   * (`after`). On record when it resolves. The same `id` is the same message.
   */
  send(message: UserMessageInput, how?: { readonly when?: 'next' | 'after'; readonly id?: string }): Promise<void>
  /** What was sent and no model has read yet. */
  waiting(): Promise<
    { readonly id: string; readonly text: string; readonly files: number; readonly when: 'next' | 'after' }[]
  >
}
