// Reads the JSON-RPC message of an HTTP request, with limits. The SDK gets it parsed.

import { isJsonContentType } from '@modelcontextprotocol/server'

interface Messages {
  readonly message: unknown
  /** Requests that the client cancels. */
  readonly cancelled: readonly { readonly requestId?: unknown; readonly reason?: unknown }[]
}

/** Null: the request has no message. A response: the message is refused. */
export type JsonBody = Messages | null | Response

const maxBytes = 4 * 1024 * 1024
/** Messages of one batch. Revisions after 2025-03-26 have no batches. */
const maxBatch = 50
/** Deeper JSON makes code that walks it overflow the stack. */
const maxDepth = 200

const parseError = -32_700
const invalidRequest = -32_600

const refuse = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status })

export async function readMessages(request: Request): Promise<JsonBody> {
  if (request.method !== 'POST' || !isJsonContentType(request.headers.get('content-type'))) return null
  const bytes = await readBytes(request)
  if (bytes === null) return refuse(413, invalidRequest, `The message is longer than ${maxBytes} bytes.`)
  let message: unknown
  try {
    message = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return refuse(400, parseError, 'The message is not valid JSON.')
  }
  if (isDeep(message, maxDepth))
    return refuse(400, invalidRequest, `The message is nested deeper than ${maxDepth} levels.`)
  const messages: readonly unknown[] = Array.isArray(message) ? message : [message]
  if (messages.length > maxBatch) return refuse(400, invalidRequest, `A batch may have ${maxBatch} messages.`)
  return { message, cancelled: messages.flatMap(cancellationIn) }
}

async function readBytes(request: Request): Promise<Uint8Array | null> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return null
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.byteLength
    if (size > maxBytes) return null
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Walks without recursion. */
function isDeep(value: unknown, limit: number): boolean {
  let level: readonly unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}

function cancellationIn(message: unknown): Messages['cancelled'] {
  if (typeof message !== 'object' || message === null) return []
  const { method, params } = message as { method?: unknown; params?: unknown }
  if (method !== 'notifications/cancelled' || typeof params !== 'object' || params === null) return []
  return [params]
}
