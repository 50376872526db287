// Runs a server on a port of Node, with graceful shutdown. Called by `pawl serve` and by programs.

import { randomBytes } from 'node:crypto'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { systemClock } from '../core/clock.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Runtime } from '../index.ts'
import { browserTokenName, type FixedToken } from './http/authenticate.ts'
import { sendReply, toResponse } from './http/reply.ts'
import { type ServerOptions, serverOptions } from './options.ts'
import { openServer } from './server.ts'

/** Options of startServer(). */
export interface StartServerOptions extends ServerOptions {
  /** The runtime; closing the server closes it too. */
  readonly runtime: Runtime
  /** Default: 7717. 0: any free port. */
  readonly port?: number
  /** The address to listen on. Another than one of this machine needs a token. Default: '127.0.0.1'. */
  readonly host?: string
  /** How long requests and running tools may take to finish when the server closes. Default: '25s'. */
  readonly grace?: Duration
}

/** A server that listens on a port. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:7717`. */
  readonly url: string
  /** The token that was made for this process; null if tokens were given or stored. */
  readonly token: string | null
  /** Logs a browser in, once, within five minutes. */
  readonly loginUrl: string
  /** Finishes what is being done within the grace period, hands the rest to other workers, and closes the runtime. */
  close(): Promise<void>
}

export const startServerOptions = {
  ...serverOptions,
  runtime: option.required(option.object),
  port: option.wholeNumber(0, 65_535),
  host: option.nonEmptyString,
  grace: option.duration,
} satisfies OptionTable<StartServerOptions>

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

/** The principal of the token that is made at the start. */
const localPrincipal = 'user:local'

/** Without a token a server on another address would be open to its network. */
async function hasToken(options: StartServerOptions): Promise<boolean> {
  const { tokens = [], authenticate } = options
  return tokens.length > 0 || authenticate !== undefined || (await hasStoredToken(options))
}

/** Tokens of browsers end with their login. */
async function hasStoredToken({ runtime, clock = systemClock }: StartServerOptions): Promise<boolean> {
  const now = clock.now()
  const stored = await runtime.tokens.list()
  return stored.some(
    ({ name, revokedAt, expiresAt }) =>
      name !== browserTokenName && revokedAt === null && (expiresAt === null || now < expiresAt),
  )
}

/**
 * Starts a server. On an address of this machine it makes a token if there is none.
 *
 * @example
 * const server = await startServer({ runtime, port: 7717 })
 * console.log(server.url, server.token)
 */
export async function startServer(options: StartServerOptions): Promise<RunningServer> {
  checkRequiredOptions(options, startServerOptions, 'startServer()')
  const { runtime, port = 7717, host = '127.0.0.1', grace = '25s', ...rest } = options
  const graceMs = milliseconds(grace, 'grace')
  let token: string | null = null
  if (!(await hasToken(options))) {
    if (!isLoopback(host))
      throw new PawlError(
        'config_invalid',
        `The server would be open to everyone who reaches ${host}. Create a token first (\`pawl tokens create\`), or listen on 127.0.0.1.`,
      )
    token = `pawl_${randomBytes(32).toString('base64url')}`
  }
  const local: FixedToken[] =
    token === null ? [] : [{ token, roles: ['admin'], tenant: null, principal: localPrincipal }]
  const shownHost = host.includes(':') ? `[${host}]` : host
  // Clients in a network use one of the server's addresses, which it may not know (0.0.0.0, containers).
  const defaultHosts = isLoopback(host) ? 'local' : isIP(host) === 0 ? [host] : 'addresses'
  const server = openServer(runtime, { ...rest, tokens: [...(rest.tokens ?? []), ...local] }, defaultHosts)
  const http = createAdaptorServer({
    fetch: async (request, env) => {
      const { incoming, outgoing } = env as HttpBindings
      const reply = await server.reply(request, { address: incoming.socket.remoteAddress ?? 'unknown' })
      return sendReply(reply, outgoing) ? RESPONSE_ALREADY_SENT : toResponse(reply)
    },
    overrideGlobalObjects: false,
    serverOptions: {
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 60_000,
    },
  }) as HttpServer
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)))
    http.listen(port, host, resolve)
  })
  const { port: actual } = http.address() as AddressInfo
  const url = `http://${shownHost}:${actual}`
  const code = server.loginCode({ principal: localPrincipal, roles: ['admin'] })
  let closing: Promise<void> | null = null
  return {
    url,
    token,
    loginUrl: `${url}${rest.basePath ?? ''}/login?code=${code}`,
    close: () => (closing ??= closeGracefully()),
  }

  async function closeGracefully(): Promise<void> {
    server.close()
    const closed = new Promise<void>((resolve) => http.close(() => resolve()))
    http.closeIdleConnections()
    await runtime.close({ grace: graceMs })
    // Requests that waited for calls have their answer now. Connections that stay open are idle or too slow.
    http.closeIdleConnections()
    const cut = (rest.clock ?? systemClock).timer(1_000, () => http.closeAllConnections())
    await closed
    cut()
  }
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES' && error.code !== 'EADDRNOTAVAIL') return error
  const why = error.code === 'EADDRINUSE' ? 'is in use' : 'cannot be used'
  return new PawlError(
    'config_invalid',
    `Port ${port} of ${host} ${why}. Take another one, such as \`--port ${port + 1}\` (\`port\` of startServer()).`,
  )
}
