// aiModel(openai('gpt-5')): adapts a language model of the AI SDK to Pawl's Model interface. It uses only the provider
// interface, so every provider package works.

import { defined } from '../../core/tool-value.ts'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import {
  type AssistantPart,
  type Duration,
  type FinishReason,
  type Json,
  type Model,
  type ModelCall,
  ModelFailure,
  type ModelPrice,
  type ModelRequest,
  PawlError,
  type Usage,
} from '../../index.ts'
import { providerSchema } from '../../tools/convert-tool-formats.ts'
import { failureOf } from './model-failure.ts'
import { type AiPromptMessage, type PromptOptions, promptOf } from './to-sdk-prompt.ts'

/** The used part of `LanguageModelV4`; test/types checks it against the installed version. */
export interface AiLanguageModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doStream(options: AiCallOptions): PromiseLike<{ readonly stream: ReadableStream<AiStreamPart> }>
}

/** A part of a streamed answer. */
// oxlint-disable-next-line typescript/no-explicit-any -- many shapes, discriminated by their type
export type AiStreamPart = { readonly type: string } & Record<string, any>

/** The request of the AI SDK to a model, as far as it is used. */
export interface AiCallOptions {
  /** The conversation. */
  prompt: AiPromptMessage[]
  /** The tools the model may call. */
  tools?: {
    type: 'function'
    name: string
    description: string
    inputSchema: Record<string, unknown>
    inputExamples?: { input: never }[]
  }[]
  /** Whether it may call tools. */
  toolChoice?: { type: 'auto' } | { type: 'none' }
  /** Maximum length of the answer. */
  maxOutputTokens?: number
  /** Randomness. */
  temperature?: number
  /** Nucleus sampling. */
  topP?: number
  /** Makes answers repeatable, where the provider can. */
  seed?: number
  /** Texts at which the model stops. */
  stopSequences?: string[]
  /** How much it thinks. */
  reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high'
  /** Options of the provider. */
  providerOptions?: Record<string, Record<string, never>>
  /** Aborts the request. */
  abortSignal?: AbortSignal
}

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
  const candidate = (
    typeof model === 'object' || typeof model === 'function' ? model : null
  ) as Partial<AiLanguageModel> | null
  if (typeof candidate?.doStream !== 'function' || candidate.specificationVersion !== 'v4')
    throw new PawlError(
      'model_invalid',
      'aiModel() needs a language model of an AI SDK 7 provider package, such as openai(…).',
    )
  const {
    name = `${model.provider}/${model.modelId}`.replaceAll(/[^\w.:/@-]/g, '_'),
    contextTokens,
    price,
    idle,
    reads = imagesAndPdf,
  } = options
  const { filesInResults = acceptsFilesInResults(model.provider) } = options
  const terms = { reads, filesInResults, ids: acceptedIds(model.provider) }
  return {
    name,
    ...defined({ contextTokens, price, idle }),
    async generate(call) {
      const options = await callOptions(call, model.provider, { ...terms, read: call.read })
      let began = false
      try {
        const { stream } = await model.doStream(options)
        began = true
        return await collectAnswer(stream, call)
      } catch (error) {
        throw failureOf(error, began, call.signal)
      }
    },
  }
}

async function callOptions(
  { request, signal }: ModelCall,
  provider: string,
  terms: PromptOptions,
): Promise<AiCallOptions> {
  const { tools, settings } = request
  const { maxOutputTokens, temperature, topP, seed, stop, reasoning } = settings
  const given = { maxOutputTokens, temperature, topP, seed, reasoning, stopSequences: stop && [...stop] }
  return {
    prompt: await promptOf(request, terms),
    ...defined(given),
    ...(tools.length === 0
      ? removedTools(request, provider)
      : { tools: tools.map(toolOf), toolChoice: { type: 'auto' } }),
    ...providerOptions(request, provider),
    abortSignal: signal,
  }
}

const toolOf = ({
  name,
  description,
  parameters,
  examples,
}: ModelRequest['tools'][number]): NonNullable<AiCallOptions['tools']>[number] => ({
  type: 'function',
  name,
  description,
  inputSchema: providerSchema(parameters),
  ...(examples.length === 0 ? {} : { inputExamples: examples.map((input) => ({ input: input as never })) }),
})

/**
 * Some providers reject a conversation with tool calls unless tools are defined. If the session has no tools any more,
 * the called ones are declared by name and forbidden by the tool choice.
 */
function removedTools({ messages }: ModelRequest, provider: string): Pick<AiCallOptions, 'tools' | 'toolChoice'> {
  const names = messages.flatMap((message) => (message.role === 'tool' ? message.results.map(({ name }) => name) : []))
  if (names.length === 0 || !/anthropic|bedrock/.test(provider)) return {}
  const removed = { description: 'It is not there any more.', parameters: { type: 'object' }, examples: [] }
  return { tools: [...new Set(names)].map((name) => toolOf({ name, ...removed })), toolChoice: { type: 'none' } }
}

/** The provider option that disables parallel calls, under the provider's own name. */
function disableParallelCalls(provider: string): Record<string, Record<string, Json>> {
  const own = (provider.split('.')[0] ?? '').trim()
  if (/anthropic/.test(provider)) return { anthropic: { disableParallelToolUse: true } }
  if (/^(openai|azure)$/.test(own)) return { openai: { parallelToolCalls: false } }
  if (/^(groq|mistral)$/.test(own)) return { [own]: { parallelToolCalls: false } }
  // Packages for the chat completions protocol pass unknown options on; others ignore them.
  return own === ''
    ? {}
    : { [own.replaceAll(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())]: { parallel_tool_calls: false } }
}

function providerOptions(
  { parallel, tools, settings }: ModelRequest,
  provider: string,
): Pick<AiCallOptions, 'providerOptions'> {
  const own = parallel || tools.length === 0 ? {} : disableParallelCalls(provider)
  for (const [name, options] of Object.entries(settings.provider ?? {})) own[name] = { ...own[name], ...options }
  return Object.keys(own).length === 0 ? {} : { providerOptions: own as Record<string, Record<string, never>> }
}

/** Collects the stream into ordered parts. A stream that ends without a finish part was interrupted. */
async function collectAnswer(
  stream: ReadableStream<AiStreamPart>,
  { told, alive, signal }: ModelCall,
): ReturnType<Model['generate']> {
  const parts: AssistantPart[] = []
  const open = new Map<string, number>()
  let end: { finish: FinishReason; usage: Usage } | null = null
  const begin = (type: 'text' | 'reasoning', { id, providerMetadata }: AiStreamPart): void => {
    open.set(`${type}:${String(id)}`, parts.push({ type, text: '', ...metaOf(providerMetadata) }) - 1)
  }
  const grow = (type: 'text' | 'reasoning', part: AiStreamPart): void => {
    if (!open.has(`${type}:${String(part.id)}`)) begin(type, part)
    const at = open.get(`${type}:${String(part.id)}`) as number
    const { text, ...rest } = parts[at] as Extract<AssistantPart, { text: string }>
    parts[at] = { ...rest, text: text + String(part.delta), ...metaOf(part.providerMetadata) }
    if (part.delta !== '') told({ type, delta: String(part.delta) })
  }
  const close = (type: 'text' | 'reasoning', part: AiStreamPart): void => {
    const at = open.get(`${type}:${String(part.id)}`)
    if (at !== undefined) parts[at] = { ...(parts[at] as AssistantPart), ...metaOf(part.providerMetadata) }
  }
  for await (const part of readParts(stream, signal)) {
    signal.throwIfAborted()
    alive?.() // on every part, because long call arguments emit no delta
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        begin(part.type === 'text-start' ? 'text' : 'reasoning', part)
        break
      case 'text-delta':
      case 'reasoning-delta':
        grow(part.type === 'text-delta' ? 'text' : 'reasoning', part)
        break
      case 'text-end':
      case 'reasoning-end':
        close(part.type === 'text-end' ? 'text' : 'reasoning', part)
        break
      case 'tool-input-start':
        if (part.providerExecuted !== true) told({ type: 'call', id: String(part.id), name: String(part.toolName) })
        break
      case 'tool-call':
        // Tools that the provider executes are not our calls.
        if (part.providerExecuted === true) break
        parts.push({
          type: 'call',
          id: String(part.toolCallId),
          name: String(part.toolName),
          input: String(part.input),
          ...metaOf(part.providerMetadata),
        })
        break
      case 'error':
        throw part.error
      case 'finish':
        end = { finish: finishOf(part.finishReason), usage: usageOf(part.usage) }
        break
      default:
    }
  }
  signal.throwIfAborted()
  if (!end) throw new ModelFailure('its answer was cut off', { retryable: true })
  return { parts, ...end }
}

/** Reads the stream, and cancels it on abort even if the provider ignores the signal. */
async function* readParts(stream: ReadableStream<AiStreamPart>, signal: AbortSignal): AsyncGenerator<AiStreamPart> {
  const reader = stream.getReader()
  const cancelReader = (): void => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancelReader, { once: true })
  if (signal.aborted) cancelReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    signal.removeEventListener('abort', cancelReader)
    cancelReader()
  }
}

const metaOf = (metadata: unknown): { meta?: Json } =>
  metadata === undefined || metadata === null ? {} : { meta: metadata as Json }

function finishOf(reason: unknown): FinishReason {
  const unified = typeof reason === 'object' && reason !== null ? (reason as { unified?: unknown }).unified : reason
  switch (unified) {
    case 'stop':
      return 'stop'
    case 'tool-calls':
      return 'calls'
    case 'length':
      return 'length'
    case 'content-filter':
      return 'filter'
    case 'error':
    case 'interrupted':
      throw new ModelFailure('its answer was cut off', { retryable: true })
    default:
      return 'other'
  }
}

/** Missing or malformed usage counts as 0: it must not make the request fail. */
const count = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function usageOf(usage: unknown): Usage {
  const { inputTokens, outputTokens } = objectOf(usage)
  // Some providers report parts without a total, others a total without parts.
  const sum = (tokens: unknown): number => {
    const { total = tokens, ...parts } = objectOf(tokens)
    return typeof total === 'number'
      ? count(total)
      : Object.values(parts).reduce<number>((all, part) => all + count(part), 0)
  }
  return {
    inputTokens: sum(inputTokens),
    outputTokens: sum(outputTokens),
    cachedTokens: count(objectOf(inputTokens).cacheRead),
    reasoningTokens: count(objectOf(outputTokens).reasoning),
  }
}
