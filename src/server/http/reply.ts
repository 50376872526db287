// A response as plain values, and how it is sent. Node writes them as they are; hosts that want a Response get one. A
// Response costs Node several times as much, and most replies are a short JSON text.

import type { ServerResponse } from 'node:http'

export interface Reply {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | ReadableStream<Uint8Array> | null
}

export const replyOf = ({ status, headers, body }: Response): Reply => ({
  status,
  headers: Object.fromEntries(headers),
  body,
})

export const toResponse = ({ status, headers, body }: Reply): Response => new Response(body, { status, headers })

/** Sends a reply whose body is not a stream. Returns false for a stream. */
export function sendReply(
  { status, headers, body }: Reply,
  outgoing: Pick<ServerResponse, 'writeHead' | 'end'>,
): boolean {
  if (typeof body !== 'string') return false
  outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
  return true
}
