// Limits what one connection can cost besides the size of its body. Each interim response, chunk and read costs the
// event loop some microseconds, however few bytes it has, so a server could keep the process busy with very little.

import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { fail, type ToolFailure } from '../../core/outcome.ts'

/** Interim (1xx) responses before the answer. Servers send one or two. */
export const maxInterimResponses = 10
/** Pieces (chunks, or reads of the socket) of any size; more pieces are allowed if they are not tiny on average. */
export const maxTinyPieces = 10_000
const usualPieceBytes = 64
/**
 * Bytes on the wire that are not body: headers, interim responses, chunk sizes and extensions, trailers. A body may
 * add as much framing as it has bytes.
 */
export const maxOverheadBytes = 512 * 1024

const flood = (what: string): ToolFailure =>
  fail(`The server sent ${what}, which is more than web_fetch reads; nothing of the response was kept`, {
    code: 'response_flood',
    class: 'resource_limit',
  })

/** Counts pieces and their bytes. */
class Pieces {
  bytes = 0
  #count = 0

  /** True once there are too many tiny pieces. */
  add(bytes: number): boolean {
    this.#count += 1
    this.bytes += bytes
    return this.#count > maxTinyPieces + this.bytes / usualPieceBytes
  }
}

/** Calls `refuse`, which must end the exchange, when the server exceeds a limit. */
export function limitFlood(request: ClientRequest, refuse: (failure: ToolFailure) => void): void {
  const reads = new Pieces()
  const body = new Pieces()
  let interim = 0
  request.on('information', () => {
    interim += 1
    // The rest of the bytes already read is still parsed, so this is called again after the refusal.
    if (interim === maxInterimResponses + 1) refuse(flood(`more than ${maxInterimResponses} interim responses`))
  })
  request.once('socket', (socket: Socket) => {
    // Called after the parser, so the body bytes of this read are already counted.
    socket.on('data', ({ length }: Buffer) => {
      if (reads.add(length)) refuse(flood(`more than ${maxTinyPieces} tiny packets`))
      else if (reads.bytes > maxOverheadBytes + 2 * body.bytes)
        refuse(flood(`more than ${maxOverheadBytes} bytes outside the body`))
    })
  })
  request.once('response', (response: IncomingMessage) => {
    let refused = false
    // The parser calls push() once per chunk; a reader of the stream gets buffered chunks as one.
    const push = response.push.bind(response)
    response.push = (piece: Buffer | null, encoding) => {
      if (refused) return false
      if (piece === null || !body.add(piece.length)) return push(piece, encoding)
      refused = true
      refuse(flood(`more than ${maxTinyPieces} tiny chunks`))
      return false
    }
  })
}
