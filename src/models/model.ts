// The model port: one request, one answer, with streamed deltas in between. Adapters (pawl/ai-sdk) and the scripted
// model of pawl/testing implement it. The turn records each answer, so a replay does not pay for it again.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Attachment, Json } from '../core/tool-value.ts'
import type { JsonSchema } from '../tools/schema.ts'
import type { AssistantPart, ModelMessage } from './message.ts'

/** A tool as it is presented to a model. */
export interface ModelTool {
  /** Name of the tool. */
  readonly name: string
  /** What it does. */
  readonly description: string
  /** JSON Schema of its arguments. */
  readonly parameters: JsonSchema
  /** Example arguments. */
  readonly examples: readonly unknown[]
}

/** A tool that the provider of the model defines and runs. */
export interface ProviderTool {
  /** The provider's id of the tool, as its package documents it: 'anthropic.web_search_20250305'. */
  readonly id: string
  /** Name under which the model knows it. It must differ from the names of your tools. */
  readonly name: string
  /** Options of the tool. Default: none. */
  readonly args?: { readonly [key: string]: Json }
}

/** Settings passed to the provider. An omitted setting is left to the provider. */
export interface ModelSettings {
  /** Maximum length of an answer, in tokens. */
  readonly maxOutputTokens?: number
  /** Randomness; 0 is the least. */
  readonly temperature?: number
  /** Nucleus sampling: only the most likely tokens up to this probability. */
  readonly topP?: number
  /** Makes answers repeatable, where the provider can. */
  readonly seed?: number
  /** Texts at which the model stops. */
  readonly stop?: readonly string[]
  /** How much the model thinks before it answers. */
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high'
  /**
   * Tools that the provider runs itself, such as its web search. Their calls and results are recorded in the answer; they
   * need no policy and no approval of Pawl.
   *
   * @example
   * settings: { providerTools: [{ id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 3 } }] }
   */
  readonly providerTools?: readonly ProviderTool[]
  /** Provider-specific options, by provider name. */
  readonly provider?: { readonly [provider: string]: { readonly [key: string]: Json } }
}

/**
 * Whether the model may or must call tools: `auto` (it decides), `none` (it must not), `required` (it must call one),
 * or the one tool that it must call.
 */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

/** What a model has to answer. */
export interface ModelRequest {
  /** The system prompt; null if there is none. */
  readonly instructions: string | null
  /** The conversation, oldest first. */
  readonly messages: readonly ModelMessage[]
  /** The tools it may call. */
  readonly tools: readonly ModelTool[]
  /** Whether it may or must call tools in this answer. */
  readonly toolChoice: ToolChoice
  /** The JSON Schema that the text of the last answer must match; null: any text. */
  readonly output: JsonSchema | null
  /** Whether the model may call several tools in one answer. */
  readonly parallel: boolean
  /** Settings of the frame or the turn. */
  readonly settings: ModelSettings
}

/** A streamed piece of an unfinished answer. Sent to live subscribers; never recorded. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly delta: string }
  /** `provider`: the provider runs the tool itself. */
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly provider?: true }
  /** A piece of the arguments, as raw JSON text, of the call that was announced with this id. */
  | { readonly type: 'input'; readonly id: string; readonly delta: string }

/** A request to a model, with its signal. */
export interface ModelCall {
  /** What to answer. */
  readonly request: ModelRequest
  /** Aborts when the turn is cancelled or the model is silent for too long. */
  readonly signal: AbortSignal
  /** Reads the bytes of an attachment of a message. */
  read(attachment: Attachment): Promise<Uint8Array>
  /** Call it for each streamed piece. */
  told(delta: ModelDelta): void
  /** Call it when data arrives that produces no delta. It resets the idle timeout. */
  alive?(): void
}

/** Tokens of a model request. */
export interface Usage {
  /** Tokens of the prompt, cached ones included. */
  readonly inputTokens: number
  /** Tokens of the answer, reasoning included. */
  readonly outputTokens: number
  /** The part of the input that was read from the provider's cache. */
  readonly cachedTokens: number
  /** The part of the output that was spent on reasoning. */
  readonly reasoningTokens: number
}

/**
 * Why a model stopped: its text is complete, it requests calls, it reached a limit, it was filtered, or the provider
 * paused a long answer with tools of its own (`paused`; the turn requests the rest).
 */
export type FinishReason = 'stop' | 'calls' | 'length' | 'filter' | 'paused' | 'other'

/** The answer of a model. */
export interface ModelAnswer {
  /** Texts, reasoning and calls in order. */
  readonly parts: readonly AssistantPart[]
  /** Why it stopped. */
  readonly finish: FinishReason
  /** Tokens of this request. */
  readonly usage: Usage
}

/** Price per million tokens, in any currency. */
export interface ModelPrice {
  /** Per million prompt tokens. */
  readonly input: number
  /** Per million answer tokens. */
  readonly output: number
  /** Per million prompt tokens read from a cache. Default: `input`. */
  readonly cached?: number
}

/** A language model: a name and a function that answers a request. aiModel() makes one from an AI SDK model. */
export interface Model {
  /** Stored with each turn. A turn resumes only on a worker that knows a model of this name. */
  readonly name: string
  /** Size of the context window in tokens. Older messages are summarized before it is full. */
  readonly contextTokens?: number
  /** Prices, for the cost of turns and for `limits.cost`. Default: unknown. */
  readonly price?: ModelPrice
  /**
   * How long the model may send nothing before the request is aborted and retried; null for no limit. Default: 5
   * minutes.
   */
  readonly idle?: Duration | null
  /** Answers one request. Throw a ModelFailure to say whether trying again can help. */
  generate(call: ModelCall): Promise<ModelAnswer>
}

interface ModelFailureOptions {
  readonly retryable?: boolean
  readonly tooLong?: boolean
  readonly afterMs?: number
  readonly cause?: unknown
}

export const modelFailureOptions = {
  retryable: option.boolean,
  tooLong: option.boolean,
  afterMs: option.number,
  cause: option.anything,
} satisfies OptionTable<ModelFailureOptions>

/** A failed model request. It is retried if `retryable` is set. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure'
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** The delay that the provider asked for before a retry, in milliseconds. */
  readonly afterMs: number | undefined
  /** A short description such as 'HTTP 429'. Never the provider's own text, which may contain anything. */
  readonly what: string
  /** The request exceeded the context window; a shorter one may succeed. */
  readonly tooLong: boolean

  constructor(what: string, options: ModelFailureOptions = {}) {
    const { retryable = false, tooLong = false, afterMs, cause } = options
    super(what, { cause })
    checkOptions(options, modelFailureOptions, 'new ModelFailure()')
    this.what = what
    this.retryable = retryable
    this.tooLong = tooLong
    this.afterMs = afterMs
  }
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 }

export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
})

/** Null if the price is not known. */
export function costOf(
  { inputTokens, outputTokens, cachedTokens }: Usage,
  price: ModelPrice | undefined,
): number | null {
  if (!price) return null
  const cached = Math.min(cachedTokens, inputTokens)
  return (
    ((inputTokens - cached) * price.input + cached * (price.cached ?? price.input) + outputTokens * price.output) /
    1_000_000
  )
}

const modelNamePattern = /^[\w.:/@-]{1,128}$/

export function checkModel(value: unknown): Model {
  const { name, generate, contextTokens, price, idle } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Partial<Model>
  if (typeof name !== 'string' || !modelNamePattern.test(name) || typeof generate !== 'function')
    throw new PawlError(
      'model_invalid',
      `A model needs a name (1 to 128 characters of A-Z a-z 0-9 _ . : / @ -) and a generate function. For an AI SDK model use aiModel() from 'pawl/ai-sdk'.`,
    )
  if (contextTokens !== undefined && (!Number.isSafeInteger(contextTokens) || contextTokens < 1))
    throw new PawlError(
      'model_invalid',
      `contextTokens of '${name}' is ${String(contextTokens)}; it must be a whole number, 1 or more.`,
    )
  if (price !== undefined && !isPrice(price ?? {}))
    throw new PawlError(
      'model_invalid',
      `price of '${name}' must be { input, output, cached? }: the price of a million tokens, each 0 or more.`,
    )
  if (idle !== undefined && idle !== null && !isPositiveDuration(idle))
    throw new PawlError(
      'model_invalid',
      `idle of '${name}' is ${JSON.stringify(idle)}; it must be a duration such as '2m', or null for no limit.`,
    )
  return value as Model
}

/** An idle timeout of 0 would abort every request. */
function isPositiveDuration(idle: Duration): boolean {
  try {
    return milliseconds(idle, 'idle') > 0
  } catch {
    return false
  }
}

const defaultIdleMs = 300_000

/** Milliseconds; null for no limit. */
export const idleTimeoutOf = ({ idle = defaultIdleMs }: Model): number | null =>
  idle === null ? null : milliseconds(idle, 'idle')

const isPrice = ({ input, output, cached = 0 }: Partial<ModelPrice>): boolean =>
  [input, output, cached].every((each) => typeof each === 'number' && Number.isFinite(each) && each >= 0)
