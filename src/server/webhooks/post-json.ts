// Posts JSON to a URL on a connection of its own, to an address that was checked as web_fetch checks it. Redirects are
// not followed, the response body is not read, and proxies from the environment are not used. Called by webhook.ts.

import { type IncomingMessage, request, validateHeaderName, validateHeaderValue } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from '../../core/clock.ts'
import { connectTo } from '../../toolbox/web/connect.ts'
import { compileRules } from '../../toolbox/web/fetch-rules.ts'
import { limitFlood } from '../../toolbox/web/flood-limits.ts'

interface Post {
  readonly url: URL
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly allowPrivateAddresses: boolean
}

/** Headers that belong to the request itself. */
const ownHeaders = ['connection', 'content-length', 'content-type', 'expect', 'host', 'transfer-encoding', 'upgrade']
const maxHeaderBytes = 32 * 1024

const publicOnly = compileRules({})
const anyAddress = compileRules({ allowAddress: () => true })

/** The problem with the headers; undefined if there is none. Values are not shown, because they may be secret. */
export function invalidHeader(headers: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    try {
      validateHeaderName(name)
    } catch {
      return `'${name.slice(0, 80)}' is not the name of a header`
    }
    if (ownHeaders.includes(lower) || lower.startsWith('pawl-')) return `'${name}' is set by the webhook itself`
    try {
      if (typeof value !== 'string') return `the value of '${name}' must be a string`
      validateHeaderValue(name, value)
    } catch {
      return `the value of '${name}' contains characters that a header cannot have`
    }
  }
  return undefined
}

/** Resolves if the receiver answers with a 2xx status in time; otherwise rejects. */
export async function postJson(post: Post): Promise<void> {
  const { url, timeoutMs, allowPrivateAddresses } = post
  const stop = new AbortController()
  const cancelTimer = systemClock.timer(timeoutMs, () =>
    stop.abort(new Error(`The webhook at ${url.origin} did not answer within ${timeoutMs} ms.`)),
  )
  let socket: Socket | undefined
  try {
    socket = await connectTo(url, allowPrivateAddresses ? anyAddress : publicOnly, stop.signal)
    const { statusCode = 0 } = await send(post, socket, stop.signal)
    if (statusCode < 200 || statusCode > 299)
      throw new Error(`The webhook at ${url.origin} answered with status ${statusCode}.`)
  } finally {
    cancelTimer()
    socket?.destroy()
  }
}

/** Resolves with the head of the response. The caller closes the connection, so the body is never read. */
function send({ url, body, headers }: Post, socket: Socket, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sending = request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: {
        ...headers,
        host: url.host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        connection: 'close',
      },
      // With a ready socket nothing is resolved or connected here; without an agent there is no proxy.
      createConnection: () => socket,
      setHost: false,
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    })
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', stop)
      reject(error)
      sending.destroy()
    }
    const stop = (): void => fail(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) return stop()
    limitFlood(sending, (cause) => fail(new Error(`The webhook at ${url.origin} sent too much.`, { cause })))
    sending.once('response', (response) => {
      signal.removeEventListener('abort', stop)
      response.on('error', () => {}) // the connection is closed before its body ends
      resolve(response)
    })
    sending.on('error', (cause) =>
      fail(new Error(`The webhook at ${url.origin} did not answer as HTTP does.`, { cause })),
    )
    // A protocol upgrade was not requested.
    sending.once('upgrade', () => fail(new Error(`The webhook at ${url.origin} switched protocols.`)))
    sending.end(body)
  })
}
