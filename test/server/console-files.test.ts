// The console as a server delivers it: addresses, headers, compression and size. Without a browser.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { createRuntime, type Runtime, tool } from 'pawl'
import { createServer, type Server, type ServerOptions } from 'pawl/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { buildConsole } from '../kit/console/console-app.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

let folder: string
let runtime: Runtime
let server: Server
const tokens = [{ token: 'console-files-token-0123', roles: ['viewer'], principal: 'user:ada' }] as const
const open = (options: ServerOptions = {}): Server => createServer(runtime, { console: folder, tokens, ...options })

beforeAll(async () => {
  folder = await buildConsole()
  runtime = await createRuntime({ store: 'memory:', logger: quiet })
  server = open()
}, 60_000)
afterAll(() => runtime?.close())

const get = (path: string, headers: Record<string, string> = {}, from = server): Promise<Response> =>
  from.fetch(new Request(`http://localhost${path}`, { headers }))

const assetsOf = (page: string): string[] => [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)

test('DOOR-1: the page is at the addresses of its screens alone, and is never cached', async () => {
  for (const path of ['/', '/inbox', '/inbox/some-id', '/calls/some-id']) {
    const response = await get(path)
    expect([path, response.status, response.headers.get('cache-control')]).toEqual([path, 200, 'no-store'])
    expect(await response.text()).toContain('<div id="root">')
  }
  for (const path of ['/nothing', '/v1/nothing', '/assets/nothing.js', '/assets/..%2findex.html', '/inbox/a/b/c'])
    expect([path, (await get(path)).status]).toEqual([path, 404])
  const posted = await server.fetch(new Request('http://localhost/inbox', { method: 'POST' }))
  expect(posted.status).toBe(404)
})

test('DOOR-1: no inline script or style, and nothing from another host', async () => {
  const response = await get('/')
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
  expect(policy).not.toMatch(/unsafe|http|\*/)
  for (const rule of ["frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"])
    expect(policy).toContain(rule)
  const page = await response.text()
  expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)|\bon\w+=/)
  for (const path of assetsOf(page)) expect(path).toMatch(/^\/assets\/[\w-]+\.(js|css|svg)$/)
})

test('DOOR-1: files are compressed and kept for ever, under names with a digest', async () => {
  for (const path of assetsOf(await (await get('/')).text())) {
    const plain = await get(path)
    const zipped = await get(path, { 'accept-encoding': 'br;q=1, gzip' })
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(await zipped.arrayBuffer())).toEqual(Buffer.from(await plain.arrayBuffer()))
  }
})

test('DOOR-1: the first screen loads less than 200 kB of compressed JavaScript', async () => {
  const page = await (await get('/')).text()
  let bytes = 0
  for (const path of assetsOf(page).filter((path) => path.endsWith('.js')))
    bytes += (await (await get(path, { 'accept-encoding': 'gzip' })).arrayBuffer()).byteLength
  expect(bytes).toBeGreaterThan(10_000)
  expect(bytes).toBeLessThan(200_000)
})

test('DOOR-1: under a base path, links of the page lead there', async () => {
  const mounted = open({ basePath: '/tools/pawl' })
  const page = await (await get('/tools/pawl/inbox/x', {}, mounted)).text()
  const [first = ''] = assetsOf(page)
  expect(first).toMatch(/^\/tools\/pawl\/assets\//)
  expect((await get(first, {}, mounted)).status).toBe(200)
  expect((await get('/inbox', {}, mounted)).status).toBe(404)
})

test('DOOR-1: without a console the start page is a list without scripts', async () => {
  for (const console of [false, mkdtempSync(join(tmpdir(), 'empty-'))]) {
    const plain = open({ console })
    expect(await (await get('/', {}, plain)).text()).toContain('Pawl is running.')
    expect((await get('/inbox', {}, plain)).status).toBe(404)
  }
})

const post = (headers: Record<string, string>): Promise<Response> =>
  server.fetch(new Request('http://localhost/login', { method: 'POST', headers }))

test('DOOR-1: a login by token sets a cookie that scripts cannot read', async () => {
  const [{ token }] = tokens
  const response = await post({ authorization: `Bearer ${token}`, origin: 'http://localhost' })
  expect(response.status).toBe(204)
  const cookie = response.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(new RegExp(`^pawl_token=${token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`))
  expect((await get('/v1/me', { cookie: cookie.split(';')[0] ?? '' })).status).toBe(200)
  expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await post({ cookie: `pawl_token=${token}` })).status).toBe(401) // a cookie cannot be renewed with itself
  expect((await post({ authorization: `Bearer ${token}`, origin: 'https://evil.example' })).status).toBe(403)
})

test('DOOR-5: the page of a signed link leads to the console, if there is one', async () => {
  const refund = tool({
    name: 'refund',
    description: 'Sends money back',
    input: z.object({}),
    hints: { destructive: true },
    execute: () => 'done',
  })
  const desk = await createRuntime({ store: 'memory:', tools: [refund], logger: quiet })
  await desk.session('chat').run([{ id: 'a', name: 'refund' }], { until: 'waiting' })
  const [item] = await desk.inbox()
  const id = item?.id ?? expect.unreachable()
  const path = `/decide/${await desk.links.sign({ item: id, by: 'user:bea' })}`
  const pageOf = async (options: ServerOptions): Promise<string> => {
    const { basePath = '' } = options
    return (await get(`${basePath}${path}`, {}, createServer(desk, options))).text()
  }
  expect(await pageOf({ console: folder })).toContain(`<a href="/inbox/${id}">`)
  expect(await pageOf({ console: folder, basePath: '/pawl' })).toContain(`<a href="/pawl/inbox/${id}">`)
  expect(await pageOf({ console: false })).not.toContain('/inbox/')
  await desk.close({ grace: 0 })
})
