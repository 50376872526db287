// pawl/openai: converts tools, calls and results for OpenAI's chat completions and Responses APIs. The SDK is not
// needed at run time: the types here are the few fields that are used, and test/types/adapters.test-d.ts checks them
// against the SDK.

import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import {
  type Attachment,
  type CallAsk,
  type CallOutcome,
  type ModelPart,
  type OpenCall,
  PawlError,
  type Tool,
} from '../../index.ts'
import {
  attachmentBytes,
  type AttachmentReader,
  attachmentText,
  type OpenAIApi,
  openaiApi,
  type OpenAIChatTool,
  type OpenAIResponsesTool,
  providerId,
  safeCall,
  toOpenAI,
} from '../../tools/convert-tool-formats.ts'
import { type AdapterUntil, type CallRunner, runCalls, untilOption } from '../run-calls.ts'
import { strictForm, withoutNulls } from './strict-schema.ts'
import { parseJson } from '../../core/tool-value.ts'

export type { AdapterUntil, CallRunner } from '../run-calls.ts'
export { fromOpenAI } from '../../tools/convert-tool-formats.ts'
export type {
  AttachmentReader,
  OpenAIApi,
  OpenAIChatTool,
  OpenAIResponsesTool,
  OpenAITool,
  ToolTerms,
} from '../../tools/convert-tool-formats.ts'

/** The part of a session that the adapter uses. */
export interface OpenAISession extends CallRunner {
  readonly tools?: readonly Tool[]
  readonly attachments?: AttachmentReader
}

/** An assistant message of the chat API. */
export interface OpenAIChatMessage {
  readonly tool_calls?: readonly { readonly type?: string; readonly id?: string }[] | null
}

/** A completion of the chat API. */
export interface OpenAICompletion {
  readonly id: string
  readonly choices: readonly { readonly message: OpenAIChatMessage; readonly finish_reason?: string | null }[]
}

/** A response of the responses API. */
export interface OpenAIResponse {
  readonly id: string
  readonly output: readonly { readonly type?: string }[]
  readonly status?: string | null
}

/** A chat completion, its message, a response of the Responses API, or its output items. */
export type OpenAIAnswer = OpenAICompletion | OpenAIChatMessage | OpenAIResponse | OpenAIResponse['output']

/** A tool message of the chat API. */
export interface OpenAIToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string
}

/** A part of the output of a call, for the responses API. */
export type OpenAIOutputPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' }
  | { type: 'input_file'; filename: string; file_data: string }

/** The output of a call, for the responses API. */
export interface OpenAICallOutput {
  type: 'function_call_output'
  call_id: string
  output: string | OpenAIOutputPart[]
}

/** Options of openaiTools(). */
interface OpenAIToolsOptions<Api> {
  /** Which API the tools are for. */
  readonly api: Api
  /** Whether schemas are converted to strict mode where that is possible. Default: false. */
  readonly strict?: boolean
}
const openaiToolsOptions = {
  api: openaiApi,
  strict: option.boolean,
} satisfies OptionTable<OpenAIToolsOptions<OpenAIApi>>

/** The `tools` of a request, sorted by name. `strict` enables strict mode for the tools whose schema allows it. */
export function openaiTools(of: OpenAISession | readonly Tool[], how: OpenAIToolsOptions<'chat'>): OpenAIChatTool[]
export function openaiTools(
  of: OpenAISession | readonly Tool[],
  how: OpenAIToolsOptions<'responses'>,
): OpenAIResponsesTool[]
export function openaiTools(of: OpenAISession | readonly Tool[], how: OpenAIToolsOptions<OpenAIApi>) {
  checkRequiredOptions(how, openaiToolsOptions, 'openaiTools()')
  const { api, strict = false } = how
  return toOpenAI(toolsOf(of), { api, strict: strict ? strictForm : undefined })
}

const toolsOf = (of: OpenAISession | readonly Tool[]): readonly Tool[] => ('run' in of ? (of.tools ?? []) : of)

/**
 * The function calls of an answer, in the model's order, with the arguments as the model wrote them. Calls of custom
 * and built-in tools are left to the application. Pass the tools that were sent as `strict`: the nulls that strict mode
 * requires for absent keys are removed.
 */
export function callsFromOpenAI(answer: OpenAIAnswer, how: { strict?: readonly Tool[] } = {}): CallAsk[] {
  checkOptions(how, openaiCallsOptions, 'callsFromOpenAI()')
  const { strict = [] } = how
  const { calls, cut } = readAnswer(answer)
  const schemas = new Map(strict.map((each) => [each.name, each.input.json]))
  return calls.map(({ id, name, text }, index) => {
    const schema = schemas.get(name)
    // A call that was cut off before its arguments must not look like a call without arguments: '{' is invalid JSON, so
    // the call is rejected.
    const input = cut && index === calls.length - 1 && text.trim() === '' ? '{' : text
    return safeCall(id, name, schema ? unstrict(schema, input) : input, index)
  })
}

const openaiCallsOptions = { strict: option.array }

interface ParsedCall {
  readonly id: string
  readonly name: string
  readonly text: string
}

function readAnswer(answer: OpenAIAnswer): { calls: ParsedCall[]; cut: boolean } {
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

const chatCalls = (message: OpenAIChatMessage | undefined): ParsedCall[] =>
  (message?.tool_calls ?? []).flatMap((call) => {
    const { function: called } = call as { function?: { name?: unknown; arguments?: unknown } }
    return !called ? [] : [{ id: toText(call.id), name: toText(called.name), text: toText(called.arguments) }]
  })

const itemCalls = (items: OpenAIResponse['output']): ParsedCall[] =>
  items
    .filter((item) => item.type === 'function_call')
    .map((item) => {
      const { call_id, name, arguments: text } = item as { call_id?: unknown; name?: unknown; arguments?: unknown }
      return { id: toText(call_id), name: toText(name), text: toText(text) }
    })

/** Some OpenAI-compatible servers send objects as arguments, and no ids. */
function toText(given: unknown): string {
  if (typeof given === 'string') return given
  try {
    return given === undefined || given === null ? '' : JSON.stringify(given)
  } catch {
    return '{' // too deeply nested to be serialized: only this call is rejected
  }
}

function unstrict(schema: Tool['input']['json'], text: string): unknown {
  if (!text.includes('null')) return text
  try {
    return withoutNulls(schema, parseJson(text))
  } catch {
    return text // not JSON: the call is rejected with this text
  }
}

interface OpenAIResultsOptions {
  readonly api: OpenAIApi
  readonly attachments?: AttachmentReader | undefined
}
const openaiResultsOptions = {
  api: openaiApi,
  attachments: option.object,
} satisfies OptionTable<OpenAIResultsOptions>

/**
 * One message or item per outcome, in order. An open call has a placeholder until a notice reports its outcome. Images
 * and PDFs are native parts where the API accepts them, else they are sent by name.
 */
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
  how: OpenAIResultsOptions,
): Promise<OpenAIToolMessage[] | OpenAICallOutput[]>
export async function openaiResults(
  outcomes: readonly (CallOutcome | OpenCall)[],
  how: OpenAIResultsOptions,
): Promise<OpenAIToolMessage[] | OpenAICallOutput[]> {
  checkRequiredOptions(how, openaiResultsOptions, 'openaiResults()')
  const { api, attachments } = how
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

/** The options of runOpenAI(). */
export interface RunOpenAIOptions {
  /** Name of the batch. It must be stable across restarts, or calls run twice. Default: the id of the answer. */
  readonly batch?: string
  /** Cancels the calls that are open. With `until: 'waiting'` it has no effect after the return. */
  readonly signal?: AbortSignal
  /**
   * `'waiting'`: returns as soon as every call is settled or waits for a person or something outside. Calls that wait
   * have a placeholder as their result. They continue; the same answer again joins them. Default: `'settled'`.
   */
  readonly until?: AdapterUntil
  /** Set it if the tools were sent as `strict`. Default: false. */
  readonly strict?: boolean
  /** Reads files, so that images and PDFs are sent. Default: files are only named. */
  readonly attachments?: AttachmentReader
}

const runOpenAIOptions = {
  batch: option.string,
  signal: option.abortSignal,
  until: untilOption,
  strict: option.boolean,
  attachments: option.object,
} satisfies OptionTable<RunOpenAIOptions>

/**
 * Runs the calls of an answer as one batch and returns the input for the model. A repeated call joins the batch.
 *
 * @example
 * input.push(...response.output, ...(await runOpenAI(session, response, { until: 'waiting' })))
 */
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
  how: RunOpenAIOptions = {},
): Promise<OpenAIToolMessage[] | OpenAICallOutput[]> {
  checkOptions(how, runOpenAIOptions, 'runOpenAI()', 'call_invalid')
  const api = Array.isArray(answer) || 'output' in answer ? 'responses' : 'chat'
  const calls = callsFromOpenAI(answer, how.strict ? { strict: toolsOf(session) } : {})
  if (calls.length === 0) return []
  const batch = how.batch ?? ('id' in answer ? answer.id : '')
  if (batch === '') throw new PawlError('call_invalid', 'The answer has no id to use as its batch. Pass { batch }.')
  const outcomes = await runCalls(session, calls, { batch, signal: how.signal, until: how.until })
  return openaiResults(outcomes, { api, attachments: how.attachments ?? session.attachments })
}
