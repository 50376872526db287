// Clients that send their headers too slowly are cut off, and the server goes on.

import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startServer } from '../../src/server/listen.ts'
import { openServerApp, tokenOf } from '../kit/server/server-app.ts'

test('DOOR-1: connections that do not finish their headers are closed', { timeout: 60_000 }, async () => {
  const app = await openServerApp({ data: false })
  const token = tokenOf('acme', 'viewer')
  const tokens = [{ token, roles: ['viewer'] as const, tenant: 'acme', principal: 'user:one' }]
  const server = await startServer({ runtime: app.runtime, port: 0, tokens })
  const { port } = new URL(server.url)
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const socket = connect({ port: Number(port), host: '127.0.0.1' })
      const { promise, resolve } = Promise.withResolvers<string>()
      let text = ''
      socket.on('data', (data: Buffer) => (text += data.toString()))
      socket.on('error', () => {})
      socket.on('close', () => resolve(text))
      socket.write('GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n')
      // A header line each second never ends the headers.
      const slowly = setInterval(() => socket.write('X-Slow: 1\r\n'), 1_000)
      const given = await promise
      clearInterval(slowly)
      return given
    }),
  )
  for (const text of answers) expect(text).toMatch(/^HTTP\/1\.1 408/)
  const alive = await fetch(`${server.url}/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  expect(alive.status).toBe(200)
  await alive.arrayBuffer()
  await server.close()
  await app.store.close()
})
