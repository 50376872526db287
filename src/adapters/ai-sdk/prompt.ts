// A conversation in the words of the AI SDK's provider interface.

import type { AssistantPart, Attachment, Json, ModelPart, ModelRequest, ResultPart } from '../../index.ts'

type Meta = { providerOptions?: Record<string, Record<string, never>> }
type AiText = { type: 'text'; text: string } & Meta
type AiFile = { type: 'file'; mediaType: string; filename?: string; data: { type: 'data'; data: Uint8Array } }
type AiSaid =
  | AiText
  | ({ type: 'reasoning'; text: string } & Meta)
  | ({ type: 'tool-call'; toolCallId: string; toolName: string; input: unknown } & Meta)
type AiResult = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text' | 'error-text'; value: string } | { type: 'content'; value: (AiText | AiFile)[] }
}

export type AiPromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: (AiText | AiFile)[] }
  | { role: 'assistant'; content: AiSaid[] }
  | { role: 'tool'; content: AiResult[] }

type Read = (attachment: Attachment) => Promise<Uint8Array>
type Reads = (mediaType: string) => boolean

export async function promptOf({ instructions, messages }: ModelRequest, read: Read, reads: Reads): Promise<AiPromptMessage[]> {
  const prompt: AiPromptMessage[] = instructions === null ? [] : [{ role: 'system', content: instructions }]
  for (const message of messages) {
    switch (message.role) {
      case 'user':
        prompt.push({ role: 'user', content: await contentOf(message.parts, read, reads) })
        break
      case 'assistant':
        prompt.push({ role: 'assistant', content: message.parts.map(saidOf) })
        break
      case 'tool':
        prompt.push({ role: 'tool', content: await Promise.all(message.results.map((result) => resultOf(result, read, reads))) })
        break
      default:
        throw new Error(`Unknown role: ${JSON.stringify(message satisfies never)}`)
    }
  }
  return prompt
}

const metaOf = (meta: Json | undefined): Meta =>
  typeof meta === 'object' && meta !== null && !Array.isArray(meta)
    ? { providerOptions: meta as Record<string, Record<string, never>> }
    : {}

function saidOf(part: AssistantPart): AiSaid {
  if (part.type !== 'call') return { type: part.type, text: part.text, ...metaOf(part.meta) }
  return { type: 'tool-call', toolCallId: part.id, toolName: part.name, input: inputOf(part.input), ...metaOf(part.meta) }
}

/** What was no JSON was refused, and its result says so; a provider takes objects alone. */
function inputOf(text: string): unknown {
  try {
    const input: unknown = text.trim() === '' ? {} : JSON.parse(text)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { input }
  } catch {
    return { invalid: text }
  }
}

async function resultOf({ callId, name, status, parts }: ResultPart, read: Read, reads: Reads): Promise<AiResult> {
  const about = { type: 'tool-result' as const, toolCallId: callId, toolName: name }
  const content = await contentOf(parts, read, reads)
  const texts = content.filter((part) => part.type === 'text')
  const value = texts.map(({ text }) => text).join('')
  if (texts.length < content.length) return { ...about, output: { type: 'content', value: content } }
  return { ...about, output: { type: status === 'failure' ? 'error-text' : 'text', value } }
}

async function contentOf(parts: readonly ModelPart[], read: Read, reads: Reads): Promise<(AiText | AiFile)[]> {
  return Promise.all(
    parts.map(async (part): Promise<AiText | AiFile> => {
      if (part.type === 'text') return { type: 'text', text: part.text }
      const { mediaType, name, bytes } = part.attachment.ref
      // Base64 never enters the text (VAL-5): who cannot read it is told that it is there.
      if (!reads(mediaType)) return { type: 'text', text: `[File ${JSON.stringify(name ?? 'unnamed')}, ${mediaType}, ${bytes} bytes]` }
      return {
        type: 'file',
        mediaType,
        ...(name === undefined ? {} : { filename: name }),
        data: { type: 'data', data: await read(part.attachment) },
      }
    }),
  )
}
