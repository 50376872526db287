// A chat with `useChat` of the AI SDK: the three responses that a web server gives. The record is the history: of a
// request only the newest user message, or decisions about approvals, are read.

import { systemClock } from '../../core/clock.ts'
import { errorTable } from '../../core/errors.ts'
import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import {
  type DecideAnswer,
  PawlError,
  type Runtime,
  type Session,
  type StartTurn,
  type Turn,
  type UiChunk,
  type UiStreamOptions,
  type UserFile,
  type UserMessageInput,
} from '../../index.ts'
import { turnOfAnswer } from '../../models/ui-message.ts'

/** Options of chatResponse(). */
export interface ChatOptions {
  /** The runtime of the session, for decisions about approvals. */
  readonly runtime: Pick<Runtime, 'decide'>
  /** The conversation. Open it for the signed-in user: `runtime.session(id, { principal })`. */
  readonly session: Session
  /** The body of the POST request of `useChat`, parsed. It is not trusted. */
  readonly request: unknown
  /** The signed-in person, as your authentication knows them. Approvals are decided in this name. */
  readonly by: string
  /** Model, frame, tools and limits of the turn. */
  readonly turn: Omit<StartTurn, 'message' | 'id'>
}

export const chatOptions = {
  runtime: option.required(option.object),
  session: option.required(option.object),
  request: option.anything,
  by: option.required(option.string),
  turn: option.required(option.object),
} satisfies OptionTable<ChatOptions>

/**
 * The response to the POST request of `useChat`: starts a turn with the newest user message, or decides the approvals
 * that the user has answered, and streams the turn. The id of the message makes a repeated request join its turn. The
 * turn is durable before the response begins.
 *
 * @example
 * app.post('/api/chat', async (c) => {
 *   const request = await c.req.json()
 *   const session = runtime.session(request.id, { principal: user })
 *   return chatResponse({ runtime, session, request, by: user, turn: { model: 'main' } })
 * })
 */
export async function chatResponse(options: ChatOptions): Promise<Response> {
  checkRequiredOptions(options, chatOptions, 'chatResponse()', 'config_invalid')
  const chat = parseRequest(options.request)
  if ('problem' in chat) return refusal(400, chat.problem)
  try {
    if ('turn' in chat) return await continueTurn(options, chat)
    const { id, message, decisions } = chat
    const refused = await decideAll(options, decisions)
    const turn = options.session.turn({ ...options.turn, id, message })
    await turn.accepted
    return streamResponse(turn.uiMessageStream(), refused)
  } catch (error) {
    if (error instanceof PawlError) return refusal(errorTable[error.code].http, error.message)
    throw error
  }
}

/** Options of resumeChatResponse(). */
export interface ResumeChatOptions {
  /** The id of the last message that the client shows: a later turn is then streamed although it has ended. */
  readonly after?: string
}

export const resumeChatOptions = { after: option.string } satisfies OptionTable<ResumeChatOptions>

/**
 * The response to the GET request of `useChat` with `resume: true`, or of `resumeStream()`: streams the open turn from
 * its beginning, or 204 if there is none.
 *
 * @example
 * app.get('/api/chat/:id/stream', (c) => resumeChatResponse(runtime.session(c.req.param('id'), { principal: user })))
 */
export async function resumeChatResponse(session: Session, options: ResumeChatOptions = {}): Promise<Response> {
  checkOptions(options, resumeChatOptions, 'resumeChatResponse()')
  const { after } = options
  const next = after === undefined ? null : await session.turns.after(turnOfAnswer(after) ?? after)
  const turn = next ?? (await session.turns.open())
  return turn ? toUIMessageStreamResponse(turn) : new Response(null, { status: 204 })
}

/**
 * A response that streams a turn in the UI message stream protocol of the AI SDK. If the client disconnects, the turn
 * goes on.
 *
 * @example
 * return toUIMessageStreamResponse(session.turn({ model: 'main', message: 'Hello' }))
 */
export const toUIMessageStreamResponse = (turn: Pick<Turn, 'uiMessageStream'>, options?: UiStreamOptions): Response =>
  streamResponse(turn.uiMessageStream(options))

const streamResponse = (chunks: ReadableStream<UiChunk>, first: readonly UiChunk[] = []): Response =>
  new Response(toEventStream(chunks, first), { headers })

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  connection: 'keep-alive',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
}

/** Proxies close connections on which nothing is sent for a minute. */
const heartbeatMs = 15_000

/** Server-sent events. An error of the stream is sent without its details, which may contain secrets. */
function toEventStream(chunks: ReadableStream<UiChunk>, first: readonly UiChunk[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const encode = (chunk: UiChunk): Uint8Array => encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`)
  const reader = chunks.getReader()
  let cancelHeartbeat = (): void => {}
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        for (const chunk of first) controller.enqueue(encode(chunk))
        const beat = (): void => {
          controller.enqueue(encoder.encode(': waiting\n\n'))
          cancelHeartbeat = systemClock.timer(heartbeatMs, beat)
        }
        cancelHeartbeat = systemClock.timer(heartbeatMs, beat)
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(encode(value))
        } catch (error) {
          const errorText = error instanceof PawlError ? error.message : 'The stream failed.'
          controller.enqueue(encode({ type: 'error', errorText }))
        }
        cancelHeartbeat()
        controller.enqueue(encoder.encode('data: [DONE]\n\n'))
        controller.close()
      },
      async cancel() {
        cancelHeartbeat()
        await reader.cancel()
      },
    },
    { highWaterMark: 0 },
  )
}

const refusal = (status: number, text: string): Response => new Response(text, { status })

/** A parsed request: a new turn, or a request for the rest of an answer. */
type ChatRequest = { readonly decisions: readonly ChatDecision[] } & (
  | { readonly id: string; readonly message: UserMessageInput }
  | { readonly turn: string; readonly stepsShown: number }
)

interface ChatDecision {
  readonly id: string
  readonly approved: boolean
  readonly reason?: string
}

async function continueTurn(
  options: ChatOptions,
  { turn: id, stepsShown, decisions }: Extract<ChatRequest, { turn: string }>,
): Promise<Response> {
  const turn = await options.session.turns.get(id)
  if (!turn) return refusal(404, 'This conversation has no such answer. Reload the messages.')
  const refused = await decideAll(options, decisions)
  return streamResponse(turn.uiMessageStream({ stepsShown }), refused)
}

/** Returns a chunk for each decision that was not taken. An earlier decision stands; the stream shows it. */
async function decideAll(
  { runtime, session, by }: ChatOptions,
  decisions: readonly ChatDecision[],
): Promise<readonly UiChunk[]> {
  const refused: UiChunk[] = []
  for (const { id: approvalId, approved, reason } of decisions) {
    const about = { by, door: 'chat', tenant: session.tenant, session: session.id, ...(reason ? { reason } : {}) }
    const decision = approved ? ({ approve: true, ...about } as const) : ({ deny: true, ...about } as const)
    const { answer }: DecideAnswer = await runtime.decide(approvalId, decision)
    if (answer !== 'accepted' && answer !== 'already_decided')
      refused.push({ type: 'data-decision', id: approvalId, data: { approvalId, answer }, transient: true })
  }
  return refused
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const maxIdLength = 256
const maxDecisions = 1_000

function parseRequest(request: unknown): ChatRequest | { readonly problem: string } {
  const messages = isObject(request) && Array.isArray(request.messages) ? (request.messages as unknown[]) : []
  // A decision about an earlier answer names its message.
  const named =
    isObject(request) && typeof request.messageId === 'string'
      ? messages.find((each) => isObject(each) && each.id === request.messageId && each.role === 'assistant')
      : undefined
  const last = named ?? messages.at(-1)
  if (!isObject(last) || typeof last.id !== 'string' || last.id === '' || last.id.length > maxIdLength)
    return { problem: 'The request has no `messages` with a last message that has an `id`.' }
  const parts = Array.isArray(last.parts) ? (last.parts as unknown[]).filter(isObject) : []
  if (last.role === 'user') {
    if (isObject(request) && request.trigger === 'regenerate-message')
      return { problem: 'The recorded answer is not replaced. Send a new message instead.' }
    const user = userMessage(last.id, parts)
    return 'problem' in user ? user : { ...user, decisions: decisionsIn(messages) }
  }
  const turn = turnOfAnswer(last.id)
  if (last.role !== 'assistant' || turn === null) return { problem: 'The last message is not an answer of this chat.' }
  return {
    turn,
    stepsShown: parts.filter(({ type }) => type === 'step-start').length,
    decisions: decisionsIn(messages),
  }
}

/** Decisions in any message: the user may have gone on writing before deciding. */
function decisionsIn(messages: readonly unknown[]): ChatDecision[] {
  const answers = messages.filter((each) => isObject(each) && each.role === 'assistant' && Array.isArray(each.parts))
  return answers
    .flatMap((each) => (each as { parts: unknown[] }).parts.filter(isObject))
    .flatMap(({ state, approval }) => {
      if (state !== 'approval-responded' || !isObject(approval)) return []
      const { id, approved, reason } = approval
      if (typeof id !== 'string' || typeof approved !== 'boolean') return []
      return [{ id, approved, ...(typeof reason === 'string' && reason !== '' ? { reason } : {}) }]
    })
    .slice(0, maxDecisions)
}

/** Text and files. A file must be in the request, as a data URL: other addresses are not fetched. */
function userMessage(
  id: string,
  parts: readonly Readonly<Record<string, unknown>>[],
): { id: string; message: UserMessageInput } | { problem: string } {
  const text = parts
    .flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? part.text : []))
    .join('\n')
  const files = parts.filter(({ type }) => type === 'file')
  const attachments = files.flatMap(({ url, mediaType, filename }): UserFile[] => {
    const match = typeof url === 'string' ? /^data:[^,]*;base64,([A-Za-z0-9+/=]*)$/.exec(url) : null
    if (!match || typeof mediaType !== 'string') return []
    const name = typeof filename === 'string' ? { name: filename } : {}
    return [{ data: Buffer.from(match[1] as string, 'base64'), mediaType, ...name }]
  })
  if (attachments.length < files.length) return { problem: 'A file must be a data URL with base64 content.' }
  if (text === '' && attachments.length === 0) return { problem: 'The message has no text and no file.' }
  return { id, message: attachments.length === 0 ? text : { text, attachments } }
}
