// A model of the AI SDK as one that turns can ask: aiModel(openai('gpt-5')). Only the provider interface is used, so every provider package works.

import {
  type AssistantPart,
  type FinishReason,
  type Json,
  type Model,
  type ModelCall,
  ModelFailure,
  type ModelPrice,
  type ModelRequest,
  type Usage,
} from '../../index.ts'
import { providerSchema } from '../../tool/convert.ts'
import { type AiPromptMessage, promptOf } from './prompt.ts'

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
  toolChoice?: { type: 'auto' }
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
  /** Which files it can read; the others it is told of by name. Default: images and PDF. */
  readonly reads?: (mediaType: string) => boolean
}

const imagesAndPdf = (mediaType: string): boolean => mediaType.startsWith('image/') || mediaType === 'application/pdf'

export function aiModel(model: AiLanguageModel, options: AiModelOptions = {}): Model {
  const { name = `${model.provider}/${model.modelId}`.replaceAll(/[^\w.:/@-]/g, '_'), contextTokens, price, reads = imagesAndPdf } = options
  return {
    name,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(price === undefined ? {} : { price }),
    async generate(call) {
      try {
        const { stream } = await model.doStream(await asked(call, reads))
        return await gathered(stream, call)
      } catch (error) {
        throw failureOf(error)
      }
    },
  }
}

async function asked({ request, signal, read }: ModelCall, reads: (mediaType: string) => boolean): Promise<AiCallOptions> {
  const { tools, settings } = request
  const { maxOutputTokens, temperature, topP, seed, stop, reasoning } = settings
  const given = { maxOutputTokens, temperature, topP, seed, reasoning, stopSequences: stop && [...stop] }
  return {
    prompt: await promptOf(request, read, reads),
    ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as object),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf), toolChoice: { type: 'auto' } }),
    ...providerOptions(request),
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

/** How "one call at a time" is said to those who can be told. */
const oneAtATime: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  openai: { parallelToolCalls: false },
  anthropic: { disableParallelToolUse: true },
}

function providerOptions({ parallel, tools, settings }: ModelRequest): Pick<AiCallOptions, 'providerOptions'> {
  const own: Record<string, Record<string, Json>> = {}
  for (const [provider, said] of Object.entries(parallel || tools.length === 0 ? {} : oneAtATime)) own[provider] = { ...said }
  for (const [provider, said] of Object.entries(settings.provider ?? {})) own[provider] = { ...own[provider], ...said }
  return Object.keys(own).length === 0 ? {} : { providerOptions: own as Record<string, Record<string, never>> }
}

/** What came, as parts in their order. A stream that ends without saying so has broken off. */
async function gathered(stream: ReadableStream<AiStreamPart>, { told, signal }: ModelCall): ReturnType<Model['generate']> {
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
    told({ type, delta: String(part.delta) })
  }
  const close = (type: 'text' | 'reasoning', part: AiStreamPart): void => {
    const at = open.get(`${type}:${String(part.id)}`)
    if (at !== undefined) parts[at] = { ...(parts[at] as AssistantPart), ...metaOf(part.providerMetadata) }
  }
  for await (const part of stream) {
    signal.throwIfAborted()
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
  if (!end) throw new ModelFailure('its answer broke off', { retryable: true })
  return { parts, ...end }
}

const metaOf = (metadata: unknown): { meta?: Json } => (metadata === undefined || metadata === null ? {} : { meta: metadata as Json })

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

function usageOf(usage: unknown): Usage {
  const { inputTokens, outputTokens } = (usage ?? {}) as { inputTokens?: Record<string, number>; outputTokens?: Record<string, number> }
  return {
    inputTokens: inputTokens?.total ?? 0,
    outputTokens: outputTokens?.total ?? 0,
    cachedTokens: inputTokens?.cacheRead ?? 0,
    reasoningTokens: outputTokens?.reasoning ?? 0,
  }
}

/** What may pass is said to be so; what a provider wrote is for the log alone. */
function failureOf(error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error
  const { statusCode, isRetryable, responseHeaders, name } = (typeof error === 'object' && error !== null ? error : {}) as {
    statusCode?: unknown
    isRetryable?: unknown
    responseHeaders?: Record<string, string>
    name?: unknown
  }
  if (name === 'AbortError') return new ModelFailure('it was stopped', { cause: error })
  const what = typeof statusCode === 'number' ? `HTTP ${statusCode}` : name === 'TypeError' ? 'it could not be reached' : 'it failed'
  const mayPass =
    isRetryable === true ||
    (typeof statusCode === 'number' ? statusCode === 408 || statusCode === 429 || statusCode >= 500 : name === 'TypeError')
  const after = Number(responseHeaders?.['retry-after-ms'] ?? Number(responseHeaders?.['retry-after']) * 1000)
  return new ModelFailure(what, { retryable: mayPass, cause: error, ...(Number.isFinite(after) && after >= 0 ? { afterMs: after } : {}) })
}
