// Collects the stream of a language model of the AI SDK into an answer, for wrap-model.ts.

import {
  type AssistantPart,
  type FinishReason,
  type Json,
  type Model,
  type ModelCall,
  ModelFailure,
  type Usage,
} from '../../index.ts'

/** A part of a streamed answer. */
// oxlint-disable-next-line typescript/no-explicit-any -- many shapes, discriminated by their type
export type AiStreamPart = { readonly type: string } & Record<string, any>

/** Collects the stream into ordered parts. A stream that ends without a finish part was interrupted. */
export async function collectAnswer(
  stream: ReadableStream<AiStreamPart>,
  { told, alive, signal }: ModelCall,
  provider: string,
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
  const announced = new Set<string>()
  /** Tells about a call once; returns false if that was done before. */
  const announce = (id: string, { toolName, providerExecuted }: AiStreamPart): boolean => {
    if (announced.has(id)) return false
    announced.add(id)
    told({ type: 'call', id, name: String(toolName), ...(providerExecuted === true ? { provider: true } : {}) })
    return true
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
        announce(String(part.id), part)
        break
      case 'tool-input-delta':
        if (part.delta !== '') told({ type: 'input', id: String(part.id), delta: String(part.delta) })
        break
      case 'tool-call': {
        const call = { id: String(part.toolCallId), name: String(part.toolName), input: String(part.input) }
        // Some providers send calls whole.
        if (announce(call.id, part) && call.input !== '') told({ type: 'input', id: call.id, delta: call.input })
        const meta = metaOf(part.providerMetadata)
        if (part.providerExecuted === true) parts.push({ type: 'provider_call', ...call, provider, ...meta })
        else parts.push({ type: 'call', ...call, ...meta })
        break
      }
      case 'tool-result': // only of tools that the provider runs
        if (part.preliminary !== true)
          parts.push({
            type: 'provider_result',
            callId: String(part.toolCallId),
            name: String(part.toolName),
            output: (part.result ?? null) as Json,
            ...(part.isError === true ? { failed: true } : {}),
            provider,
            ...metaOf(part.providerMetadata),
          })
        break
      case 'source':
        parts.push(sourceOf(part))
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

const sourceOf = ({ id, url, title, mediaType, providerMetadata }: AiStreamPart): AssistantPart => ({
  type: 'source',
  id: String(id),
  ...(typeof url === 'string' ? { url } : {}),
  ...(typeof title === 'string' ? { title } : {}),
  ...(typeof mediaType === 'string' ? { mediaType } : {}),
  ...metaOf(providerMetadata),
})

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
  const { unified = reason, raw } = objectOf(reason)
  if (raw === 'pause_turn') return 'paused' // Anthropic's; packages report it as a stop
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
