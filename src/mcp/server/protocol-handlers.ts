// The handlers of one connection: what the SDK calls for each method. The SDK negotiates revisions and checks messages.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import type { Json } from '../../index.ts'
import type { ContentSource } from '../content-source.ts'
import { callTool } from './call-tool.ts'
import { sessionOf } from './caller-sessions.ts'
import { addContentHandlers } from './content-handlers.ts'
import type { Exchange, OpenRequest } from './exchange.ts'
import { readState } from './request-state.ts'
import type { ServerParts } from './server-parts.ts'
import { cancelTask, getTask, tasksExtension, updateTask } from './tasks.ts'
import { listTools } from './tool-list.ts'
import type { ClientFacts } from './tool-request.ts'

export interface ServerIdentity {
  readonly name: string
  readonly version: string
  readonly instructions?: string
}

/** JSON-RPC error: something failed here that is not the client's mistake. */
const internalError = -32_603

export function makeServer(
  parts: ServerParts,
  exchange: Exchange,
  { instructions, ...identity }: ServerIdentity,
  content: ContentSource | undefined,
): Server {
  const server = new Server(identity, {
    capabilities: {
      tools: { listChanged: true },
      ...(content ? { resources: { listChanged: true }, prompts: { listChanged: true } } : {}),
      ...(content?.complete ? { completions: {} } : {}),
      extensions: { [tasksExtension]: {} },
    },
    ...(instructions === undefined ? {} : { instructions }),
    requestState: {
      verify: async (state) =>
        readState(await parts.secrets.of(exchange.caller.tenant), exchange.caller, state, parts.clock.now()),
    },
  })
  const clientOf = (ctx: ServerContext): ClientFacts => {
    const envelope: Readonly<Record<string, unknown>> | undefined = ctx.mcpReq.envelope
    const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
    return factsOf(envelope ? declared : server.getClientCapabilities())
  }
  /** Errors of the runtime may name paths and values; the client gets a text without them. */
  const answer = async <T>(ctx: ServerContext, work: (open: OpenRequest) => Promise<T>): Promise<T> => {
    const open = exchange.open(ctx.mcpReq.id)
    try {
      // The cancellation came right behind the request: nothing may start.
      open.cancelled.throwIfAborted()
      return await work(open)
    } catch (error) {
      if (error instanceof ProtocolError || open.cancelled.aborted) throw error
      parts.logger.error('A request of an MCP client failed', { method: ctx.mcpReq.method, error })
      throw new ProtocolError(internalError, 'The server could not do it. A call that was started continues.')
    } finally {
      open.close()
    }
  }
  server.setRequestHandler('tools/list', ({ params }, ctx) =>
    answer(ctx, ({ caller }) => listTools(sessionOf(parts.runtime, caller), params?.cursor)),
  )
  server.setRequestHandler('tools/call', ({ params }, ctx) =>
    answer(ctx, async (open) => {
      const { name, arguments: input = {} } = params
      const request = { open, client: clientOf(ctx), name, input: input as Json, mcp: ctx.mcpReq }
      // The SDK has no type for a task as the result, but sends it.
      return (await callTool(parts, request)) as never
    }),
  )
  server.setRequestHandler('tasks/get', { params: taskParams }, ({ taskId }, ctx) =>
    answer(ctx, (open) => getTask(parts, { open, client: withTasks(clientOf(ctx)) }, taskId)),
  )
  server.setRequestHandler('tasks/update', { params: taskParams }, ({ taskId, inputResponses }, ctx) =>
    answer(ctx, (open) =>
      updateTask(
        parts,
        { open, client: withTasks(clientOf(ctx)) },
        taskId,
        inputResponses ?? ctx.mcpReq.inputResponses ?? {},
      ),
    ),
  )
  server.setRequestHandler('tasks/cancel', { params: taskParams }, ({ taskId }, ctx) =>
    answer(ctx, (open) => cancelTask(parts, { open, client: withTasks(clientOf(ctx)) }, taskId)),
  )
  if (content) addContentHandlers(server, content, answer)
  return server
}

/** Revisions before form modes declare elicitation as an empty object. */
function factsOf(declared: ClientCapabilities | undefined): ClientFacts {
  const { elicitation, extensions } = declared ?? {}
  const forms = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  return { forms, tasks: extensions?.[tasksExtension] !== undefined }
}

/** Only a client that declares tasks can have been given one. */
function withTasks(client: ClientFacts): ClientFacts {
  if (client.tasks) return client
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } })
}

interface TaskParams {
  readonly taskId: string
  readonly inputResponses?: Readonly<Record<string, unknown>>
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The SDK answers -32602 with these messages. */
const taskParams: StandardSchemaV1<unknown, TaskParams> = {
  '~standard': {
    version: 1,
    vendor: 'pawl',
    validate(value) {
      if (!isObject(value) || typeof value.taskId !== 'string')
        return { issues: [{ message: '`taskId` must be a string.' }] }
      const { taskId, inputResponses } = value
      if (inputResponses !== undefined && !isObject(inputResponses))
        return { issues: [{ message: '`inputResponses` must be an object.' }] }
      return { value: { taskId, ...(inputResponses === undefined ? {} : { inputResponses }) } }
    },
  },
}
