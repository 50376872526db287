// SSRF protection of web_fetch, tested against loopback servers that count connections. Nothing leaves the machine.

import { execFile } from 'node:child_process'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { fc } from '../../kit/seeded-fast-check.ts'
import ipaddr from 'ipaddr.js'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isOwnAddress, isPublicAddress } from '../../../src/toolbox/web/public-address.ts'
import { connectTo } from '../../../src/toolbox/web/connect.ts'
import { compileRules, type WebOptions } from '../../../src/toolbox/web/fetch-rules.ts'
import { codeOf, type Fetcher, fetcher, httpServer, httpsServer, plainServer, type Server } from './loopback-servers.ts'
import { cert } from './self-signed-certificate.ts'
import { attackUrls } from './private-addresses.ts'

/** A connection to this server means that the protection failed. It listens on every address of the machine. */
let canary: Server
beforeAll(async () => {
  canary = await httpServer((_, response) => void response.end('the secret'), '::')
})
afterAll(() => canary.close())

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})
const world = async (options: WebOptions): Promise<Fetcher> => {
  const made = await fetcher(options)
  open.push(made)
  return made
}

const refusals = new Set(['url_invalid', 'url_blocked', 'invalid_arguments', 'redirect_refused'])

describe('BOX-4: addresses', () => {
  test('every notation of a private address is rejected without a connection', { timeout: 60_000 }, async () => {
    const urls = attackUrls(canary.port)
    const { fetch } = await world({ ports: [canary.port], lookup: async () => ['127.0.0.1'] })
    const through: string[] = []
    for (const url of urls) {
      const code = codeOf(await fetch({ url }))
      if (!refusals.has(code)) through.push(`${JSON.stringify(url)}: ${code}`)
    }
    expect(through).toEqual([])
    expect(urls.length).toBeGreaterThanOrEqual(400)
    expect(canary.connections).toBe(0)
  })

  test('private addresses are also rejected when the system resolver is used', async () => {
    const { fetch } = await world({ ports: [canary.port] })
    for (const host of ['localhost', 'LOCALHOST.', '127.0.0.1', '[::1]', '0', '2130706433', '[::ffff:7f00:1]'])
      expect(codeOf(await fetch({ url: `http://${host}:${canary.port}/` })), host).toBe('url_blocked')
    expect(canary.connections).toBe(0)
  })

  test('the addresses of this machine are recognized', () => {
    expect(isOwnAddress('127.0.0.1')).toBe(true)
    expect(isOwnAddress('93.184.216.34')).toBe(false)
  })

  test('every address that counts as public is unicast for ipaddr.js', () => {
    const v4 = fc.ipV4()
    const v6 = fc.oneof(
      fc.ipV6(),
      fc
        .tuple(
          fc.constantFrom(
            '2000:',
            '2001:',
            '2001:db8:',
            '2002:',
            '64:ff9b:',
            '3fff:',
            '3ffe:',
            '2620:4f:8000:',
            'fe80:',
            '100:',
          ),
          fc.integer({ min: 0, max: 65_535 }),
        )
        .map(([start, rest]) => `${start}${rest.toString(16)}::1`),
    )
    const agree = (address: string): void => {
      const parsed = ipaddr.process(address)
      if (isPublicAddress(address)) expect(parsed.range(), address).toBe('unicast')
    }
    fc.assert(fc.property(v4, agree), { numRuns: 20_000 })
    fc.assert(fc.property(v6, agree), { numRuns: 20_000 })
    for (let first = 0; first < 256; first++)
      for (const rest of ['0.0.0', '64.0.1', '127.255.255', '168.0.1', '255.255.255']) agree(`${first}.${rest}`)
  })

  test('public addresses are accepted, and malformed ones are not', () => {
    for (const address of [
      '1.1.1.1',
      '8.8.8.8',
      '93.184.216.34',
      '100.63.255.255',
      '100.128.0.0',
      '172.15.0.1',
      '172.32.0.1',
      '192.0.1.1',
      '198.17.0.1',
      '223.255.255.255',
      '2606:4700::1111',
      '2a00:1450:4001::200e',
      '2001:4860:4860::8888',
      '2003::1',
    ])
      expect(isPublicAddress(address), address).toBe(true)
    for (const nothing of [
      '',
      'localhost',
      '1.2.3',
      '1.2.3.4.5',
      '01.2.3.4',
      '1.2.3.4/8',
      '::ffff:8.8.8.8',
      'fe80::1%lo',
    ])
      expect(isPublicAddress(nothing), nothing).toBe(false)
  })
})

describe('BOX-4: names that resolve to private addresses', () => {
  /** 127.0.0.9 stands for a public server; the same port of 127.0.0.1 must not be reached. */
  const outside = '127.0.0.9'
  const like = (server: Server): WebOptions => ({
    ports: [server.port],
    allowAddress: (address, { allowed }) => allowed || address === outside,
  })
  async function twins(answer: RequestListener): Promise<{ server: Server; trap: Server }> {
    const trap = await httpServer((_, response) => void response.end('the secret'))
    const server = await httpServer(answer, outside, trap.port)
    open.push(trap, server)
    return { server, trap }
  }
  const ok: RequestListener = (_, response) => void response.end('ok')

  test('a private address among others blocks the request without a connection', async () => {
    const { server, trap } = await twins(ok)
    for (const answer of [
      [outside, '127.0.0.1'],
      ['127.0.0.1', outside],
      [outside, '::1'],
      [outside, '::ffff:127.0.0.1'],
      [outside, 'localhost'],
      [outside, ''],
      [outside, '127.1'],
    ]) {
      const { fetch } = await world({ ...like(server), lookup: async () => answer })
      expect(codeOf(await fetch({ url: `http://mixed.example:${server.port}/` })), String(answer)).toBe('url_blocked')
    }
    expect(server.connections + trap.connections).toBe(0)
  })

  test('DNS rebinding: the name is resolved once per hop, in 500 rounds', async () => {
    const { server, trap } = await twins(ok)
    let asked = 0
    const lookup = async (): Promise<string[]> => [asked++ % 2 === 0 ? outside : '127.0.0.1']
    const { fetch } = await world({ ...like(server), lookup })
    const codes = new Map<string, number>()
    for (let round = 0; round < 500; round++) {
      const code = codeOf(await fetch({ url: `http://rebind.example:${server.port}/` }))
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
    expect(asked).toBe(500)
    expect(trap.connections).toBe(0)
    expect(Object.fromEntries(codes)).toEqual({ success: 250, url_blocked: 250 })
  })

  test('DNS rebinding: 10,000 rounds reach no private address', { timeout: 60_000 }, async () => {
    const { server, trap } = await twins(ok)
    let asked = 0
    const inside = [
      '127.0.0.1',
      '::1',
      '10.0.0.1',
      '169.254.169.254',
      '::ffff:127.0.0.1',
      '64:ff9b::7f00:1',
      '0.0.0.0',
      '127.0.0.2',
      'fd00::1',
    ]
    const lookup = async (): Promise<string[]> => [[outside, ...inside][asked++ % 10] as string]
    const rules = compileRules({ ...like(server), lookup })
    const url = new URL(`http://rebind.example:${server.port}/`)
    let [reached, refused] = [0, 0]
    const round = async (): Promise<void> => {
      try {
        ;(await connectTo(url, rules, new AbortController().signal)).destroy()
        reached++
      } catch (error) {
        expect(error).toMatchObject({ failure: { code: 'url_blocked' } })
        refused++
      }
    }
    for (let at = 0; at < 10_000; at += 20) await Promise.all(Array.from({ length: 20 }, round))
    expect({ reached, refused, inside: trap.connections }).toEqual({ reached: 1_000, refused: 9_000, inside: 0 })
  })

  test('several allowed addresses are tried in order, and no others', async () => {
    const { server } = await twins(ok)
    const both = {
      ports: [server.port],
      allowAddress: (address: string) => address === outside || address === '127.0.0.8',
    }
    const { fetch } = await world({ ...both, lookup: async () => ['127.0.0.8', outside] })
    expect(await fetch({ url: `http://two.example:${server.port}/` })).toMatchObject({ value: { content: 'ok' } })
  })

  const redirectsTo = (port: number): string[] => {
    const at = `127.0.0.1:${port}`
    return [
      `http://${at}/`,
      `//${at}/`,
      `http://2130706433:${port}/`,
      `http://[::1]:${port}/`,
      `http://[::ffff:7f00:1]:${port}/`,
      `http://[64:ff9b::7f00:1]:${port}/`,
      `http://inside.example:${port}/`,
      `https://${at}/`,
      `http://169.254.169.254/latest/meta-data/`,
      `http://127.0.0.1:22/`,
      `file:///etc/passwd`,
      `ftp://${at}/`,
      `gopher://${at}/`,
      `data:text/html,x`,
      `javascript:alert(1)`,
      `http://user:pass@${at}/`,
      `http:///`,
      `http://[`,
      `\\\\${at}\\x`,
    ]
  }

  test('redirects of every status to any private target are rejected', async () => {
    let to = ''
    let status = 301
    const { server, trap } = await twins((_, response) => void response.writeHead(status, { location: to }).end())
    const { fetch } = await world({
      ...like(server),
      lookup: async (host) => [host === 'inside.example' ? '127.0.0.1' : outside],
    })
    const through: string[] = []
    let tried = 0
    for (status of [301, 302, 303, 307, 308]) {
      for (to of redirectsTo(server.port)) {
        tried++
        const code = codeOf(await fetch({ url: `http://outside.example:${server.port}/` }))
        if (!refusals.has(code)) through.push(`${status} ${to}: ${code}`)
      }
    }
    expect(through).toEqual([])
    expect(tried).toBeGreaterThanOrEqual(90)
    expect(trap.connections).toBe(0)
  })

  test('redirect loops end, and a redirect from a trusted host to another is not followed', async () => {
    const { server } = await twins((request, response) => {
      const to = request.url === '/other' ? `http://other.example:${server.port}/?stolen=1` : '/'
      response.writeHead(302, { location: to }).end()
    })
    const { fetch } = await world({ ...like(server), trusted: ['trusted.example'], lookup: async () => [outside] })
    expect(await fetch({ url: `http://trusted.example:${server.port}/` })).toMatchObject({
      failure: { message: 'Too many redirects: more than 5' },
    })
    expect(server.connections).toBe(6)
    const before = server.connections
    expect(await fetch({ url: `http://trusted.example:${server.port}/other` })).toMatchObject({
      failure: {
        code: 'redirect_refused',
        class: 'permission_denied',
        message: expect.stringContaining('other.example'),
      },
    })
    expect(server.connections).toBe(before + 1)
  })

  test('a proxy from the environment is not used', { timeout: 60_000 }, async () => {
    const proxy = await httpServer((_, response) => void response.end('by proxy'))
    const server = await httpServer((_, response) => void response.end('straight'))
    open.push(proxy, server)
    const env = {
      ...process.env,
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: proxy.url,
      http_proxy: proxy.url,
      ALL_PROXY: proxy.url,
      NO_PROXY: '',
    }
    const child = join(import.meta.dirname, 'child-fetch.ts')
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=@pawl/source', child, String(server.port)],
      { env },
    )
    expect(stdout).toContain('straight')
    expect(proxy.connections).toBe(0)
  })
})

describe('BOX-4: certificates', () => {
  test('an invalid certificate or one for another name fails, whatever the environment says', async () => {
    const server = await httpsServer((_, response) => void response.end('over TLS'))
    open.push(server)
    // No server listens at the first address: the second one is tried, with TLS as without.
    const { fetch } = await world({
      ports: [server.port],
      allowAddress: () => true,
      lookup: async () => ['127.0.0.8', '127.0.0.1'],
    })
    const at = (host: string) => fetch({ url: `https://${host}:${server.port}/` })
    const invalid = {
      failure: { code: 'connect_failed', message: 'Failed to connect to server: its certificate is not valid' },
    }
    const trusted = getCACertificates('default')
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      expect(await at('tls.example')).toMatchObject(invalid)
      setDefaultCACertificates([...trusted, cert])
      expect(await at('tls.example')).toMatchObject({ value: { content: 'over TLS' } })
      expect(await at('tls.example.')).toMatchObject({ value: { content: 'over TLS' } })
      expect(await at('other.example')).toMatchObject(invalid)
      expect(await at('127.0.0.1')).toMatchObject(invalid)
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
      setDefaultCACertificates(trusted)
    }
  })
})

describe('BOX-4: response bodies', () => {
  const most = 64 * 1024 * 1024
  const zeros = Buffer.alloc(most)
  const packed: Record<string, [string, Buffer]> = {
    gzip: ['gzip', gzipSync(zeros)],
    deflate: ['deflate', deflateSync(zeros)],
    'deflate without a header': ['deflate', deflateRawSync(zeros)],
    br: ['br', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })],
    zstd: ['zstd', zstdCompressSync(zeros)],
    'gzip in gzip': ['gzip, gzip', gzipSync(gzipSync(zeros))],
    'zstd in br': ['zstd, br', brotliCompressSync(zstdCompressSync(zeros))],
  }

  async function serve(headers: Record<string, string>, body: Buffer): Promise<Fetcher & { url: string }> {
    const server = await httpServer(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end(body),
    )
    open.push(server)
    return { ...(await world({ ports: [server.port], allowAddress: () => true })), url: server.url }
  }

  /** Peak memory growth in MiB while `work` runs. */
  async function growth(work: () => Promise<unknown>): Promise<number> {
    const before = process.memoryUsage().rss
    let highest = before
    const look = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 2)
    await work()
    clearInterval(look)
    return (Math.max(highest, process.memoryUsage().rss) - before) / 1_048_576
  }

  test.each(Object.keys(packed))('64 MiB compressed as %s fail within 64 MiB of memory', async (name) => {
    const [coding, body] = packed[name] as [string, Buffer]
    const { fetch, url } = await serve({ 'content-encoding': coding }, body)
    const grown = await growth(async () => {
      expect(await fetch({ url })).toMatchObject({ failure: { code: 'response_too_large', class: 'resource_limit' } })
    })
    expect(grown).toBeLessThan(64)
  })

  test.each([
    ['gzip, gzip, gzip', gzipSync(gzipSync(gzipSync('x'))), 'packed 3 times'],
    [Array.from({ length: 50 }, () => 'gzip').join(','), gzipSync('x'), 'packed 50 times'],
    ['compress', Buffer.from('x'), 'which is not known'],
    ['__proto__', Buffer.from('x'), 'which is not known'],
    ['gzip', Buffer.from('not packed at all'), 'cannot be unpacked'],
    ['br', Buffer.from('not packed at all, but longer than that'), 'cannot be unpacked'],
    ['zstd', Buffer.from('not packed at all'), 'cannot be unpacked'],
    ['gzip', gzipSync('x'.repeat(1_000)).subarray(0, 20), 'cannot be unpacked'],
  ])('an invalid body with content encoding %s fails', async (coding, body, says) => {
    const { fetch, url } = await serve({ 'content-encoding': coding }, body)
    expect(await fetch({ url })).toMatchObject({
      failure: { code: 'response_broken', class: 'external', message: expect.stringContaining(says) },
    })
  })

  test('a zstd window that would take gigabytes is rejected', async () => {
    const windowOf = (log: number): Buffer =>
      Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, (log - 10) << 3, 0x09, 0x00, 0x00, 0x78])
    const usual = await serve({ 'content-encoding': 'zstd' }, windowOf(20))
    expect(await usual.fetch({ url: usual.url })).toMatchObject({ value: { content: 'x' } })
    const huge = await serve({ 'content-encoding': 'zstd' }, windowOf(31))
    expect(await huge.fetch({ url: huge.url })).toMatchObject({ failure: { code: 'response_broken' } })
  })

  /** A server that sends the given bytes. */
  async function raw(...parts: string[]): Promise<Fetcher & { url: string }> {
    const server = await plainServer((socket) => {
      socket.once('data', () => {
        for (const part of parts) socket.write(part)
        socket.end()
      })
    })
    open.push(server)
    return { ...(await world({ ports: [server.port], allowAddress: () => true })), url: server.url }
  }
  const start = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'

  test.each([
    ['a length that is too long', [`${start}Content-Length: 100\r\n\r\n`, 'short'], 'response_broken'],
    ['a length beyond the limit', [`${start}Content-Length: 99999999999\r\n\r\n`, 'short'], 'response_too_large'],
    ['a negative length', [`${start}Content-Length: -1\r\n\r\n`, 'x'], 'response_broken'],
    ['two lengths', [`${start}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 'xx'], 'response_broken'],
    [
      'a length and chunks',
      [`${start}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n0\r\n\r\n'],
      'response_broken',
    ],
    ['chunks without an end', [`${start}Transfer-Encoding: chunked\r\n\r\n`, '5\r\nhello\r\n'], 'response_broken'],
    ['invalid chunks', [`${start}Transfer-Encoding: chunked\r\n\r\n`, 'zz\r\nhello\r\n'], 'response_broken'],
    ['headers without end', [start, `X-A: ${'a'.repeat(100_000)}\r\n`], 'response_broken'],
    ['100,000 headers', [start, 'X: y\r\n'.repeat(100_000)], 'response_broken'],
    [
      'a switch of protocols',
      ['HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
      'response_broken',
    ],
    ['nothing', [], 'response_broken'],
    ['a protocol other than HTTP', ['220 smtp ready\r\n'], 'response_broken'],
    ['an invalid status', ['HTTP/1.1 999999 ?\r\n\r\n'], 'response_broken'],
  ])('%s fails', async (_, parts, code) => {
    const { fetch, url } = await raw(...parts)
    expect(codeOf(await fetch({ url }))).toBe(code)
  })

  test('an endless body is cut off at the limit, within 64 MiB of memory', async () => {
    const server = await httpServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const chunk = Buffer.alloc(65_536, 'data: x\n')
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    })
    open.push(server)
    const { fetch } = await world({ ports: [server.port], allowAddress: () => true })
    const grown = await growth(async () => expect(codeOf(await fetch({ url: server.url }))).toBe('response_too_large'))
    expect(grown).toBeLessThan(64)
  })

  test.each([
    [
      'a body',
      `${start}\r\n`,
      '30s',
      { value: { truncated: true, content: expect.stringMatching(/^x+\n\n\[\.\.more/) } },
    ],
    ['a header', start, '10s', { failure: { code: 'fetch_timeout', class: 'timeout' } }],
    ['an interim response', 'HTTP/1.1 103 Early Hints\r\nh: ', '10s', { failure: { code: 'fetch_timeout' } }],
  ] as const)('%s sent byte by byte gets no additional time', async (_, begin, time, outcome) => {
    const dripped = Promise.withResolvers<void>()
    const server = await plainServer((socket) => {
      socket.once('data', () => {
        socket.write(begin)
        let drops = 0
        const drip = (): void => {
          if (socket.destroyed) return
          if (++drops === 20) dripped.resolve()
          socket.write('x', () => setImmediate(drip))
        }
        drip()
      })
    })
    open.push(server)
    const { fetch, clock } = await world({ ports: [server.port], allowAddress: () => true })
    const fetched = fetch({ url: server.url })
    await dripped.promise
    await clock.advance(time)
    expect(await fetched).toMatchObject(outcome)
  })
})
