// Converts a request for models of AI SDK 7 (provider specification v4) to one for models of AI SDK 6 (v3). Files have
// another form there, and there is no setting for reasoning. Used by wrap-model.ts.

import { Buffer } from 'node:buffer'
import type { AiFile, AiPromptMessage, AiResult, AiText } from './to-sdk-prompt.ts'
import type { AiCallOptions } from './to-sdk-request.ts'

type AiFile6 = Omit<AiFile, 'data'> & { data: Uint8Array }
type AiResultFile6 = { type: 'image-data' | 'file-data'; data: string; mediaType: string; filename?: string }
type AiResult6 = Omit<AiResult, 'output'> & {
  output: Exclude<AiResult['output'], { type: 'content' }> | { type: 'content'; value: (AiText | AiResultFile6)[] }
}

/** A message of a prompt for models of AI SDK 6. */
export type AiPromptMessage6 =
  | Extract<AiPromptMessage, { role: 'system' | 'assistant' }>
  | { role: 'user'; content: (AiText | AiFile6)[] }
  | { role: 'tool'; content: AiResult6[] }

/** The request to a model of AI SDK 6, as far as it is used. */
export interface AiCallOptions6 extends Omit<AiCallOptions, 'prompt' | 'reasoning'> {
  /** The conversation. */
  prompt: AiPromptMessage6[]
}

export function toSdk6(request: AiCallOptions): AiCallOptions6 {
  const { prompt, reasoning: _, ...options } = request
  return { ...options, prompt: prompt.map(messageOf) }
}

function messageOf(message: AiPromptMessage): AiPromptMessage6 {
  if (message.role === 'user')
    return {
      role: 'user',
      content: message.content.map((part) => (part.type === 'file' ? { ...part, data: part.data.data } : part)),
    }
  return message.role === 'tool' ? { role: 'tool', content: message.content.map(resultOf) } : message
}

function resultOf({ output, ...result }: AiResult): AiResult6 {
  if (output.type !== 'content') return { ...result, output }
  return { ...result, output: { type: 'content', value: output.value.map(resultPartOf) } }
}

function resultPartOf(part: AiText | AiFile): AiText | AiResultFile6 {
  if (part.type === 'text') return part
  const { mediaType, data, filename } = part
  return {
    type: mediaType.startsWith('image/') ? 'image-data' : 'file-data',
    data: Buffer.from(data.data).toString('base64'),
    mediaType,
    ...(filename === undefined ? {} : { filename }),
  }
}
