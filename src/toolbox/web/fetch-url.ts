// WEB: from a URL to a response: checked, connected, asked, and led on by at most so many redirects, each of which begins with the checks again. Nothing of
// one hop is sent along to the next: no cookie, no credentials, no referrer. Proxies of the environment are not used: the checks would be made here and the
// connection there.

import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { fail, ToolFailure } from '../../core/outcome.ts'
import { type Body, readBody } from './read-body.ts'
import { connectTo } from './connect.ts'
import { hostOf } from './host-lists.ts'
import { parseUrl, type WebRules } from './fetch-rules.ts'

export interface Response {
  readonly url: URL
  readonly redirected: number
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Once. */
  read(): Promise<Body>
}

interface Asked {
  readonly method: 'GET' | 'HEAD'
  readonly signal: AbortSignal
}

const redirects = new Set([301, 302, 303, 307, 308])
const mostHeaderBytes = 32 * 1024

const late = (message: string): ToolFailure => fail(message, { code: 'fetch_timeout', class: 'timeout' })
const seconds = (ms: number): string => (ms === 1000 ? '1 second' : `${ms / 1000} seconds`)

/** Works with the response while its connection is open. */
export async function withResponse<T>(
  start: URL,
  rules: WebRules,
  { method, signal }: Asked,
  work: (response: Response) => Promise<T>,
): Promise<T> {
  const { clock, totalMs, firstByteMs } = rules
  const stop = new AbortController()
  const cancel = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  let isLate = false
  const callOff = clock.timer(totalMs, () => {
    isLate = !stop.signal.aborted
    stop.abort(late(`Request timed out: it was not complete within ${seconds(totalMs)}`))
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
      const waiting = clock.timer(firstByteMs, () =>
        stop.abort(late(`Request timed out: server did not respond within ${seconds(firstByteMs)}`)),
      )
      let response: IncomingMessage
      try {
        const socket = await (redirected === 0 ? reach() : ofRedirect(reach))
        sockets.push(socket)
        response = await ask(here, { method, socket, userAgent: rules.userAgent, signal: stop.signal })
      } finally {
        waiting()
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
      url = nextOf(headers.location, here, redirected, rules, start)
    }
  } finally {
    callOff()
    signal.removeEventListener('abort', cancel)
    for (const socket of sockets) socket.destroy()
  }
}

function nextOf(location: string, from: URL, redirected: number, rules: WebRules, start: URL): URL {
  const badRedirect = (message: string, kind: 'external' | 'permission_denied' = 'external'): never => {
    throw fail(message, { code: 'redirect_refused', class: kind })
  }
  if (redirected >= rules.redirects) badRedirect(`Too many redirects: more than ${rules.redirects}`)
  // What servers send is bytes; browsers read them as UTF-8.
  const next = URL.parse(Buffer.from(location, 'latin1').toString('utf8'), from.href)
  if (!next) return badRedirect('The server redirects to something that is no URL')
  // A person was not asked about this host because it was trusted, and the trust does not go further.
  if (rules.isTrusted(hostOf(start)) && !rules.isTrusted(hostOf(next)))
    badRedirect(
      `Not followed: the server redirects to another host, ${parseUrl(next.href).href.slice(0, 2_000)}. Fetch that URL if it is what you want`,
      'permission_denied',
    )
  next.hash = ''
  return next
}

/** What is wrong with an address that the server named is no fault of the one that was asked for. */
async function ofRedirect<T>(reach: () => Promise<T>): Promise<T> {
  try {
    return await reach()
  } catch (error) {
    const { code, message } = error instanceof ToolFailure ? error.failure : {}
    const said = `Not followed: the server redirects to another address. ${message}`
    if (code === 'url_blocked') throw fail(said, { code, class: 'permission_denied' })
    throw code === 'url_invalid' ? fail(said, { code: 'redirect_refused', class: 'external' }) : error
  }
}

interface Question {
  readonly method: 'GET' | 'HEAD'
  readonly socket: Socket
  readonly userAgent: string
  readonly signal: AbortSignal
}

/** One request on a connection of its own. The same code for both schemes: the socket has the TLS in it. */
function ask(url: URL, { method, socket, userAgent, signal }: Question): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request({
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
      // The socket is there, so nothing here resolves or connects; and no agent means no proxy.
      createConnection: () => socket,
      setHost: false,
      maxHeaderSize: mostHeaderBytes,
      insecureHTTPParser: false,
    })
    const stop = (): void => {
      reject(signal.reason as Error)
      asked.destroy()
    }
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const over = (): void => signal.removeEventListener('abort', stop)
    asked.once('response', (response) => {
      over()
      response.on('error', () => {}) // who reads it hears of it too
      resolve(response)
    })
    asked.on('error', (cause) => {
      over()
      reject(fail('The server did not answer as HTTP does', { code: 'response_broken', class: 'external', cause }))
    })
    // Taken over by neither: a switch of protocols was not asked for.
    asked.once('upgrade', (_response, upgraded) => {
      upgraded.destroy()
      asked.emit('error', new Error('it switched protocols'))
    })
    asked.end()
  })
}
