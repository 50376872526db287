// Where a server listens and which addresses it answers: names of this machine, IPv6, the path of a host, and the token
// that is made at the start.

import { get } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { createRuntime, type Runtime } from 'pawl'
import { createServer, startServer, type StartServerOptions } from 'pawl/server'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function openRuntime(): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory:' })
  closing.push(() => runtime.close())
  return runtime
}

async function start(options: Partial<StartServerOptions> = {}) {
  const server = await startServer({ runtime: await openRuntime(), port: 0, ...options })
  closing.push(() => server.close())
  return server
}

const token = { token: 'pawl_test_0123456789_abcdefgh', roles: ['viewer'] as const, principal: 'user:ada' }

const statusOf = (url: string, host?: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, host === undefined ? {} : { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).once('error', reject)
  })

test.skipIf(process.platform !== 'linux')('DOOR-1: a server on any loopback address answers there', async () => {
  const { url } = await start({ host: '127.0.0.2' })
  expect(await statusOf(`${url}/healthz`)).toBe(200)
  for (const host of ['127.0.0.2.example.com', '127.0.0.2.', '128.0.0.2'])
    expect(await statusOf(`${url}/healthz`, host), host).toBe(421)
})

test('DOOR-1: on all addresses it answers under any address, and not under a name', async () => {
  const { url } = await start({ host: '0.0.0.0', tokens: [token] })
  const local = `http://127.0.0.1:${new URL(url).port}/healthz`
  for (const host of ['127.0.0.1', '10.1.2.3:8080', '[fe80::1]', 'localhost'])
    expect(await statusOf(local, host), host).toBe(200)
  for (const host of ['evil.example', '10.1.2.3.nip.io', '10.1.2.3.', '0x7f.1', '2130706433'])
    expect(await statusOf(local, host), host).toBe(421)
})

test('DOOR-1: a host name that makes no URL is refused as any other', async () => {
  const { url } = await start()
  for (const host of ['999.1.1.1', '127.0.0.2000', '1.2.3.4.5'])
    expect(await statusOf(`${url}/healthz`, host), host).toBe(421)
})

test('DOOR-1: a server on an IPv6 address answers under that address', async () => {
  const { url } = await start({ host: '::', tokens: [token] })
  expect(await statusOf(`http://[::1]:${new URL(url).port}/healthz`, new URL(url).host)).toBe(200)
})

test('DOOR-1: a token that has expired does not replace the token of the start', async () => {
  const runtime = await openRuntime()
  const { token } = await runtime.tokens.create({ name: 'old', roles: ['admin'], expiresIn: 1 })
  await expect.poll(() => runtime.tokens.verify(token)).toBeUndefined()
  expect((await start({ runtime })).token).toMatch(/^pawl_/)
  await expect(startServer({ runtime, port: 0, host: '0.0.0.0' })).rejects.toThrow('Create a token first')
})

test('DOOR-1: a server with a base path answers only under it', async () => {
  const server = createServer(await openRuntime(), { basePath: '/pawl' })
  closing.push(async () => server.close())
  const status = async (path: string) => (await server.fetch(new Request(`http://localhost${path}`))).status
  expect(await Promise.all(['/pawl/healthz', '/pawl/', '/pawl'].map(status))).toEqual([200, 200, 200])
  for (const path of ['/open/healthz', '/healthz', '//pawl/healthz', '/PAWL/healthz', '/12345healthz'])
    expect(await status(path), path).toBe(404)
})
