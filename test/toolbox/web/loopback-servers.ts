// Loopback servers for web_fetch, and a session that fetches from them.

import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecure } from 'node:https'
import { type AddressInfo, createServer as createPlain, type Socket } from 'node:net'
import { createServer as createRawSecure } from 'node:tls'
import { type ManualClock, manualClock } from 'pawl/testing'
import { createRuntime } from 'pawl'
import type { WebOptions } from '../../../src/toolbox/web/fetch-rules.ts'
import { webTools } from '../../../src/toolbox/web/web.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import type { Json } from '../../../src/core/tool-value.ts'
import { cert, key } from './self-signed-certificate.ts'

export interface Server {
  readonly port: number
  readonly url: string
  /** Number of accepted connections. */
  readonly connections: number
  close(): Promise<void>
}

interface Listens {
  listen(port: number, host: string, done: () => void): unknown
  address(): unknown
  on(event: 'connection', heard: (socket: Socket) => void): unknown
  close(done: () => void): unknown
}

async function opened(server: Listens, host: string, at = 0): Promise<Server> {
  let connections = 0
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    connections++
    open.add(socket.on('error', () => {}))
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => void server.listen(at, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    get connections() {
      return connections
    },
    close: async () => {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => void server.close(resolve))
    },
  }
}

export const httpServer = (answer: RequestListener, host = '127.0.0.1', port = 0): Promise<Server> =>
  opened(createServer(answer), host, port)
/** A TLS server with a self-signed certificate for tls.example. */
export const httpsServer = (answer: RequestListener): Promise<Server> =>
  opened(createSecure({ key, cert }, answer), '127.0.0.1')
/** A raw TCP server. */
export const plainServer = (answer: (socket: Socket) => void, host = '127.0.0.1'): Promise<Server> =>
  opened(createPlain(answer), host)
/** A raw TLS server with a self-signed certificate for tls.example. */
export const plainTlsServer = (answer: (socket: Socket) => void): Promise<Server> =>
  opened(createRawSecure({ key, cert }, answer), '127.0.0.1')

export interface Fetcher {
  readonly clock: ManualClock
  readonly runtime: Awaited<ReturnType<typeof createRuntime>>
  fetch(input: { [key: string]: Json }, how?: { signal?: AbortSignal }): Promise<Outcome>
  close(): Promise<void>
}

let calls = 0

/** A session with a manual clock for its limits; all hosts are trusted, so no approval is needed. */
export async function fetcher(options: WebOptions): Promise<Fetcher> {
  const clock = manualClock()
  const tools = webTools({ clock, trusted: ['*'], ...options })
  const runtime = await createRuntime({ store: 'memory:', tools })
  return {
    clock,
    runtime,
    async fetch(input, { signal } = {}) {
      const [outcome] = await runtime
        .session('web')
        .run([{ id: `fetch-${++calls}`, name: 'web_fetch', input }], signal ? { signal } : {})
      return outcome as unknown as Outcome
    },
    close: () => runtime.close(),
  }
}

export const codeOf = (outcome: Outcome): string =>
  outcome.status === 'failure' ? outcome.failure.code : outcome.status
