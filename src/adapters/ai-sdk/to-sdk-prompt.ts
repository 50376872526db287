// Converts a conversation to the prompt format of the AI SDK's provider interface, for wrap-model.ts.

import { hash } from 'node:crypto'
import type { AssistantPart, Attachment, Json, ModelPart, ModelRequest, ResultPart } from '../../index.ts'
import { attachmentBytes, attachmentText, filesNotice } from '../../tools/convert-tool-formats.ts'

type Meta = { providerOptions?: Record<string, Record<string, never>> }
export type AiText = { type: 'text'; text: string } & Meta
export type AiFile = { type: 'file'; mediaType: string; filename?: string; data: { type: 'data'; data: Uint8Array } }
type AiAssistantPart =
  | AiText
  | ({ type: 'reasoning'; text: string } & Meta)
  | ({ type: 'tool-call'; toolCallId: string; toolName: string; input: unknown; providerExecuted?: true } & Meta)
  | ({
      type: 'tool-result'
      toolCallId: string
      toolName: string
      output: { type: 'json' | 'error-json'; value: never }
    } & Meta)
export type AiResult = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text' | 'error-text'; value: string } | { type: 'content'; value: (AiText | AiFile)[] }
}

/** A message of an AI SDK prompt. */
export type AiPromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: (AiText | AiFile)[] }
  | { role: 'assistant'; content: AiAssistantPart[] }
  | { role: 'tool'; content: AiResult[] }

/** Capabilities and limits of the provider. */
export interface PromptOptions {
  /** Its name in the parts of tools that it ran. */
  readonly provider: string
  read(attachment: Attachment): Promise<Uint8Array>
  /** Media types that it can read. */
  reads(mediaType: string): boolean
  /** Whether it accepts files in tool results; otherwise they follow in a user message with a notice. */
  readonly filesInResults: boolean
  /** Accepted call ids; null: any. */
  readonly ids: { readonly shape: RegExp; readonly most: number } | null
}

export async function promptOf(
  { instructions, messages }: ModelRequest,
  terms: PromptOptions,
): Promise<AiPromptMessage[]> {
  // Providers reject an empty system text.
  const prompt: AiPromptMessage[] =
    (instructions ?? '').trim() === '' ? [] : [{ role: 'system', content: instructions as string }]
  const idOf = terms.ids ? idMapper(terms.ids) : (id: string) => id
  const isSent = providerParts(messages, terms.provider)
  for (const message of messages) {
    switch (message.role) {
      case 'user':
        pushUserContent(prompt, await contentOf(message.parts, terms))
        break
      case 'assistant':
        pushAssistantContent(
          prompt,
          message.parts.filter(isSent).map((part) => toAssistantPart(part, idOf)),
        )
        break
      case 'tool': {
        const results = await Promise.all(message.results.map((result) => toToolResult(result, idOf, terms)))
        prompt.push({ role: 'tool', content: results.map(({ result }) => result) })
        pushUserContent(prompt, fileParts(results.flatMap(({ files }) => files)))
        break
      }
      default:
        throw new Error(`Unknown role: ${JSON.stringify(message satisfies never)}`)
    }
  }
  return prompt
}

/** User and assistant messages must alternate, so user content after a user message is merged into it. */
function pushUserContent(prompt: AiPromptMessage[], content: (AiText | AiFile)[]): void {
  const last = prompt.at(-1)
  if (content.length === 0) return
  if (last?.role === 'user') last.content.push(...content)
  else prompt.push({ role: 'user', content })
}

function pushAssistantContent(prompt: AiPromptMessage[], content: AiAssistantPart[]): void {
  const last = prompt.at(-1)
  // Providers reject an answer that ends with reasoning.
  const sent = content.slice(0, content.findLastIndex(({ type }) => type !== 'reasoning') + 1)
  if (sent.length === 0) return
  if (last?.role === 'assistant') last.content.push(...sent)
  else prompt.push({ role: 'assistant', content: sent })
}

type SentPart = Exclude<AssistantPart, { type: 'source' }>

/**
 * Selects the parts to send. A provider gets only the calls that it ran itself, each with its result. The result may be
 * still to come if the answer also has calls of ours, whose results are sent now, or if the provider paused it.
 */
function providerParts(
  messages: ModelRequest['messages'],
  provider: string,
): (part: AssistantPart) => part is SentPart {
  const answers = messages.flatMap((message) => (message.role === 'assistant' ? [message.parts] : []))
  const own = answers.flat().filter((part) => 'provider' in part && part.provider === provider)
  const called = new Set(own.map((part) => (part.type === 'provider_call' ? part.id : undefined)))
  const ended = new Set(own.map((part) => (part.type === 'provider_result' ? part.callId : undefined)))
  const open = new Set<AssistantPart>(messages.at(-1)?.role === 'user' ? [] : answers.at(-1))
  return (part): part is SentPart => {
    if (part.type === 'source') return false
    if (part.type === 'provider_call') return part.provider === provider && (ended.has(part.id) || open.has(part))
    return part.type !== 'provider_result' || (part.provider === provider && called.has(part.callId))
  }
}

const fileParts = (files: AiFile[]): (AiText | AiFile)[] =>
  files.length === 0 ? [] : [{ type: 'text', text: filesNotice(files.length) }, ...files]

const metaOf = (meta: Json | undefined): Meta =>
  typeof meta === 'object' && meta !== null && !Array.isArray(meta)
    ? { providerOptions: meta as Record<string, Record<string, never>> }
    : {}

type IdOf = (id: string) => string

/** Maps ids to accepted ones: the same id for a call and its result, and a different one for every other call. */
function idMapper({ shape, most }: NonNullable<PromptOptions['ids']>): IdOf {
  const mapped = new Map<string, string>()
  const used = new Set<string>()
  return (id) => {
    const before = mapped.get(id)
    if (before !== undefined) return before
    let name = shape.test(id) ? id : id.replaceAll(/[^\w-]/g, '_')
    for (let count = 1; used.has(name) || !shape.test(name); count++)
      name = hash('sha256', `${id} ${count}`, 'hex').slice(0, most)
    mapped.set(id, name)
    used.add(name)
    return name
  }
}

function toAssistantPart(part: SentPart, idOf: IdOf): AiAssistantPart {
  const meta = metaOf(part.meta)
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, text: part.text, ...meta }
    case 'provider_result': {
      const { callId, name, output, failed } = part
      return {
        type: 'tool-result',
        toolCallId: idOf(callId),
        toolName: name,
        output: { type: failed ? 'error-json' : 'json', value: output as never },
        ...meta,
      }
    }
    case 'call':
    case 'provider_call':
      return {
        type: 'tool-call',
        toolCallId: idOf(part.id),
        toolName: part.name,
        input: inputOf(part.input),
        ...(part.type === 'provider_call' ? { providerExecuted: true } : {}),
        ...meta,
      }
    default:
      throw new Error(`Unknown part: ${JSON.stringify(part satisfies never)}`)
  }
}

/** Providers accept only objects, so invalid JSON is wrapped. The result of that call says why it was rejected. */
function inputOf(text: string): unknown {
  try {
    const input: unknown = text.trim() === '' ? {} : JSON.parse(text)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { input }
  } catch {
    return { invalid: text }
  }
}

/** A tool result, and the files that must be sent in a separate message. */
async function toToolResult(
  { callId, name, status, parts }: ResultPart,
  idOf: IdOf,
  terms: PromptOptions,
): Promise<{ result: AiResult; files: AiFile[] }> {
  const about = { type: 'tool-result' as const, toolCallId: idOf(callId), toolName: name }
  const content = await contentOf(parts, terms)
  const files = content.filter((part) => part.type === 'file')
  if (files.length > 0 && terms.filesInResults)
    return { result: { ...about, output: { type: 'content', value: content } }, files: [] }
  const value = parts.map((part) => (part.type === 'text' ? part.text : attachmentText(part.attachment.ref))).join('')
  return { result: { ...about, output: { type: status === 'failure' ? 'error-text' : 'text', value } }, files }
}

async function contentOf(parts: readonly ModelPart[], { read, reads }: PromptOptions): Promise<(AiText | AiFile)[]> {
  const content = await Promise.all(
    parts.map(async (part): Promise<AiText | AiFile> => {
      if (part.type === 'text') return { type: 'text', text: part.text }
      const { mediaType, name } = part.attachment.ref
      // Base64 never enters the text: a file that the model cannot read is mentioned by name.
      const data = reads(mediaType) ? await attachmentBytes(part.attachment, { read }) : undefined
      if (!data) return { type: 'text', text: attachmentText(part.attachment.ref) }
      return {
        type: 'file',
        mediaType,
        ...(name === undefined ? {} : { filename: name }),
        data: { type: 'data', data },
      }
    }),
  )
  const joined: (AiText | AiFile)[] = []
  for (const part of content) {
    const last = joined.at(-1)
    if (part.type === 'text' && last?.type === 'text')
      joined[joined.length - 1] = { type: 'text', text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}
