// WEB: a socket to a host whose addresses were checked. A name is resolved once and the socket gets the addresses that were looked at, so a resolver that says
// something else a moment later (rebinding) changes nothing; then the address at the other end of the socket is looked at again.

import { lookup as systemLookup } from 'node:dns/promises'
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { fail, type ToolFailure } from '../../core/outcome.ts'
import { hostOf } from './host-lists.ts'
import { blocked, portOf, type WebRules } from './fetch-rules.ts'

/** More are not tried; all of them are checked. */
const mostTried = 8

const noConnection = (why: string, cause?: unknown): ToolFailure =>
  fail(`Failed to connect to server: ${why}`, {
    code: 'connect_failed',
    class: 'unavailable',
    ...(cause === undefined ? {} : { cause }),
  })

export async function connectTo(url: URL, rules: WebRules, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const port = portOf(url)
  const addresses = await addressesOf(host, rules, signal)
  if (addresses.length === 0) throw noConnection('its name has no address')
  // One that is not allowed among others is how a name leads inside: none of them is trusted then.
  for (const address of addresses)
    if (isIP(address) === 0 || !rules.mayConnect(address, host, port))
      throw blocked('it does not lead to a public address')
  const socket = open(url, addresses.slice(0, mostTried))
  try {
    await connected(socket, url.protocol === 'https:' ? 'secureConnect' : 'connect', signal)
    if (!rules.mayConnect(socket.remoteAddress ?? '', host, port)) throw blocked('it does not lead to a public address')
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function addressesOf(host: string, { lookup }: WebRules, signal: AbortSignal): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  const asked = lookup
    ? lookup(host)
    : systemLookup(host, { all: true }).then((found) => found.map(({ address }) => address))
  try {
    return await orAbort(asked, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw noConnection('its name is not known', error)
  }
}

/** A question to the system cannot be taken back: who is told to stop does not wait for the answer. */
async function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>()
  const stop = (): void => stopped.reject(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.race([work, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function open(url: URL, addresses: readonly string[]): Socket {
  const host = hostOf(url)
  const [first = ''] = addresses
  // The socket asks for the addresses of the host; these are the answer, whatever it asks.
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  const pinned = ((_host, _options, answer) => answer(null, found)) as LookupFunction
  const where = addresses.length === 1 ? { host: first } : { host, lookup: pinned, autoSelectFamily: true }
  const target = { ...where, port: portOf(url) }
  if (url.protocol === 'http:') return connectPlain(target)
  // Said, so that no variable of the environment turns the check of certificates off.
  const name = isIP(host) === 0 ? { servername: host } : {}
  return connectSecure({ ...target, ...name, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] })
}

function connected(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = (): void => {
      socket.off(event, done).off('error', failed).off('close', closed)
      signal.removeEventListener('abort', stop)
    }
    const failed = (error: Error): void => {
      over()
      reject(noConnection(reasonOf(error), error))
    }
    const closed = (): void => failed(new Error('closed'))
    const stop = (): void => {
      over()
      reject(signal.reason as Error)
    }
    const done = (): void => {
      over()
      resolve()
    }
    // An error that comes later is nobody's: whoever has the socket then listens.
    socket.on('error', () => {})
    socket.once(event, done).once('error', failed).once('close', closed)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
}

/** In words that tell a model what to do about it, and nothing about the network it runs in. */
function reasonOf(error: Error): string {
  const { code = '' } = error as NodeJS.ErrnoException
  if (code.startsWith('ERR_TLS') || code.includes('CERT') || code.includes('SIGNATURE'))
    return 'its certificate is not valid'
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return 'it does not speak TLS as it should'
  return code === 'ECONNREFUSED' ? 'it refused the connection' : 'it could not be reached'
}
