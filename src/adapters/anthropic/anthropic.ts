// pawl/anthropic: tools out, calls in, results out, for the Messages API. The SDK is not needed at run time: the shapes here are the few
// fields that matter of its types, and test/types/adapters.test-d.ts holds them to it.

import {
  type CallAsk,
  type CallOutcome,
  type ModelPart,
  type OpenCall,
  PawlError,
  type RunOptions,
  type Tool,
} from '../../index.ts'
import {
  attachmentBytes,
  type AttachmentReader,
  attachmentText,
  type AnthropicTool,
  providerId,
  safeAsk,
  toAnthropic,
} from '../../tools/convert.ts'

export { fromAnthropic, toAnthropic } from '../../tools/convert.ts'
export type { AnthropicTool, AttachmentReader, ToolTerms } from '../../tools/convert.ts'

/** What the adapter uses of a session. */
export interface AnthropicSession {
  run(calls: readonly CallAsk[], options?: RunOptions): Promise<CallOutcome[]>
  readonly tools?: readonly Tool[]
  readonly attachments?: AttachmentReader
}

/** A message of the API, or one the host kept without its id. */
export interface AnthropicMessage {
  readonly id?: string
  readonly content: string | readonly { readonly type: string }[]
  readonly stop_reason?: string | null
}

type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: ImageType; data: string } }
  | { type: 'document'; source: { type: 'base64'; media_type: 'application/pdf'; data: string }; title: string | null }

export interface AnthropicToolResult {
  type: 'tool_result'
  tool_use_id: string
  content?: AnthropicBlock[]
  is_error?: boolean
}

/** The definitions for `tools:` of a request, sorted by name. */
export const anthropicTools = (of: AnthropicSession | readonly Tool[]): AnthropicTool[] =>
  toAnthropic('run' in of ? (of.tools ?? []) : of)

/** Where the model was stopped in the middle of what it wrote. */
const cutOff = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])

/** The `tool_use` blocks of a message, in the model's order. Server tools ran already and are not among them. */
export function callsFromAnthropic({ content, stop_reason }: AnthropicMessage): CallAsk[] {
  const blocks = typeof content === 'string' ? [] : content
  const cut = cutOff.has(stop_reason ?? '') ? blocks.at(-1) : undefined
  return blocks
    .filter((block) => block.type === 'tool_use')
    .map((block, index) => {
      const { id, name, input } = block as { id?: unknown; name?: unknown; input?: unknown }
      // The API closes the JSON of a call it cut off, so half of the arguments look whole. Opened again, they are refused, not run.
      return safeAsk(id, name, block === cut ? opened(input) : input, index)
    })
}

function opened(input: unknown): string {
  try {
    return JSON.stringify(input ?? {}).slice(0, -1)
  } catch {
    return '{' // nested so deep that it has no text
  }
}

/** One block per outcome, in order; what ended without success is an error to the model, what is open has a placeholder (POL-7). */
export async function anthropicResults(
  outcomes: readonly (CallOutcome | OpenCall)[],
  { attachments }: { attachments?: AttachmentReader | undefined } = {},
): Promise<AnthropicToolResult[]> {
  return Promise.all(
    outcomes.map(async (outcome): Promise<AnthropicToolResult> => {
      const { status, parts } = outcome
      const failed = status === 'failure' || status === 'cancelled' || status === 'unknown'
      // The API takes only text in an error, and no empty text anywhere.
      const content = await Promise.all(parts.map((part) => blockOf(part, failed ? undefined : attachments)))
      return {
        type: 'tool_result',
        tool_use_id: providerId(outcome),
        ...(content.length > 0 ? { content } : {}),
        ...(failed ? { is_error: true } : {}),
      }
    }),
  )
}

const images: ReadonlySet<string> = new Set<ImageType>(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** VAL-5: images and PDFs as native blocks if their bytes can be had, everything else by name. */
async function blockOf(part: ModelPart, attachments: AttachmentReader | undefined): Promise<AnthropicBlock> {
  if (part.type === 'text') return part
  const { mediaType, name } = part.attachment.ref
  const pdf = mediaType === 'application/pdf'
  const bytes = pdf || images.has(mediaType) ? await attachmentBytes(part.attachment, attachments) : undefined
  if (!bytes) return { type: 'text', text: attachmentText(part.attachment.ref) }
  const data = Buffer.from(bytes).toString('base64')
  if (pdf)
    return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data }, title: name ?? null }
  return { type: 'image', source: { type: 'base64', media_type: mediaType as ImageType, data } }
}

export interface RunAnthropicOptions {
  /** Names the model's message; its own id if it has one. The same after a restart, or calls run twice. */
  readonly batch?: string
  readonly signal?: AbortSignal
  readonly attachments?: AttachmentReader
}

/** Runs the calls of a message as one batch and gives the content of the user message that answers it. Asked again, it joins. */
export async function runAnthropic(
  session: AnthropicSession,
  message: AnthropicMessage,
  options: RunAnthropicOptions = {},
): Promise<AnthropicToolResult[]> {
  const calls = callsFromAnthropic(message)
  if (calls.length === 0) return []
  const batch = options.batch ?? message.id ?? ''
  if (batch === '') throw new PawlError('call_invalid', 'A message without its id names no batch: give { batch }.')
  const outcomes = await session.run(calls, { batch, ...(options.signal ? { signal: options.signal } : {}) })
  return anthropicResults(outcomes, { attachments: options.attachments ?? session.attachments })
}
