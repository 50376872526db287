// The public types of turns (one durable run of the model loop). turns/ implements them.

import type { Duration } from '../core/duration.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Json } from '../core/tool-value.ts'
import type { SchemaOutput } from '../tools/body-types.ts'
import type { AnySchema } from '../tools/schema.ts'
import type { Message } from './message.ts'
import type { UiChunk, UiMessage } from './ui-message.ts'
import type { FinishReason, Model, ModelSettings, ToolChoice, Usage } from './model.ts'

/**
 * The agent context of a turn: instructions, model, tools and settings. It is recorded with the turn, the model by
 * name.
 */
export interface Frame {
  /** For `frame` of a turn and for handing over. */
  readonly name: string
  /** The system prompt. */
  readonly instructions?: string
  /** A model or its name. Default: the model of the turn. */
  readonly model?: Model | string
  /** Names of the tools the frame may see and run. Default: all tools of the session. */
  readonly tools?: readonly string[]
  /** Settings of the model. Default: none. */
  readonly settings?: ModelSettings
  /** False: the model is asked for one call at a time, and calls run one after another. Default: true. */
  readonly parallel?: boolean
}

/** Limits of one turn. Reaching one ends the turn. */
export interface TurnLimits {
  /** Maximum number of model requests. Default: 20. */
  readonly steps?: number
  /** Maximum duration of the turn, including the time it waits for people or external results. */
  readonly time?: Duration
  /**
   * The turn ends after this many consecutive answers whose calls all had invalid arguments, and after this many
   * answers that do not match `output`. Default: 3.
   */
  readonly invalid?: number
  /**
   * Maximum tokens of the conversation that are sent; older messages are summarized. Default: four fifths of the
   * model's context window, minus instructions and tools.
   */
  readonly historyTokens?: number
  /**
   * Maximum cost of answers and summaries, in the unit of the models' prices. Checked before each request, so the
   * last answer may exceed it. Model requests of tool bodies (`ctx.complete`, agents) are not counted. With this
   * limit a model without a price is not called.
   */
  readonly cost?: number
}

/** A user message: a text, or a text with files (images, PDFs). */
export type UserMessageInput = string | { readonly text?: string; readonly attachments?: readonly UserFile[] }

/** A file that a user sends. */
export interface UserFile {
  /** Bytes, or text. */
  readonly data: Uint8Array | string
  /** For example 'image/png'. */
  readonly mediaType: string
  /** File name, shown to the model. */
  readonly name?: string
}

/** The type of `output` in the value of a turn, by the schema that the turn was given. */
export type TurnOutput<S> = S extends undefined ? null : SchemaOutput<S>

/** Options of session.turn(). */
export interface StartTurn<S extends AnySchema | undefined = AnySchema | undefined> {
  /** A model, or the name of one in `createRuntime({ models })`. */
  readonly model?: Model | string
  /** The user message. Without it the model continues from the conversation and from newly arrived messages. */
  readonly message?: UserMessageInput
  /** A frame, or the name of one in `createRuntime({ frames })`. */
  readonly frame?: string | Frame
  /** The system prompt. Default: that of the frame. */
  readonly instructions?: string
  /** Names of the tools the model may use. Default: those of the frame, or all of the session. */
  readonly tools?: readonly string[]
  /** Settings of the model. Default: those of the frame. */
  readonly settings?: ModelSettings
  /** Whether the model may request several calls at once. Default: true. */
  readonly parallel?: boolean
  /**
   * Whether the model may or must call tools. `required` and `{ tool }` hold for the first answer only: with the
   * results the model may answer in words, else the turn could not end. `none` holds for the whole turn; a call that
   * the model makes all the same is refused. Default: 'auto'.
   *
   * @example
   * session.turn({ model: 'main', message: 'Where is order A1?', toolChoice: { tool: 'look_up' } })
   */
  readonly toolChoice?: ToolChoice
  /**
   * The form of the last answer: a Standard Schema (zod, valibot, arktype) or a JSON Schema, of an object. The model is
   * told what is wrong with an answer that does not match; at the limit `limits.invalid` the turn fails with
   * `output_invalid`.
   *
   * The turn records the JSON Schema, and every worker checks answers against it. `outcome` of this handle then applies
   * a Standard Schema to the recorded value: its transforms and defaults are in `output`, and an answer that only its
   * refinements reject is a failure of this handle. Default: any text.
   *
   * @example
   * const { outcome } = session.turn({ model: 'main', message: mail, output: z.object({ city: z.string() }) })
   * const ended = await outcome
   * if (ended.status === 'success') console.log(ended.value.output?.city)
   */
  readonly output?: S
  /** Limits on steps, time, tokens and cost of the turn. */
  readonly limits?: TurnLimits
  /**
   * Idempotency key: the same id with the same content returns the same turn. A named frame is compared by name only;
   * a resumed turn uses the frame as recorded. Ids may not begin with `woken_`.
   */
  readonly id?: string
  /** A call that takes longer than this moves to the background, if its tool supports that. */
  readonly background?: Duration
  /** Cancels the turn. */
  readonly signal?: AbortSignal
}

/** The result of a turn. */
export interface TurnValue<T = unknown> {
  /**
   * `answer`: the model finished without calling a tool. `finish`: a tool ended the turn with a value. `handed_over`:
   * calls of the turn waited for people or external systems when a new turn of the session began; their results reach
   * the session later, as notices.
   */
  readonly end: 'answer' | 'finish' | 'handed_over'
  /** The last text of the model. */
  readonly text: string
  /** The value with which a tool ended the turn; null otherwise. */
  readonly value: Json
  /** The last answer as the `output` schema of the turn returns it; null without one, and if a tool ended the turn. */
  readonly output: T | null
  /** Number of model requests. */
  readonly steps: number
  /** Tokens and cost of the whole turn. */
  readonly usage: TurnUsage
  /** Why the model stopped. `length` and `filter` mean that the last answer is incomplete. */
  readonly finish: FinishReason
}

/** Tokens and cost of model requests. */
export interface TurnUsage extends Usage {
  /** Null if the price of a model is not known. */
  readonly cost: number | null
}

/** Usage with the number of requests. */
export interface UsageOf extends TurnUsage {
  /** Number of model requests. */
  readonly times: number
}

/** Token usage and cost of models in a session. */
export interface SessionUsage {
  /** All models and tools together. */
  readonly total: UsageOf
  /** By model name. */
  readonly models: { readonly [model: string]: UsageOf }
  /** Usage of model requests made by tool bodies, by tool name. Included in the total. */
  readonly tools: { readonly [tool: string]: UsageOf }
}

/** How a turn ended, with its id. */
export type TurnOutcome<T = unknown> = Outcome<TurnValue<T>> & { readonly turn: string }

/** A turn that session.turn() started. */
export interface Turn<T = unknown> {
  /** The given or generated id. */
  readonly id: string
  /** Rejects only if the store or the runtime is lost. Then the turn continues on another worker or after a restart. */
  readonly outcome: Promise<TurnOutcome<T>>
  /**
   * Resolves when the turn is recorded: from then on it runs to its end even if this process is killed. Rejects if it
   * could not be recorded. Reading it makes the runtime write the turn at once.
   * @example
   * const turn = session.turn({ model: 'gpt', message: text, id: request.id }) // the id makes a retry join the turn
   * await turn.accepted
   * return Response.json({ turn: turn.id }, { status: 202 })
   */
  readonly accepted: Promise<void>
  /**
   * The text of its answers, in pieces, from the beginning; every read of this property opens a new stream. It ends with
   * the turn. Cancelling the stream does not cancel the turn.
   * @example
   * for await (const text of session.turn({ model: 'main', message: 'Hello' }).textStream) process.stdout.write(text)
   */
  readonly textStream: ReadableStream<string>
  /**
   * The turn in the UI message stream protocol of the AI SDK, from the beginning: text, reasoning, calls with their
   * arguments and results, approvals. `toUIMessageStreamResponse` of 'pawl/ai-sdk' makes a response for `useChat` of it.
   */
  uiMessageStream(options?: UiStreamOptions): ReadableStream<UiChunk>
  /** Cancels the turn and its calls. Returns false if it had already ended. */
  cancel(reason?: string, by?: string): Promise<boolean>
}

/** Options of turn.uiMessageStream(). */
export interface UiStreamOptions {
  /**
   * When the stream ends: with the turn (`ended`), or already when every open call waits for people or external systems
   * (`waiting`, the default), so that the user can decide or go on writing.
   */
  readonly until?: 'waiting' | 'ended'
  /**
   * Number of answers (`step-start` parts) that the client already shows. The last of them is sent again as a whole, the
   * earlier ones are left out. Default: 0.
   */
  readonly stepsShown?: number
}

/** Turns of a session that are on record: for a process that did not start them. */
export interface SessionTurnHandles {
  /** The turn with this id; null if there is none. */
  get(id: string): Promise<Turn | null>
  /** The turn that holds the session; null if no turn is open. */
  open(): Promise<Turn | null>
  /** The turn that was requested next after the one with this id; null if there is none. */
  after(id: string): Promise<Turn | null>
  /** The end of the conversation as `useChat` shows it, made from at most `limit` recorded messages (default 200). */
  uiMessages(options?: { readonly limit?: number }): Promise<UiMessage[]>
}

/** A stored message. */
export interface StoredMessage {
  /** Position in the conversation, from 1. */
  readonly number: number
  /** When it was recorded, in milliseconds since 1970. */
  readonly at: number
  /** The turn that the message belongs to; null for a message that arrived between turns. */
  readonly turn: string | null
  /** The message. */
  readonly message: Message
  /** Set on assistant messages, like `usage` and `finish`. */
  readonly model?: string
  /** Tokens and cost, for an answer. */
  readonly usage?: TurnUsage
  /** Why the model stopped, for an answer. */
  readonly finish?: FinishReason
  /**
   * Set on tool messages: ids of calls whose control (finish, fail, switchFrame) was ignored, because another came
   * first.
   */
  readonly unheard?: readonly string[]
}

/**
 * Decides how a conversation that no longer fits is shortened. It gets the messages that the model would read, oldest
 * first, and returns which of them to replace by which text; null to leave them as they are. Default: the model of the
 * turn summarizes the older messages.
 */
export type Compaction = (
  history: readonly CompactionMessage[],
  budget: CompactionBudget,
) => CompactionPlan | null | Promise<CompactionPlan | null>

/** A message that a compaction function may replace. */
export interface CompactionMessage extends Pick<StoredMessage, 'number' | 'at' | 'turn' | 'message'> {
  /** Estimated. */
  readonly tokens: number
}

/** How much a compaction function has to shorten, and what it may use. */
export interface CompactionBudget {
  /** Estimated tokens of all messages. */
  readonly usedTokens: number
  /** The remaining messages should have at most this many tokens. */
  readonly keepTokens: number
  /** At most this many tokens should be sent in one request of `complete`; Infinity if that is not known. */
  readonly requestTokens: number
  /** The text that replaces the messages before these; null if there is none. The new text replaces it too. */
  readonly summary: string | null
  /** Aborted when the turn is cancelled, and when the function takes too long. */
  readonly signal: AbortSignal
  /** Asks the model; the turn is charged for it. Rejects with a ModelFailure; `tooLong`: the prompt does not fit. */
  complete(request: { readonly instructions: string; readonly prompt: string }): Promise<string>
}

/** What a compaction function replaces by which text. */
export interface CompactionPlan {
  /**
   * Number of the last message to replace; all messages before it are replaced too. It cannot be the last message,
   * which the model has to answer, or a message with calls, which stay with their results.
   */
  readonly upTo: number
  /** The text. A function is called after `upTo` was checked, so that no model request is wasted on an invalid plan. */
  readonly text: string | (() => Promise<string>)
}

/** The conversation of a session. */
export interface Messages {
  /**
   * Messages in order, one page of at most `limit` (default 200, maximum 1,000): the first ones after number `after`, the
   * last ones before number `before`, or with `newest` the last ones of all.
   */
  list(page?: {
    readonly after?: number
    readonly before?: number
    readonly newest?: boolean
    readonly limit?: number
  }): Promise<StoredMessage[]>
  /**
   * Sends a user message while a turn may be running. `next` (the default): the model reads it with its next request.
   * `after`: the next turn reads it. Recorded when the promise resolves. `id` is an idempotency key.
   */
  send(message: UserMessageInput, how?: { readonly when?: 'next' | 'after'; readonly id?: string }): Promise<void>
  /** Sent messages that no model has read yet. */
  waiting(): Promise<
    { readonly id: string; readonly text: string; readonly files: number; readonly when: 'next' | 'after' }[]
  >
}
