// pawl/anthropic: converts tools, calls and results for the Messages API. The SDK is not needed at run time: the types
// here are the few fields that are used, and test/types/adapters.test-d.ts checks them against the SDK.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type CallAsk, type CallOutcome, type ModelPart, type OpenCall, PawlError, type Tool } from '../../index.ts'
import {
  attachmentBytes,
  type AttachmentReader,
  attachmentText,
  type AnthropicTool,
  providerId,
  safeCall,
  toAnthropic,
} from '../../tools/convert-tool-formats.ts'
import { type AdapterUntil, type CallRunner, runCalls, untilOption } from '../run-calls.ts'

export type { AdapterUntil, CallRunner } from '../run-calls.ts'
export { fromAnthropic, toAnthropic } from '../../tools/convert-tool-formats.ts'
export type { AnthropicTool, AttachmentReader, ToolTerms } from '../../tools/convert-tool-formats.ts'

/** The part of a session that the adapter uses. */
export interface AnthropicSession extends CallRunner {
  readonly tools?: readonly Tool[]
  readonly attachments?: AttachmentReader
}

/** A message of the API, or a stored one without its id. */
export interface AnthropicMessage {
  readonly id?: string
  readonly content: string | readonly { readonly type: string }[]
  readonly stop_reason?: string | null
}

type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

/** A content block of a message. */
export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: ImageType; data: string } }
  | { type: 'document'; source: { type: 'base64'; media_type: 'application/pdf'; data: string }; title: string | null }

/** A tool result block. */
export interface AnthropicToolResult {
  type: 'tool_result'
  tool_use_id: string
  content?: AnthropicBlock[]
  is_error?: boolean
}

/** The definitions for `tools:` of a request, sorted by name. */
export const anthropicTools = (of: AnthropicSession | readonly Tool[]): AnthropicTool[] =>
  toAnthropic('run' in of ? (of.tools ?? []) : of)

/** Stop reasons that may cut the last block in the middle. */
const truncatingStops = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])

/** The `tool_use` blocks of a message, in the model's order. Server tools have already run and are not included. */
export function callsFromAnthropic({ content, stop_reason }: AnthropicMessage): CallAsk[] {
  const blocks = typeof content === 'string' ? [] : content
  const cut = truncatingStops.has(stop_reason ?? '') ? blocks.at(-1) : undefined
  return blocks
    .filter((block) => block.type === 'tool_use')
    .map((block, index) => {
      const { id, name, input } = block as { id?: unknown; name?: unknown; input?: unknown }
      // The API closes the JSON of a call that was cut off, so partial arguments look complete. Removing the closing
      // brace makes them invalid, and the call is rejected instead of run.
      return safeCall(id, name, block === cut ? reopenJson(input) : input, index)
    })
}

function reopenJson(input: unknown): string {
  try {
    return JSON.stringify(input ?? {}).slice(0, -1)
  } catch {
    return '{' // too deeply nested to be serialized
  }
}

/** Options of anthropicResults(). */
interface AnthropicResultsOptions {
  /** Reads files, so that images and PDFs are sent. Default: files are only named. */
  readonly attachments?: AttachmentReader | undefined
}
const anthropicResultsOptions = { attachments: option.object } satisfies OptionTable<AnthropicResultsOptions>

/** One block per outcome, in order. A call that did not succeed is an error block; an open call has a placeholder. */
export async function anthropicResults(
  outcomes: readonly (CallOutcome | OpenCall)[],
  options: AnthropicResultsOptions = {},
): Promise<AnthropicToolResult[]> {
  checkOptions(options, anthropicResultsOptions, 'anthropicResults()')
  const { attachments } = options
  return Promise.all(
    outcomes.map(async (outcome): Promise<AnthropicToolResult> => {
      const { status, parts } = outcome
      const failed = status === 'failure' || status === 'cancelled' || status === 'unknown'
      // The API accepts only text in an error result, and never an empty text.
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

/** Images and PDFs as native blocks if their bytes are available; everything else by name. */
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

/** The options of runAnthropic(). */
export interface RunAnthropicOptions {
  /** Name of the batch. It must be stable across restarts, or calls run twice. Default: the id of the message. */
  readonly batch?: string
  /** Cancels the calls that are open. With `until: 'waiting'` it has no effect after the return. */
  readonly signal?: AbortSignal
  /**
   * `'waiting'`: returns as soon as every call is settled or waits for a person or something outside. Calls that wait
   * have a placeholder as their result. They continue; the same message again joins them. Default: `'settled'`.
   */
  readonly until?: AdapterUntil
  /** Reads files, so that images and PDFs are sent. Default: files are only named. */
  readonly attachments?: AttachmentReader
}

const runAnthropicOptions = {
  batch: option.string,
  signal: option.abortSignal,
  until: untilOption,
  ...anthropicResultsOptions,
} satisfies OptionTable<RunAnthropicOptions>

/**
 * Runs the calls of a message as one batch and returns the content of the user message. A repeated call joins it.
 *
 * @example
 * messages.push({ role: 'user', content: await runAnthropic(session, message, { until: 'waiting' }) })
 */
export async function runAnthropic(
  session: AnthropicSession,
  message: AnthropicMessage,
  options: RunAnthropicOptions = {},
): Promise<AnthropicToolResult[]> {
  checkOptions(options, runAnthropicOptions, 'runAnthropic()', 'call_invalid')
  const calls = callsFromAnthropic(message)
  if (calls.length === 0) return []
  const batch = options.batch ?? message.id ?? ''
  if (batch === '') throw new PawlError('call_invalid', 'The message has no id to use as its batch. Pass { batch }.')
  const outcomes = await runCalls(session, calls, { batch, signal: options.signal, until: options.until })
  return anthropicResults(outcomes, { attachments: options.attachments ?? session.attachments })
}
