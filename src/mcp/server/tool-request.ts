// A request of tools/call, as the handlers see it.

import type { ServerContext } from '@modelcontextprotocol/server'
import type { Json } from '../../index.ts'
import type { OpenRequest } from './exchange.ts'

/** The capabilities that the client declared with the request. */
export interface ClientFacts {
  /** The tasks extension. */
  readonly tasks: boolean
  /** It can show forms to its user. */
  readonly forms: boolean
}

/** A request of tools/call. */
export interface ToolRequest {
  readonly open: OpenRequest
  readonly client: ClientFacts
  readonly name: string
  readonly input: Json
  readonly mcp: ServerContext['mcpReq']
}
