// Connects to a host whose addresses were checked. The name is resolved once and the socket gets exactly those
// addresses, so DNS rebinding has no effect. The remote address of the connected socket is checked again.

import { lookup as systemLookup } from 'node:dns/promises'
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { fail, type ToolFailure } from '../../core/outcome.ts'
import { hostOf } from './host-lists.ts'
import { urlBlocked, portOf, type WebRules } from './fetch-rules.ts'

/** Maximum number of addresses to try; all addresses are checked. */
const maxAddresses = 8

const connectError = (why: string, cause?: unknown): ToolFailure =>
  fail(`Failed to connect to server: ${why}`, {
    code: 'connect_failed',
    class: 'unavailable',
    ...(cause === undefined ? {} : { cause }),
  })

export async function connectTo(url: URL, rules: WebRules, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const port = portOf(url)
  const addresses = await addressesOf(host, rules, signal)
  if (addresses.length === 0) throw connectError('its name has no address')
  // A single forbidden address rejects the host: mixed answers are a way to reach internal services.
  for (const address of addresses)
    if (isIP(address) === 0 || !rules.mayConnect(address, host, port))
      throw urlBlocked('it does not lead to a public address')
  const socket = openSocket(url, addresses.slice(0, maxAddresses))
  try {
    await untilConnected(socket, url.protocol === 'https:' ? 'secureConnect' : 'connect', signal)
    if (!rules.mayConnect(socket.remoteAddress ?? '', host, port))
      throw urlBlocked('it does not lead to a public address')
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function addressesOf(host: string, { lookup }: WebRules, signal: AbortSignal): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  const lookupResult = lookup
    ? lookup(host)
    : systemLookup(host, { all: true }).then((found) => found.map(({ address }) => address))
  try {
    return await raceAbort(lookupResult, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw connectError('its name is not known', error)
  }
}

/** A system lookup cannot be cancelled, so an abort stops waiting for it. */
async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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

function openSocket(url: URL, addresses: readonly string[]): Socket {
  const host = hostOf(url)
  const [first = ''] = addresses
  // The socket's own lookup always gets the checked addresses.
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  const pinned = ((_host, _options, answer) => answer(null, entries)) as LookupFunction
  const where = addresses.length === 1 ? { host: first } : { host, lookup: pinned, autoSelectFamily: true }
  const target = { ...where, port: portOf(url) }
  if (url.protocol === 'http:') return connectPlain(target)
  // `rejectUnauthorized` is explicit, so that no environment variable can disable the certificate check.
  const name = isIP(host) === 0 ? { servername: host } : {}
  return connectSecure({ ...target, ...name, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] })
}

function untilConnected(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cleanUp = (): void => {
      socket.off(event, done).off('error', failed).off('close', closed)
      signal.removeEventListener('abort', stop)
    }
    const failed = (error: Error): void => {
      cleanUp()
      reject(connectError(connectReason(error), error))
    }
    const closed = (): void => failed(new Error('closed'))
    const stop = (): void => {
      cleanUp()
      reject(signal.reason as Error)
    }
    const done = (): void => {
      cleanUp()
      resolve()
    }
    // Prevents an unhandled 'error' event; the later owner of the socket adds its own listener.
    socket.on('error', () => {})
    socket.once(event, done).once('error', failed).once('close', closed)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
}

/** A reason that the model can act on and that reveals nothing about the local network. */
function connectReason(error: Error): string {
  const { code = '' } = error as NodeJS.ErrnoException
  if (code.startsWith('ERR_TLS') || code.includes('CERT') || code.includes('SIGNATURE'))
    return 'its certificate is not valid'
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return 'it does not speak TLS as it should'
  return code === 'ECONNREFUSED' ? 'it refused the connection' : 'it could not be reached'
}
