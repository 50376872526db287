// Sends a tools/call and turns its end into an outcome. A request that was sent and not answered may have taken effect:
// it is repeated only if its tool is trusted to be harmless, and otherwise the outcome is `unknown`.

import { type Client, ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { effectUnknown, fail, retry, type ToolContext, type ToolResult } from '../../index.ts'
import { systemClock } from '../../core/clock.ts'
import type { Json } from '../../core/tool-value.ts'
import type { CallGate } from './call-gate.ts'
import { type ServerConnection, ServerUnavailable } from './connection.ts'
import { callDeclining } from './decline-questions.ts'
import { streamEndedCode } from './http-transport.ts'
import { plainText, quotedText } from './plain-text.ts'
import { readResult } from './read-result.ts'
import { NotSent } from './stdio-transport.ts'

export interface RemoteTool {
  /** Its name at the server. */
  readonly name: string
  /** Trusted to be read-only or idempotent: it may be called again. */
  readonly harmless: boolean
  readonly outputSchema: boolean
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** The server wants some arguments as HTTP headers too (`x-mcp-header`). */
  readonly usesHeaders: boolean
}

interface Sent {
  readonly connection: ServerConnection
  readonly tool: RemoteTool
  readonly client: Client
  readonly startedAt: number
}

export async function callTool(
  connection: ServerConnection,
  gate: CallGate,
  tool: RemoteTool,
  args: Json,
  ctx: ToolContext,
): Promise<ToolResult<Json>> {
  const leave = await gate.enter(ctx.signal)
  try {
    const client = await connected(connection, ctx.signal)
    const sent = { connection, tool, client, startedAt: systemClock.now() }
    const answer = await request(sent, args, ctx).catch((error: unknown) => failed(sent, error, ctx))
    const structured = tool.outputSchema
    const read = readResult(answer, ctx, { structured, server: connection.settings.name })
    if (read instanceof Error) throw read
    return read
  } finally {
    leave()
  }
}

/** A call that is stopped does not wait for a server that is starting. */
async function connected(connection: ServerConnection, signal: AbortSignal): Promise<Client> {
  try {
    return await untilAborted(connection.connect(), signal)
  } catch (error) {
    if (!(error instanceof ServerUnavailable)) throw error
    const message = `${error.message} The tool was not run. It may be tried again later.`
    throw retry({ code: 'tool_unavailable', message })
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

async function request(
  { connection, tool, client }: Sent,
  args: Json,
  ctx: ToolContext,
): Promise<Readonly<Record<string, unknown>>> {
  const { idleMs, totalMs } = connection.settings
  const meta = traceMeta(ctx)
  const params = { name: tool.name, arguments: args as Record<string, unknown>, ...(meta ? { _meta: meta } : {}) }
  const options = {
    signal: ctx.signal,
    timeout: Math.min(idleMs, totalMs),
    resetTimeoutOnProgress: true,
    maxTotalTimeout: totalMs,
    onprogress: (progress: unknown) => forward(progress, ctx),
  }
  // Only the SDK's own method sends the arguments that a schema wants as headers. It would also check the result with
  // an unbounded validator, so it gets no output schema.
  if (tool.usesHeaders) {
    const toolDefinition = { name: tool.name, inputSchema: tool.inputSchema as { type: 'object' } }
    return client.callTool(params, { ...options, toolDefinition })
  }
  return callDeclining(client, params, options, `The MCP server '${connection.settings.name}'`)
}

/** The trace context of the call, for the server. */
const traceMeta = (ctx: ToolContext): Record<string, string> | null => {
  const { traceparent } = ctx as { traceparent?: unknown }
  return typeof traceparent === 'string' ? { traceparent } : null
}

function forward(progress: unknown, ctx: ToolContext): void {
  const { progress: current, total, message } = progress as { progress?: unknown; total?: unknown; message?: unknown }
  const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0
  ctx.progress({
    ...(isCount(current) ? { current } : {}),
    ...(isCount(total) ? { total } : {}),
    ...(typeof message === 'string' ? { label: plainText(message, 200) } : {}),
  })
}

/** Throws the outcome of a request that failed. */
function failed(sent: Sent, error: unknown, ctx: ToolContext): never {
  const { connection, client } = sent
  const server = `The MCP server '${connection.settings.name}'`
  // The runtime decides the outcome of a call that was stopped. The server was asked to cancel.
  if (ctx.signal.aborted) throw fail(`${server} was asked to cancel the call.`, { code: 'cancelled' })
  if (isUnsent(error))
    throw retry({ code: 'tool_unavailable', message: `${server} cannot be reached. The tool was not run.` })
  if (error instanceof ProtocolError) throw fromProtocol(sent, error, server)
  if (error instanceof SdkHttpError) throw fromStatus(sent, error, server)
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout)
      throw notAnswered(sent, `${server} did not answer in time`, 'timeout')
    if (error.code === SdkErrorCode.UnsupportedResultType)
      throw fail(`${server} asks for input from a person, which Pawl does not pass on. The call did not finish.`, {
        class: 'external',
        code: 'input_required',
      })
  }
  const why = connection.describe(error)
  connection.drop(client, `${why}.`)
  throw notAnswered(sent, `The connection to the MCP server '${connection.settings.name}' broke (${quotedText(why)})`)
}

/** Errors that arise before a request leaves this machine. */
function isUnsent(error: unknown): boolean {
  if (error instanceof NotSent) return true
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  const { cause } = error as { cause?: { code?: unknown } }
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(String(cause?.code))
}

function fromProtocol(sent: Sent, error: ProtocolError, server: string): Error {
  const { code } = error
  if (code === streamEndedCode) return notAnswered(sent, `${server} ended the connection before it answered`)
  const text = `${server} refused the call with error ${code}: ${JSON.stringify(sent.connection.describe(error))}.`
  return fail(text, { class: code === -32_602 ? 'invalid_request' : 'external', code: 'mcp_error' })
}

function fromStatus(sent: Sent, error: SdkHttpError, server: string): Error {
  const status = error.status ?? 0
  const text = `${server} answered with HTTP status ${status}`
  // A server that restarted does not know the session any more, and has not run the call.
  if (status === 404) {
    sent.connection.drop(sent.client, `${text}.`)
    return retry({ code: 'tool_unavailable', message: `${text}. The tool was not run.` })
  }
  if (status === 429) return retry({ code: 'rate_limited', message: `${text}. The tool was not run.` })
  if (status >= 500) return notAnswered(sent, text)
  const kind = status === 401 || status === 403 ? 'permission_denied' : 'external'
  return fail(`${text}. The tool was not run.`, { class: kind, code: 'mcp_error' })
}

function notAnswered({ tool, startedAt, connection }: Sent, what: string, kind?: 'timeout'): Error {
  if (tool.harmless)
    return kind === 'timeout'
      ? fail(`${what}. It only reads, or may be called again.`, { class: 'timeout', code: 'mcp_timeout' })
      : retry({ code: 'connection_lost', message: `${what}. The tool may be called again.` })
  const message = `${what}. The call was sent, and it is not known whether it took effect. Check before asking for it again.`
  return effectUnknown(message, { startedAt, evidence: { server: connection.settings.name, tool: tool.name } })
}
