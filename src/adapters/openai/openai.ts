// pawl/openai: tools out, calls in, results out, for OpenAI's chat completions and Responses APIs. The SDK is not needed at run time:
// the shapes here are the few fields that matter of its types, and test/types/adapters.test-d.ts holds them to it.

import {
  type Attachment,
  type CallAsk,
  type CallOutcome,
  type Json,
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
  type OpenAIApi,
  type OpenAIChatTool,
  type OpenAIResponsesTool,
  providerId,
  safeAsk,
  toOpenAI,
} from '../../tools/convert.ts'
import { strictForm, withoutNulls } from './strict-schema.ts'

export { fromOpenAI } from '../../tools/convert.ts'
export type {
  AttachmentReader,
  OpenAIApi,
  OpenAIChatTool,
  OpenAIResponsesTool,
  OpenAITool,
  ToolTerms,
} from '../../tools/convert.ts'

/** What the adapter uses of a session. */
export interface OpenAISession {
  run(calls: readonly CallAsk[], options?: RunOptions): Promise<CallOutcome[]>
  readonly tools?: readonly Tool[]
  readonly attachments?: AttachmentReader
}

export interface OpenAIChatMessage {
  readonly tool_calls?: readonly { readonly type?: string; readonly id?: string }[] | null
}

export interface OpenAICompletion {
  readonly id: string
  readonly choices: readonly { readonly message: OpenAIChatMessage; readonly finish_reason?: string | null }[]
}

export interface OpenAIResponse {
  readonly id: string
  readonly output: readonly { readonly type?: string }[]
  readonly status?: string | null
}

/** A chat completion, its message, a response of the Responses API, or its output items. */
export type OpenAIAnswer = OpenAICompletion | OpenAIChatMessage | OpenAIResponse | OpenAIResponse['output']

export interface OpenAIToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string
}

export type OpenAIOutputPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' }
  | { type: 'input_file'; filename: string; file_data: string }

export interface OpenAICallOutput {
  type: 'function_call_output'
  call_id: string
  output: string | OpenAIOutputPart[]
}

/** The definitions for `tools:` of a request, sorted by name. `strict` holds the model to the schema, for the tools whose schema allows it. */
export function openaiTools(
  of: OpenAISession | readonly Tool[],
  how: { api: 'chat'; strict?: boolean },
): OpenAIChatTool[]
export function openaiTools(
  of: OpenAISession | readonly Tool[],
  how: { api: 'responses'; strict?: boolean },
): OpenAIResponsesTool[]
export function openaiTools(
  of: OpenAISession | readonly Tool[],
  { api, strict = false }: { api: OpenAIApi; strict?: boolean },
) {
  return toOpenAI(toolsOf(of), { api, strict: strict ? strictForm : undefined })
}

const toolsOf = (of: OpenAISession | readonly Tool[]): readonly Tool[] => ('run' in of ? (of.tools ?? []) : of)

/**
 * The function calls in an answer, in the model's order, their arguments as the model wrote them. Calls of custom and built-in tools are
 * the host's. For tools that went out as `strict`, give the same tools here: the nulls that strict mode makes of absent keys are taken out.
 */
export function callsFromOpenAI(answer: OpenAIAnswer, { strict = [] }: { strict?: readonly Tool[] } = {}): CallAsk[] {
  const { calls, cut } = readAnswer(answer)
  const schemas = new Map(strict.map((each) => [each.name, each.input.json]))
  return calls.map(({ id, name, text }, index) => {
    const schema = schemas.get(name)
    // Cut off before the first character is not "no arguments": as half an object it is refused instead of run.
    const input = cut && index === calls.length - 1 && text.trim() === '' ? '{' : text
    return safeAsk(id, name, schema ? unstrict(schema, input) : input, index)
  })
}

interface Asked {
  readonly id: string
  readonly name: string
  readonly text: string
}

function readAnswer(answer: OpenAIAnswer): { calls: Asked[]; cut: boolean } {
  if ('choices' in answer) {
    const choice = answer.choices[0]
    return {
      calls: chatCalls(choice?.message),
      cut: choice?.finish_reason === 'length' || choice?.finish_reason === 'content_filter',
    }
  }
  if (Array.isArray(answer)) return { calls: itemCalls(answer as OpenAIResponse['output']), cut: false }
  if ('output' in answer) return { calls: itemCalls(answer.output), cut: answer.status === 'incomplete' }
  return { calls: chatCalls(answer as OpenAIChatMessage), cut: false }
}

const chatCalls = (message: OpenAIChatMessage | undefined): Asked[] =>
  (message?.tool_calls ?? []).flatMap((call) => {
    const { function: asked } = call as { function?: { name?: unknown; arguments?: unknown } }
    return !asked ? [] : [{ id: textOf(call.id), name: textOf(asked.name), text: textOf(asked.arguments) }]
  })

const itemCalls = (items: OpenAIResponse['output']): Asked[] =>
  items
    .filter((item) => item.type === 'function_call')
    .map((item) => {
      const { call_id, name, arguments: text } = item as { call_id?: unknown; name?: unknown; arguments?: unknown }
      return { id: textOf(call_id), name: textOf(name), text: textOf(text) }
    })

/** Servers that only resemble OpenAI's send objects for arguments, and nothing for ids. */
function textOf(given: unknown): string {
  if (typeof given === 'string') return given
  try {
    return given === undefined || given === null ? '' : JSON.stringify(given)
  } catch {
    return '{' // nested so deep that it has no text: refused like half an object, and nobody else loses a result
  }
}

function unstrict(schema: Tool['input']['json'], text: string): unknown {
  if (!text.includes('null')) return text
  try {
    return withoutNulls(schema, JSON.parse(text) as Json)
  } catch {
    return text // the call is refused with this text, as every other that is not JSON
  }
}

/** One message or item per outcome, in order; for a call that is open, what stands in its place until a notice tells the outcome (POL-7). Images and PDFs go as native parts where the API takes them, else by name (VAL-5). */
export async function openaiResults(
  outcomes: readonly (CallOutcome | OpenCall)[],
  how: { api: 'chat' },
): Promise<OpenAIToolMessage[]>
export async function openaiResults(
  outcomes: readonly (CallOutcome | OpenCall)[],
  how: { api: 'responses'; attachments?: AttachmentReader },
): Promise<OpenAICallOutput[]>
export async function openaiResults(
  outcomes: readonly (CallOutcome | OpenCall)[],
  how: { api: OpenAIApi; attachments?: AttachmentReader | undefined },
): Promise<OpenAIToolMessage[] | OpenAICallOutput[]>
export async function openaiResults(
  outcomes: readonly (CallOutcome | OpenCall)[],
  { api, attachments }: { api: OpenAIApi; attachments?: AttachmentReader | undefined },
): Promise<OpenAIToolMessage[] | OpenAICallOutput[]> {
  if (api === 'chat')
    return outcomes.map((outcome): OpenAIToolMessage => ({
      role: 'tool',
      tool_call_id: providerId(outcome),
      content: flatText(outcome.parts),
    }))
  return Promise.all(
    outcomes.map(async (outcome): Promise<OpenAICallOutput> => {
      const { parts } = outcome
      const native = await Promise.all(parts.map((part) => outputPart(part, attachments)))
      const plain = native.every(({ type }) => type === 'input_text')
      return { type: 'function_call_output', call_id: providerId(outcome), output: plain ? flatText(parts) : native }
    }),
  )
}

const flatText = (parts: readonly ModelPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : attachmentText(part.attachment.ref))).join('')

async function outputPart(part: ModelPart, attachments: AttachmentReader | undefined): Promise<OpenAIOutputPart> {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  return (
    (await nativePart(part.attachment, attachments)) ?? {
      type: 'input_text',
      text: attachmentText(part.attachment.ref),
    }
  )
}

const images = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

async function nativePart(
  attachment: Attachment,
  attachments: AttachmentReader | undefined,
): Promise<OpenAIOutputPart | undefined> {
  const { id, mediaType, name } = attachment.ref
  if (!images.has(mediaType) && mediaType !== 'application/pdf') return undefined
  const bytes = await attachmentBytes(attachment, attachments)
  if (!bytes) return undefined
  const url = `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`
  if (mediaType === 'application/pdf') return { type: 'input_file', filename: name ?? `${id}.pdf`, file_data: url }
  return { type: 'input_image', image_url: url, detail: 'auto' }
}

export interface RunOpenAIOptions {
  /** Names the model's message; the answer's own id if it has one. The same after a restart, or calls run twice. */
  readonly batch?: string
  readonly signal?: AbortSignal
  /** The tools went out as `strict`. */
  readonly strict?: boolean
  readonly attachments?: AttachmentReader
}

/** Runs the calls of an answer as one batch and gives what goes back to the model. Asked again, after a restart too, it joins. */
export async function runOpenAI(
  session: OpenAISession,
  answer: OpenAIResponse,
  options?: RunOpenAIOptions,
): Promise<OpenAICallOutput[]>
export async function runOpenAI(
  session: OpenAISession,
  answer: OpenAICompletion,
  options?: RunOpenAIOptions,
): Promise<OpenAIToolMessage[]>
export async function runOpenAI(
  session: OpenAISession,
  answer: OpenAIResponse['output'],
  options: RunOpenAIOptions & { batch: string },
): Promise<OpenAICallOutput[]>
export async function runOpenAI(
  session: OpenAISession,
  answer: OpenAIChatMessage,
  options: RunOpenAIOptions & { batch: string },
): Promise<OpenAIToolMessage[]>
export async function runOpenAI(
  session: OpenAISession,
  answer: OpenAIAnswer,
  options: RunOpenAIOptions = {},
): Promise<OpenAIToolMessage[] | OpenAICallOutput[]> {
  const api = Array.isArray(answer) || 'output' in answer ? 'responses' : 'chat'
  const calls = callsFromOpenAI(answer, options.strict ? { strict: toolsOf(session) } : {})
  if (calls.length === 0) return []
  const batch = options.batch ?? ('id' in answer ? answer.id : '')
  if (batch === '') throw new PawlError('call_invalid', 'A message without its id names no batch: give { batch }.')
  const outcomes = await session.run(calls, { batch, ...(options.signal ? { signal: options.signal } : {}) })
  return openaiResults(outcomes, { api, attachments: options.attachments ?? session.attachments })
}
