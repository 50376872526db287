// THE MODEL PORT: who answers. One call gives one answer; what comes of it on the way is told as it comes. Adapters (pawl/ai-sdk) and the
// scripted model of pawl/testing implement it; the turn records what it gave, so no answer is paid twice (SESS-1).

import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Attachment, Json } from '../core/value.ts'
import type { JsonSchema } from '../tools/schema.ts'
import type { AssistantPart, ModelMessage } from './message.ts'

/** A tool as a model is told of it. */
export interface ModelTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly examples: readonly unknown[]
}

/** What the provider is asked to keep to; null and what is left out: as it likes. */
export interface ModelSettings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly seed?: number
  readonly stop?: readonly string[]
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high'
  /** The provider's own, by its name. */
  readonly provider?: { readonly [provider: string]: { readonly [key: string]: Json } }
}

export interface ModelRequest {
  readonly instructions: string | null
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly ModelTool[]
  /** May it ask for several tools at once? */
  readonly parallel: boolean
  readonly settings: ModelSettings
}

/** What comes before the answer is whole. Told to those who watch, and never recorded. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly delta: string }
  | { readonly type: 'call'; readonly id: string; readonly name: string }

export interface ModelCall {
  readonly request: ModelRequest
  readonly signal: AbortSignal
  /** The bytes behind an attachment of a message. */
  read(attachment: Attachment): Promise<Uint8Array>
  told(delta: ModelDelta): void
  /** Something came that is not told: it is at work, and not silent. */
  alive?(): void
}

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Of the input: read from the provider's cache. */
  readonly cachedTokens: number
  /** Of the output: spent on reasoning. */
  readonly reasoningTokens: number
}

export type FinishReason = 'stop' | 'calls' | 'length' | 'filter' | 'other'

export interface ModelAnswer {
  readonly parts: readonly AssistantPart[]
  readonly finish: FinishReason
  readonly usage: Usage
}

/** In any currency, for a million tokens. */
export interface ModelPrice {
  readonly input: number
  readonly output: number
  readonly cached?: number
}

export interface Model {
  /** What records mean by it: a turn goes on where a model of this name is known. */
  readonly name: string
  /** How many tokens it can read; older messages are summed up before it is full. */
  readonly contextTokens?: number
  readonly price?: ModelPrice
  /** How long it may say nothing before it is let go and asked again; null: as long as it likes. Default: five minutes. */
  readonly idle?: Duration | null
  generate(call: ModelCall): Promise<ModelAnswer>
}

interface ModelFailureTerms {
  readonly retryable?: boolean
  readonly tooLong?: boolean
  readonly afterMs?: number
  readonly cause?: unknown
}

/** What a provider could not do. Retried where it may pass. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure'
  readonly retryable: boolean
  /** The provider said when to come back. */
  readonly afterMs: number | undefined
  /** For people: 'HTTP 429'. Never what the provider wrote, which may hold anything. */
  readonly what: string
  /** It was given more than it can read: with less it may be able to. */
  readonly tooLong: boolean

  constructor(what: string, { retryable = false, tooLong = false, afterMs, cause }: ModelFailureTerms = {}) {
    super(what, { cause })
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

/** Null where the price is not known. */
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

const nameShape = /^[\w.:/@-]{1,128}$/

export function checkModel(given: unknown): Model {
  const { name, generate, contextTokens, price, idle } = (
    typeof given === 'object' && given !== null ? given : {}
  ) as Partial<Model>
  if (typeof name !== 'string' || !nameShape.test(name) || typeof generate !== 'function')
    throw new PawlError(
      'model_invalid',
      `A model has a name (1 to 128 of A-Z a-z 0-9 _ . : / @ -) and generate(); aiModel() of 'pawl/ai-sdk' makes one of an AI SDK model.`,
    )
  if (contextTokens !== undefined && (!Number.isSafeInteger(contextTokens) || contextTokens < 1))
    throw new PawlError(
      'model_invalid',
      `contextTokens of '${name}' is ${String(contextTokens)}, not a whole number from 1 on.`,
    )
  if (price !== undefined && !isPrice(price ?? {}))
    throw new PawlError(
      'model_invalid',
      `price of '${name}' is not { input, output, cached? }: what a million tokens cost, each from 0 on.`,
    )
  if (idle !== undefined && idle !== null && !isLimit(idle))
    throw new PawlError(
      'model_invalid',
      `idle of '${name}' is ${JSON.stringify(idle)}, not a duration like '2m', nor null for no limit.`,
    )
  return given as Model
}

/** A model that may be silent for no time at all can say nothing. */
function isLimit(idle: Duration): boolean {
  try {
    return milliseconds(idle, 'idle') > 0
  } catch {
    return false
  }
}

const usualIdleMs = 300_000

/** Null: as long as it likes. */
export const idleOf = ({ idle = usualIdleMs }: Model): number | null =>
  idle === null ? null : milliseconds(idle, 'idle')

const isPrice = ({ input, output, cached = 0 }: Partial<ModelPrice>): boolean =>
  [input, output, cached].every((each) => typeof each === 'number' && Number.isFinite(each) && each >= 0)
