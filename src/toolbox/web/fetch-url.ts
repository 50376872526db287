// Fetches a URL for web_fetch: checks it, connects, sends the request and follows a limited number of redirects, each
// with the same checks. Nothing carries over between hops: no cookie, credentials or referrer. Proxies from the
// environment are not used, because the proxy would make the connection without these checks.

import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { fail, ToolFailure } from '../../core/outcome.ts'
import { type Body, readBody } from './read-body.ts'
import { connectTo } from './connect.ts'
import { limitFlood } from './flood-limits.ts'
import { hostOf } from './host-lists.ts'
import { parseUrl, type WebRules } from './fetch-rules.ts'

export interface Response {
  readonly url: URL
  readonly redirected: number
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Reads the body. May be called once. */
  read(): Promise<Body>
}

interface FetchOptions {
  readonly method: 'GET' | 'HEAD'
  readonly signal: AbortSignal
}

const redirects = new Set([301, 302, 303, 307, 308])
const maxHeaderBytes = 32 * 1024

const timeoutError = (message: string): ToolFailure => fail(message, { code: 'fetch_timeout', class: 'timeout' })
const seconds = (ms: number): string => (ms === 1000 ? '1 second' : `${ms / 1000} seconds`)

/** Calls `work` with the response while its connection is open. */
export async function withResponse<T>(
  start: URL,
  rules: WebRules,
  { method, signal }: FetchOptions,
  work: (response: Response) => Promise<T>,
): Promise<T> {
  const { clock, totalMs, firstByteMs } = rules
  const stop = new AbortController()
  const cancel = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  let isLate = false
  const cancelTotal = clock.timer(totalMs, () => {
    isLate = !stop.signal.aborted
    stop.abort(timeoutError(`Request timed out: it was not complete within ${seconds(totalMs)}`))
  })
  const sockets: Socket[] = []
  try {
    let url = start
    for (let redirected = 0; ; redirected++) {
      const here = url
      const reach = async (): Promise<Socket> => {
        rules.check(here)
        return connectTo(here, rules, stop.signal)
      }
      const cancelFirstByte = clock.timer(firstByteMs, () =>
        stop.abort(timeoutError(`Request timed out: server did not respond within ${seconds(firstByteMs)}`)),
      )
      let response: IncomingMessage
      try {
        const socket = await (redirected === 0 ? reach() : asRedirectError(reach))
        sockets.push(socket)
        response = await sendRequest(here, { method, socket, userAgent: rules.userAgent, signal: stop.signal })
      } finally {
        cancelFirstByte()
      }
      const { statusCode: status = 0, headers } = response
      if (!redirects.has(status) || headers.location === undefined) {
        return await work({
          url: here,
          redirected,
          status,
          headers,
          read: () => readBody(response, { most: rules.bytes, signal: stop.signal, isLate: () => isLate }),
        })
      }
      response.destroy()
      url = redirectTarget(headers.location, here, redirected, rules, start)
    }
  } finally {
    cancelTotal()
    signal.removeEventListener('abort', cancel)
    for (const socket of sockets) socket.destroy()
  }
}

function redirectTarget(location: string, from: URL, redirected: number, rules: WebRules, start: URL): URL {
  const badRedirect = (message: string, kind: 'external' | 'permission_denied' = 'external'): never => {
    throw fail(message, { code: 'redirect_refused', class: kind })
  }
  if (redirected >= rules.redirects) badRedirect(`Too many redirects: more than ${rules.redirects}`)
  // Header bytes are UTF-8 for browsers; Node decodes them as latin1.
  const next = URL.parse(Buffer.from(location, 'latin1').toString('utf8'), from.href)
  if (!next) return badRedirect('The server redirects to something that is no URL')
  // The fetch needed no approval because the start host is trusted; another host does not inherit that.
  if (rules.isTrusted(hostOf(start)) && !rules.isTrusted(hostOf(next)))
    badRedirect(
      `Not followed: the server redirects to another host, ${parseUrl(next.href).href.slice(0, 2_000)}. Fetch that URL if it is what you want`,
      'permission_denied',
    )
  next.hash = ''
  return next
}

/** Rewords errors about a redirect target: the requested URL itself was fine. */
async function asRedirectError<T>(reach: () => Promise<T>): Promise<T> {
  try {
    return await reach()
  } catch (error) {
    const { code, message } = error instanceof ToolFailure ? error.failure : {}
    const explanation = `Not followed: the server redirects to another address. ${message}`
    if (code === 'url_blocked') throw fail(explanation, { code, class: 'permission_denied' })
    throw code === 'url_invalid' ? fail(explanation, { code: 'redirect_refused', class: 'external' }) : error
  }
}

interface RequestOptions {
  readonly method: 'GET' | 'HEAD'
  readonly socket: Socket
  readonly userAgent: string
  readonly signal: AbortSignal
}

/** Sends one request on its own connection. The same for http and https: the socket already does TLS. */
function sendRequest(url: URL, { method, socket, userAgent, signal }: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const clientRequest = request({
      method,
      path: `${url.pathname}${url.search}`,
      headers: {
        host: url.host,
        'user-agent': userAgent,
        accept:
          'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5',
        'accept-encoding': 'gzip, deflate, br, zstd',
        connection: 'close',
      },
      // With a ready socket nothing is resolved or connected here; without an agent there is no proxy.
      createConnection: () => socket,
      setHost: false,
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    })
    const stop = (): void => {
      reject(signal.reason as Error)
      clientRequest.destroy()
    }
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const cleanUp = (): void => signal.removeEventListener('abort', stop)
    let answer: IncomingMessage | undefined
    limitFlood(clientRequest, (failure) => {
      cleanUp()
      reject(failure)
      answer?.destroy(failure)
      clientRequest.destroy()
    })
    clientRequest.once('response', (response) => {
      cleanUp()
      answer = response.on('error', () => {}) // the reader of the body gets the error
      resolve(response)
    })
    clientRequest.on('error', (cause) => {
      cleanUp()
      reject(fail('The server did not answer as HTTP does', { code: 'response_broken', class: 'external', cause }))
    })
    // A protocol upgrade was not requested: reject it.
    clientRequest.once('upgrade', (_response, upgraded) => {
      upgraded.destroy()
      clientRequest.emit('error', new Error('it switched protocols'))
    })
    clientRequest.end()
  })
}
