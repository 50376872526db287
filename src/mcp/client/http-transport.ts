// A streamable HTTP server as a transport of the MCP SDK, with limits on what it may send. Redirects to other origins
// are refused by the SDK: they would carry the headers along.

import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { MessageMeter } from './message-meter.ts'
import type { HttpTarget } from './server-config.ts'

/** Bytes read of an error page. */
const maxErrorBytes = 16_384

/** The code of the error that stands for a response whose stream ended without it. */
export const streamEndedCode = -32_099

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1]

export class HttpTransport extends StreamableHTTPClientTransport {
  constructor({ url, headers }: HttpTarget) {
    super(url, { requestInit: { headers: { ...headers } }, fetch: boundedFetch, redirectPolicy: 'same-origin' })
  }

  /** A request whose stream ends without a response would otherwise wait for its timeout. */
  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !('method' in message) || !('id' in message)) return super.send(message, options)
    const { id } = message
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.()
      const error = { code: streamEndedCode, message: 'The connection ended before the answer' }
      this.onmessage?.({ jsonrpc: '2.0', id, error })
    }
    return super.send(message, { ...options, onRequestStreamEnd })
  }
}

/** Like fetch(), but a body that exceeds the limits of a message fails. */
async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  const { body, status, statusText, headers } = response
  if (body === null) return response
  const isStream = headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false
  const limited = response.ok ? withMeter(body, new MessageMeter(isStream ? 'event' : 'body')) : firstBytes(body)
  return new Response(limited, { status, statusText, headers })
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>

const withMeter = (body: Bytes, meter: MessageMeter): Bytes =>
  body.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        meter.push(chunk)
        controller.enqueue(chunk)
      },
    }),
  )

function firstBytes(body: Bytes): Bytes {
  let left = maxErrorBytes
  return body.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        controller.enqueue(chunk.subarray(0, left))
        left -= chunk.length
        if (left <= 0) controller.terminate()
      },
    }),
  )
}
