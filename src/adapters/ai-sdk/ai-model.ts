// A model of the AI SDK as one that turns can ask: aiModel(openai('gpt-5')). Only the provider interface is used, so every provider package works.

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
import { providerSchema } from '../../tools/convert.ts'
import { failureOf } from './model-failure.ts'
import { type AiPromptMessage, type PromptTerms, promptOf } from './prompt.ts'

/** What is used of `LanguageModelV4`; test/types holds it to the installed one. */
export interface AiLanguageModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doStream(options: AiCallOptions): PromiseLike<{ readonly stream: ReadableStream<AiStreamPart> }>
}

/** A part of an answer, as far as it is looked at. */
// oxlint-disable-next-line typescript/no-explicit-any -- of many shapes, told apart by their type
export type AiStreamPart = { readonly type: string } & Record<string, any>

export interface AiCallOptions {
  prompt: AiPromptMessage[]
  tools?: {
    type: 'function'
    name: string
    description: string
    inputSchema: Record<string, unknown>
    inputExamples?: { input: never }[]
  }[]
  toolChoice?: { type: 'auto' } | { type: 'none' }
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  seed?: number
  stopSequences?: string[]
  reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high'
  providerOptions?: Record<string, Record<string, never>>
  abortSignal?: AbortSignal
}

export interface AiModelOptions {
  /** What records mean by it; 'provider/model' unless given. */
  readonly name?: string
  /** How many tokens it can read. */
  readonly contextTokens?: number
  /** For a million tokens. */
  readonly price?: ModelPrice
  /** How long it may say nothing before it is let go and asked again; null: as long as it likes. Default: five minutes. */
  readonly idle?: Duration | null
  /** Which files it can read; the others it is told of by name. Default: images (PNG, JPEG, GIF, WebP) and PDF. */
  readonly reads?: (mediaType: string) => boolean
  /**
   * Whether its provider takes files in results of tools. Where it does not, as with all of the chat completions protocol, they follow the results in a
   * message of their own. Default: what is known of the provider.
   */
  readonly filesInResults?: boolean
}

const imagesAndPdf = (mediaType: string): boolean => /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/.test(mediaType)

/** Others write the bytes into the text of the result, as numbers. */
const takesFilesInResults = (provider: string): boolean =>
  /anthropic|bedrock|\.responses$|^google\./.test(provider) && !provider.endsWith('.chat')

/** Which ids of calls it takes, and how long they may be. Those of its own models are such anyway; others gave what they liked. */
function idsTaken(provider: string): PromptTerms['ids'] {
  if (/anthropic|bedrock/.test(provider)) return { shape: /^[\w-]{1,64}$/, most: 64 }
  if (/^mistral\b/.test(provider)) return { shape: /^[A-Za-z0-9]{9}$/, most: 9 }
  if (/^(openai|azure)\b/.test(provider))
    return provider.endsWith('.responses') ? { shape: /^.{1,64}$/, most: 64 } : { shape: /^.{1,40}$/, most: 40 }
  return null
}

export function aiModel(model: AiLanguageModel, options: AiModelOptions = {}): Model {
  const given = (
    typeof model === 'object' || typeof model === 'function' ? model : null
  ) as Partial<AiLanguageModel> | null
  if (typeof given?.doStream !== 'function' || given.specificationVersion !== 'v4')
    throw new PawlError(
      'model_invalid',
      'aiModel() takes a language model of a provider package of AI SDK 7, as openai(…) gives it.',
    )
  const {
    name = `${model.provider}/${model.modelId}`.replaceAll(/[^\w.:/@-]/g, '_'),
    contextTokens,
    price,
    idle,
    reads = imagesAndPdf,
  } = options
  const { filesInResults = takesFilesInResults(model.provider) } = options
  const terms = { reads, filesInResults, ids: idsTaken(model.provider) }
  return {
    name,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(price === undefined ? {} : { price }),
    ...(idle === undefined ? {} : { idle }),
    async generate(call) {
      const options = await asked(call, model.provider, { ...terms, read: call.read })
      let began = false
      try {
        const { stream } = await model.doStream(options)
        began = true
        return await gathered(stream, call)
      } catch (error) {
        throw failureOf(error, began, call.signal)
      }
    },
  }
}

async function asked({ request, signal }: ModelCall, provider: string, terms: PromptTerms): Promise<AiCallOptions> {
  const { tools, settings } = request
  const { maxOutputTokens, temperature, topP, seed, stop, reasoning } = settings
  const given = { maxOutputTokens, temperature, topP, seed, reasoning, stopSequences: stop && [...stop] }
  return {
    prompt: await promptOf(request, terms),
    ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as object),
    ...(tools.length === 0 ? goneTools(request, provider) : { tools: tools.map(toolOf), toolChoice: { type: 'auto' } }),
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

/** Some take no conversation with calls in it unless tools are defined, also when there are none any more: then they are named, and may not be called. */
function goneTools({ messages }: ModelRequest, provider: string): Pick<AiCallOptions, 'tools' | 'toolChoice'> {
  const names = messages.flatMap((message) => (message.role === 'tool' ? message.results.map(({ name }) => name) : []))
  if (names.length === 0 || !/anthropic|bedrock/.test(provider)) return {}
  const gone = { description: 'It is not there any more.', parameters: { type: 'object' }, examples: [] }
  return { tools: [...new Set(names)].map((name) => toolOf({ name, ...gone })), toolChoice: { type: 'none' } }
}

/** How "one call at a time" is said to those who can be told, under their own names. */
function oneAtATime(provider: string): Record<string, Record<string, Json>> {
  const own = (provider.split('.')[0] ?? '').trim()
  if (/anthropic/.test(provider)) return { anthropic: { disableParallelToolUse: true } }
  if (/^(openai|azure)$/.test(own)) return { openai: { parallelToolCalls: false } }
  if (/^(groq|mistral)$/.test(own)) return { [own]: { parallelToolCalls: false } }
  // Packages of the chat completions protocol hand on what they do not know; others leave it out.
  return own === ''
    ? {}
    : { [own.replaceAll(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())]: { parallel_tool_calls: false } }
}

function providerOptions(
  { parallel, tools, settings }: ModelRequest,
  provider: string,
): Pick<AiCallOptions, 'providerOptions'> {
  const own = parallel || tools.length === 0 ? {} : oneAtATime(provider)
  for (const [name, said] of Object.entries(settings.provider ?? {})) own[name] = { ...own[name], ...said }
  return Object.keys(own).length === 0 ? {} : { providerOptions: own as Record<string, Record<string, never>> }
}

/** What came, as parts in their order. A stream that ends without saying so has broken off. */
async function gathered(
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
  for await (const part of partsOf(stream, signal)) {
    signal.throwIfAborted()
    alive?.() // also by what is not told: arguments of a call may be long
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
        // What the provider runs itself is no call of ours.
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
  if (!end) throw new ModelFailure('its answer broke off', { retryable: true })
  return { parts, ...end }
}

/** Whoever does not hear the signal is let go all the same: nobody reads what it still says. */
async function* partsOf(stream: ReadableStream<AiStreamPart>, signal: AbortSignal): AsyncGenerator<AiStreamPart> {
  const reader = stream.getReader()
  const letGo = (): void => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', letGo, { once: true })
  if (signal.aborted) letGo()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    signal.removeEventListener('abort', letGo)
    letGo()
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
      throw new ModelFailure('its answer broke off', { retryable: true })
    default:
      return 'other'
  }
}

/** What a provider does not tell, or tells in a form of its own, is not known: the answer is there all the same. */
const count = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function usageOf(usage: unknown): Usage {
  const { inputTokens, outputTokens } = objectOf(usage)
  // Some tell the parts and no sum, and some a sum and no parts.
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
