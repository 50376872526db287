// aiModel(openai('gpt-5')): adapts a language model of the AI SDK to Pawl's Model interface. It uses only the provider
// interface, so every provider package works.

import { defined } from '../../core/tool-value.ts'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type Duration, type Model, type ModelPrice, PawlError } from '../../index.ts'
import { type AiStreamPart, collectAnswer } from './collect-answer.ts'
import { failureOf } from './model-failure.ts'
import type { PromptOptions } from './to-sdk-prompt.ts'
import { type AiCallOptions6, toSdk6 } from './to-sdk-6-request.ts'
import { type AiCallOptions, callOptions } from './to-sdk-request.ts'

export type { AiCallOptions, AiCallOptions6, AiStreamPart }

interface AiModelBase {
  readonly provider: string
  readonly modelId: string
  /** False: the provider does not pass a schema on, so the model is told in words. */
  readonly supportsStructuredOutputs?: boolean
}

type AiStream = PromiseLike<{ readonly stream: ReadableStream<AiStreamPart> }>

/**
 * A language model of AI SDK 7 (provider specification v4) or AI SDK 6 (v3), as far as it is used; test/types checks it
 * against the installed versions.
 */
export type AiLanguageModel =
  | (AiModelBase & { readonly specificationVersion: 'v4'; doStream(options: AiCallOptions): AiStream })
  | (AiModelBase & { readonly specificationVersion: 'v3'; doStream(options: AiCallOptions6): AiStream })

/** The options of aiModel(). */
export interface AiModelOptions {
  /** Name of the model in records. Default: 'provider/model'. */
  readonly name?: string
  /** Size of the context window in tokens. */
  readonly contextTokens?: number
  /** Price per million tokens. */
  readonly price?: ModelPrice
  /**
   * How long the stream may be silent before the request is aborted and retried; null: no limit. Default: 5 minutes.
   */
  readonly idle?: Duration | null
  /** Media types that the model can read; other files are sent by name. Default: PNG, JPEG, GIF, WebP and PDF. */
  readonly reads?: (mediaType: string) => boolean
  /**
   * Whether the provider accepts files in tool results. If not, as in the chat completions protocol, files follow the
   * results in a separate message. Default: chosen by provider.
   */
  readonly filesInResults?: boolean
}

const imagesAndPdf = (mediaType: string): boolean => /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/.test(mediaType)

/** Other providers would write the bytes into the text of the result as numbers. */
const acceptsFilesInResults = (provider: string): boolean =>
  /anthropic|bedrock|\.responses$|^google\./.test(provider) && !provider.endsWith('.chat')

/** 'anthropic' of 'anthropic.messages': the APIs of a provider know the same tools. */
const familyOf = (provider: string): string => provider.split('.')[0] as string

/** Call ids that the provider accepts. A conversation may contain ids that another provider issued. */
function acceptedIds(provider: string): PromptOptions['ids'] {
  if (/anthropic|bedrock/.test(provider)) return { shape: /^[\w-]{1,64}$/, most: 64 }
  if (/^mistral\b/.test(provider)) return { shape: /^[A-Za-z0-9]{9}$/, most: 9 }
  if (/^(openai|azure)\b/.test(provider))
    return provider.endsWith('.responses') ? { shape: /^.{1,64}$/, most: 64 } : { shape: /^.{1,40}$/, most: 40 }
  return null
}

export const aiModelOptions = {
  name: option.string,
  contextTokens: option.wholeNumber(1),
  price: option.object,
  idle: option.either(option.duration, option.oneOf(null)),
  reads: option.func,
  filesInResults: option.boolean,
} satisfies OptionTable<AiModelOptions>

/**
 * Makes a Pawl model from a model of the AI SDK.
 *
 * @example
 * const model = aiModel(anthropic('claude-sonnet-4-5'))
 * await session.turn({ model, message: 'Hello' }).outcome
 */
export function aiModel(model: AiLanguageModel, options: AiModelOptions = {}): Model {
  checkOptions(options, aiModelOptions, 'aiModel()')
  checkLanguageModel(model)
  const {
    name = `${model.provider}/${model.modelId}`.replaceAll(/[^\w.:/@-]/g, '_'),
    contextTokens,
    price,
    idle,
    reads = imagesAndPdf,
  } = options
  const { filesInResults = acceptsFilesInResults(model.provider) } = options
  const terms = { provider: familyOf(model.provider), reads, filesInResults, ids: acceptedIds(model.provider) }
  return {
    name,
    ...defined({ contextTokens, price, idle }),
    async generate(call) {
      const options = await callOptions(call, model, { ...terms, read: call.read })
      let began = false
      try {
        const { stream } = await (model.specificationVersion === 'v3'
          ? model.doStream(toSdk6(options))
          : model.doStream(options))
        began = true
        return await collectAnswer(stream, call, terms.provider)
      } catch (error) {
        throw failureOf(error, began, call.signal)
      }
    },
  }
}

function checkLanguageModel(value: unknown): asserts value is AiLanguageModel {
  const { doStream, specificationVersion } = fieldsOf(value)
  if (typeof doStream === 'function' && (specificationVersion === 'v4' || specificationVersion === 'v3')) return
  throw new PawlError(
    'model_invalid',
    `aiModel() needs a language model of a provider package for AI SDK 6 or 7, such as openai('gpt-5'), and was given ${describeGiven(value)}.`,
  )
}

/** The AI SDK of each version of the provider specification. */
const generations: Readonly<Record<string, string>> = { v1: '4', v2: '5', v3: '6', v4: '7' }

function describeGiven(value: unknown): string {
  if (typeof value === 'string') return `the text ${JSON.stringify(value.slice(0, 80))}`
  const { doStream, doGenerate, specificationVersion: version, generate, languageModel } = fieldsOf(value)
  if (typeof generate === 'function') return 'a model of Pawl, which needs no aiModel()'
  if (typeof languageModel === 'function') return "a provider; call it with the id of a model, such as openai('gpt-5')"
  if (typeof version === 'string') {
    const isLanguageModel = typeof doStream === 'function'
    const sdk = Object.hasOwn(generations, version) ? ` for AI SDK ${generations[version]}` : ''
    const kind = isLanguageModel ? 'a language model' : 'something else than a language model'
    return `${kind} of provider specification ${version.slice(0, 20)}${sdk}`
  }
  if (typeof doStream === 'function' || typeof doGenerate === 'function') return 'a model without specificationVersion'
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  (typeof value === 'object' || typeof value === 'function') && value !== null ? (value as Record<string, unknown>) : {}
