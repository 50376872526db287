// web_fetch: content in a form that models read. Rejected targets are in ssrf-and-decompression-bombs.test.ts.

import { spawnSync } from 'node:child_process'
import type { RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createRuntime } from 'pawl'
import { stripTags } from '../../../src/toolbox/web/convert-html.ts'
import { webTools } from '../../../src/toolbox/web/web.ts'
import type { WebOptions } from '../../../src/toolbox/web/fetch-rules.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import { watchEventLoop } from '../../kit/event-loop-pauses.ts'
import { codeOf, type Fetcher, fetcher, httpServer, type Server } from './loopback-servers.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function world(answer: RequestListener, options: WebOptions = {}): Promise<Fetcher & { server: Server }> {
  const server = await httpServer(answer)
  const made = await fetcher({ ports: [server.port], allowAddress: (address) => address === '127.0.0.1', ...options })
  open.push(server, made)
  return { ...made, server }
}

const sends = (
  type: string | undefined,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): RequestListener => {
  return (_, response) =>
    void response.writeHead(200, { ...(type === undefined ? {} : { 'content-type': type }), ...headers }).end(body)
}

async function fetched(
  answer: RequestListener,
  input: Record<string, boolean | string> = {},
  options: WebOptions = {},
): Promise<unknown> {
  const { fetch, server } = await world(answer, options)
  const outcome = await fetch({ url: `${server.url}/here/page?q=1`, ...input })
  return outcome.status === 'success' ? outcome.value : outcome
}

const page = `<!doctype html><html><head><title>Orders &amp; refunds</title><style>x{}</style></head><body><nav><a href="/">Home</a></nav><main>
<h1>Orders</h1><p>${'A page about <b>orders</b>. '.repeat(20)}<a href="next?b=1">next</a> <a href="javascript:alert(1)">bad</a></p><ul><li>one</li><li>two</li></ul>
<pre><code class="language-js">let a = 1 &lt; 2</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<script>alert(1)</script><img src="data:image/png;base64,AAAA" alt="pic"><img src="/logo.png" alt="logo"></main><footer>Imprint</footer></body></html>`

describe('BOX-4: fetched content', () => {
  test('HTML becomes markdown with absolute links, without scripts, menus and data URLs', async () => {
    const value = (await fetched(sends('text/html; charset=utf-8', page))) as { content: string; url: string }
    expect(value).toMatchObject({
      status: 200,
      format: 'markdown',
      title: 'Orders & refunds',
      content_type: 'text/html',
      truncated: false,
    })
    expect(value.content).toMatch(/^# Orders\n/)
    expect(value.content).toContain(`[next](${new URL('/here/next?b=1', value.url).href})`)
    expect(value.content).toContain('- one\n- two')
    expect(value.content).toContain('```js\nlet a = 1 < 2\n```')
    expect(value.content).toContain('| 1 | 2 |')
    expect(value.content).toContain(`![logo](${new URL('/logo.png', value.url).href})`)
    expect(value.content).not.toMatch(/alert|base64|javascript:|Imprint|Home/)
  })

  test('as_text returns text, and as_markdown: false returns the HTML', async () => {
    const text = (await fetched(sends('text/html', page), { as_text: true })) as { content: string; format: string }
    expect(text.format).toBe('text')
    expect(text.content).toContain('one\ntwo')
    expect(text.content).not.toMatch(/[*|`]|alert|<[a-z]/)
    expect(await fetched(sends('text/html', page), { as_markdown: false })).toMatchObject({
      format: 'html',
      content: page,
    })
    expect(await fetched(sends('text/html', page), { as_markdown: true, as_text: true })).toMatchObject({
      failure: { code: 'invalid_arguments' },
    })
  })

  test('a short page without a main element is shown whole', async () => {
    expect(await fetched(sends('text/html', '<p>One.</p><p>Two.</p>'))).toMatchObject({ content: 'One.\n\nTwo.' })
  })

  test.each([
    ['application/json', '{"a":[1,2]}', 'json'],
    ['application/problem+json; charset=utf-8', '{}', 'json'],
    ['text/plain', 'plain', 'text'],
    ['text/csv', 'a,b\n1,2\n', 'text'],
    ['application/xml', '<a/>', 'text'],
    ['image/svg+xml', '<svg/>', 'text'],
    [undefined, 'said nothing', 'text'],
    ['application/octet-stream', 'is text all the same', 'text'],
    ['nonsense', 'is text all the same', 'text'],
  ])('%s is returned unchanged', async (type, body, format) => {
    expect(await fetched(sends(type, body))).toMatchObject({ content: body, format, size_bytes: body.length })
  })

  test('text that is too long as JSON is truncated and marked', async () => {
    const value = (await fetched(sends('text/plain', '"'.repeat(4_900_000)))) as { content: string }
    expect(value).toMatchObject({ truncated: true, size_bytes: 4_900_000 })
    expect(value.content.length).toBeGreaterThan(1_000_000)
  })

  test('content without a type is HTML if it looks like it, but text/plain is not', async () => {
    expect(await fetched(sends(undefined, `  <!DOCTYPE html><p>Hello</p>`))).toMatchObject({
      format: 'markdown',
      content: 'Hello',
    })
    expect(await fetched(sends('text/plain', '<html><p>Hello</p>'))).toMatchObject({
      format: 'text',
      content: '<html><p>Hello</p>',
    })
  })

  test.each([
    ['text/html; charset=iso-8859-1', Buffer.from('<p>grüße</p>', 'latin1'), 'grüße'],
    ['text/html', Buffer.from('<meta charset="windows-1252"><p>grüße</p>', 'latin1'), 'grüße'],
    ['text/html; charset=nobody-knows', Buffer.from('<p>grüße</p>'), 'grüße'],
    ['text/plain; charset="shift_jis"', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
    ['text/plain', Buffer.from('\uFEFFgrüße', 'utf16le'), 'grüße'],
    ['text/plain; charset=utf-16le', Buffer.from('grüße', 'utf16le'), 'grüße'],
    ['text/plain', Buffer.from([0x61, 0xff, 0x62]), 'a\uFFFDb'],
  ])('the charset of %s is detected', async (type, body, content) => {
    expect(await fetched(sends(type, body))).toMatchObject({ content })
  })

  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  )

  test.each([
    ['image/png', png, 'image', 'image/png'],
    ['application/octet-stream', png, 'image', 'image/png'],
    ['image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex'), 'image', 'image/jpeg'],
    ['text/html', Buffer.from('%PDF-1.7\n…'), 'pdf', 'application/pdf'],
  ])('%s is detected by its first bytes and returned as an attachment', async (type, body, format, mediaType) => {
    const { fetch, server, runtime } = await world(sends(type, body))
    const outcome = await fetch({ url: `${server.url}/a/../pics/logo.bin` })
    expect(outcome).toMatchObject({ status: 'success', value: { format, content_type: mediaType, truncated: false } })
    const { attachment } = (outcome as unknown as { value: { attachment: never } }).value
    expect(Buffer.from(await runtime.session('web').attachments.read(attachment))).toEqual(body)
    expect(attachment).toMatchObject({ ref: { mediaType, name: 'logo.bin' } })
    expect(JSON.stringify((outcome as unknown as { parts: unknown }).parts)).not.toContain('iVBOR')
  })

  test.each([
    ['application/zip', Buffer.from('PK\u0003\u0004\u0000')],
    ['video/mp4', Buffer.from('whatever')],
    ['text/html', Buffer.from([1, 0, 2, 0])],
    ['image/tiff', Buffer.from('II*')],
    [undefined, Buffer.from([0xc3, 0x28, 0xff, 0xff, 0xff, 0xff, 0x41])],
  ])('%s that a model cannot read fails and names the type', async (type, body) => {
    expect(await fetched(sends(type, body))).toMatchObject({
      failure: {
        code: 'content_unsupported',
        class: 'execution',
        message: expect.stringContaining(type ?? 'application/octet-stream'),
      },
    })
  })

  test('an HTTP error status is a value with the content of the response', async () => {
    expect(
      await fetched(
        (_, response) => void response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page'),
      ),
    ).toMatchObject({ status: 404, content: 'no such page' })
    expect(await fetched((_, response) => void response.writeHead(204).end())).toMatchObject({
      status: 204,
      content: '',
      size_bytes: 0,
    })
  })

  test('HEAD returns type and size', async () => {
    const methods: unknown[] = []
    const value = await fetched(
      (request, response) => {
        methods.push(request.method)
        response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': '123456789', etag: '"x"' }).end()
      },
      { method: 'HEAD' },
    )
    expect(value).toMatchObject({
      status: 200,
      content_type: 'video/mp4',
      size_bytes: 123_456_789,
      format: 'none',
      etag: '"x"',
    })
    expect(value).not.toHaveProperty('content')
    expect(methods).toEqual(['HEAD'])
  })

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['GZIP, identity', gzipSync],
    ['gzip, br', (text: string) => brotliCompressSync(gzipSync(text))],
  ] as const)('content encoded as %s is decoded', async (coding, pack) => {
    expect(await fetched(sends('text/plain', pack('unpacked'), { 'content-encoding': coding }))).toMatchObject({
      content: 'unpacked',
      size_bytes: 8,
    })
  })

  test('an empty encoded body is empty', async () => {
    expect(await fetched(sends('text/plain', '', { 'content-encoding': 'gzip' }))).toMatchObject({ content: '' })
  })

  test('redirects are followed without cookies, referrer or authorization', async () => {
    const seen: string[] = []
    const answer: RequestListener = (request, response) => {
      seen.push(
        `${request.url} ${request.headers.cookie ?? '-'} ${request.headers.referer ?? '-'} ${request.headers.authorization ?? '-'}`,
      )
      const at = Number(request.url?.slice(1))
      if (at > 0)
        response
          .writeHead([301, 302, 303, 307, 308][at % 5] as number, { location: `/${at - 1}#x`, 'set-cookie': 'a=b' })
          .end()
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('there')
    }
    const { fetch, server } = await world(answer)
    expect(await fetch({ url: `${server.url}/5` })).toMatchObject({
      value: { content: 'there', url: `${server.url}/5`, final_url: `${server.url}/0` },
    })
    expect(seen).toEqual([5, 4, 3, 2, 1, 0].map((at) => `/${at} - - -`))
    expect(await fetch({ url: `${server.url}/6` })).toMatchObject({
      failure: { code: 'redirect_refused', message: expect.stringContaining('more than 5') },
    })
  })

  test('the request has a user agent and no other identifying headers', async () => {
    let headers: unknown
    await fetched((request, response) => {
      headers = request.headers
      response.end('ok')
    })
    expect(Object.keys(headers as object).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ])
  })
})

describe('BOX-4: timeouts', () => {
  const begins = (response: ServerResponse, type: string): void =>
    void response.writeHead(200, { 'content-type': type }).write('the beginning')

  test('text that does not end in time is returned up to the timeout and marked', async () => {
    for (const [type, format] of [
      ['text/plain', 'text'],
      ['text/html', 'markdown'],
    ] as const) {
      const { fetch, server, clock } = await world((_, response) => begins(response, type))
      const outcome = fetch({ url: server.url })
      await come(server, clock)
      await clock.advance('30s')
      expect(await outcome).toMatchObject({
        value: { format, truncated: true, content: 'the beginning\n\n[..more content timed out...]' },
      })
    }
  })

  test('an image that does not end in time fails', async () => {
    const { fetch, server, clock } = await world(
      (_, response) =>
        void response.writeHead(200, { 'content-type': 'image/png' }).write(Buffer.from('89504e470d0a1a0a', 'hex')),
    )
    const outcome = fetch({ url: server.url })
    await come(server, clock)
    await clock.advance('30s')
    expect(await outcome).toMatchObject({ failure: { code: 'fetch_timeout', class: 'timeout' } })
  })

  test('a server that does not respond times out after 10 seconds', async () => {
    const { fetch, server, clock } = await world(() => {})
    const outcome = fetch({ url: server.url })
    await come(server, clock)
    await clock.advance('10s')
    expect(await outcome).toMatchObject({
      failure: { code: 'fetch_timeout', message: 'Request timed out: server did not respond within 10 seconds' },
    })
  })

  test('name resolution times out, and a cancelled request ends at once', async () => {
    const { fetch, clock, server } = await world(() => {}, { lookup: () => new Promise(() => {}) })
    const slow = fetch({ url: `http://slow.example:${server.port}/` })
    await turns()
    await clock.advance('10s')
    expect(await slow).toMatchObject({ failure: { code: 'fetch_timeout' } })
    const cancel = new AbortController()
    const cancelled = fetch({ url: server.url }, { signal: cancel.signal })
    await come(server, clock)
    cancel.abort()
    expect(await cancelled).toMatchObject({ status: 'cancelled' })
    expect(await cancelled).not.toHaveProperty('cancellation.mayStillRun')
  })

  /** Waits until the connection exists and its data has been read; sockets emit no event for that. */
  async function come(server: Server, clock: { pending: number }): Promise<void> {
    while (server.connections === 0) await turns()
    for (let turn = 0; turn < 20 && clock.pending > 0; turn++) await turns()
  }
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
})

describe('BOX-4: pages designed to be slow', () => {
  const hostile: Record<string, string> = {
    '20,000 nested divs': '<div>'.repeat(20_000) + 'x' + '</div>'.repeat(20_000),
    '100,000 links': '<a href="/x">l</a> '.repeat(100_000),
    'a million brackets': '<'.repeat(1_000_000),
    'attributes without end': `<a ${'x="'.repeat(300_000)}`,
    'nested quotes': '<blockquote>'.repeat(2_000) + 'x<br>'.repeat(50_000),
    'nested lists': '<ul><li>'.repeat(100_000),
  }
  test.each(Object.keys(hostile))(
    '%s: an answer is returned and the event loop is not blocked',
    { timeout: 60_000 },
    async (name) => {
      const server = await httpServer(sends('text/html', hostile[name] as string))
      // The conversion deadline uses the real clock here.
      const runtime = await createRuntime({
        store: 'memory:',
        tools: webTools({ ports: [server.port], trusted: ['127.0.0.1'], allowAddress: () => true }),
      })
      open.push(server, runtime)
      const pauses = watchEventLoop()
      const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'web_fetch', input: { url: server.url } }])
      const longest = pauses.stop()
      expect(outcome).toMatchObject({ status: 'success' })
      if (name === 'nested quotes')
        expect(outcome).toMatchObject({
          value: { format: 'text', note: expect.stringContaining('could not be converted') },
        })
      expect(longest).toBeLessThan(1_000)
    },
  )

  test('without the converter the tags are removed in one pass', () => {
    expect(
      stripTags(
        '<head><title>t</title></head><p>a<b>b</b> &amp; &#228;&#x1F600;&#99999999;</p><!-- <p>no --><script>x<p></script >c<',
      ),
    ).toBe('ab & ä😀&#99999999;\nc')
    const begun = performance.now()
    for (const text of Object.values(hostile)) stripTags(text)
    expect(performance.now() - begun).toBeLessThan(5_000)
  })
})

describe('BOX-1 BOX-4: the tool definition', () => {
  const [webFetch] = webTools() as [Tool]

  test('has a title, hints, an output schema, and needs approval unless the host is trusted', () => {
    expect(webFetch).toMatchObject({ title: 'Fetch a web page', hints: { readOnly: true, openWorld: true } })
    expect(webFetch.output?.json).toMatchObject({ type: 'object' })
    const [saving] = webTools({ saveFiles: true }) as [Tool]
    expect(saving.hints.readOnly).toBe(false)
    expect(saving.input.json).toHaveProperty('properties.save_to_file')
    expect(webFetch.input.json).not.toHaveProperty('properties.save_to_file')
    const [trusting] = webTools({ trusted: ['*.example.com'] }) as [Tool]
    const verdict = (url: string): unknown =>
      (trusting.approval as (input: unknown, about: unknown) => unknown)({ url }, {})
    expect(verdict('https://docs.example.com/x')).toBe('allow')
    for (const url of [
      'https://example.com/',
      'https://docs.example.com.evil.org/',
      'https://docs.example.com@evil.org/',
      'ftp://docs.example.com/',
      'nonsense',
    ])
      expect(verdict(url)).toBeUndefined()
  })

  test('narrations show host and path in both languages, never the query', () => {
    const say = (locale: string, phase: 'started' | 'completed'): unknown =>
      webFetch.narrate?.({ url: 'https://user:pass@example.com/orders?token=secret#x' } as never, { phase, locale })
    expect(say('en', 'started')).toBe('Fetching example.com/orders')
    expect(say('de-AT', 'completed')).toBe('example.com/orders abgerufen')
  })

  test('in an unattended session the call is rejected and nothing is fetched', async () => {
    const server = await httpServer(sends('text/plain', 'x'))
    const runtime = await createRuntime({
      store: 'memory:',
      tools: webTools({ ports: [server.port], allowAddress: () => true }),
    })
    open.push(server, runtime)
    const [outcome] = await runtime
      .session('s', { attended: false })
      .run([{ id: 'a', name: 'web_fetch', input: { url: server.url } }])
    expect(outcome).toMatchObject({ failure: { code: 'approval_required' } })
    expect(server.connections).toBe(0)
  })

  test('save_to_file writes the bytes to a file of the session', async () => {
    const { fetch, server, runtime } = await world(sends('application/zip', Buffer.from([1, 0, 2])), {
      saveFiles: true,
    })
    expect(await fetch({ url: server.url, save_to_file: '/in/a.zip' })).toMatchObject({
      value: { format: 'file', path: '/in/a.zip', size_bytes: 3, content_hash: expect.stringMatching(/^sha256:/) },
    })
    expect([...(await runtime.session('web').files.read('/in/a.zip')).bytes]).toEqual([1, 0, 2])
    expect(codeOf(await fetch({ url: server.url, save_to_file: '/.background/x' }))).toBe('file_readonly')
    expect(codeOf(await fetch({ url: server.url, save_to_file: '/x', method: 'HEAD' }))).toBe('invalid_arguments')
  })

  test('host lists: deny takes precedence, and a star matches subdomains', async () => {
    const options = {
      allow: ['*.example.com', 'exact.org'],
      deny: ['no.example.com', '*.no.example.com'],
      lookup: async () => ['127.0.0.1'],
    }
    const { fetch, server } = await world(sends('text/plain', 'ok'), options)
    const at = async (host: string): Promise<string> => codeOf(await fetch({ url: `http://${host}:${server.port}/` }))
    for (const host of ['a.example.com', 'a.b.example.com', 'A.EXAMPLE.com', 'a.example.com.', 'exact.org'])
      expect(await at(host), host).toBe('success')
    for (const host of [
      'example.com',
      'no.example.com',
      'no.example.com.',
      'x.no.example.com',
      'sub.exact.org',
      'notexample.com',
      '127.0.0.1',
    ])
      expect(await at(host), host).toBe('url_blocked')
  })

  test.each([
    [{ allow: ['http://example.com'] }],
    [{ deny: ['exa mple.com'] }],
    [{ trusted: ['*example.com'] }],
    [{ allow: ['example.com:80'] }],
    [{ allow: ['example.com/path'] }],
    [{ ports: [0] }],
    [{ limits: { bytes: 0 } }],
    [{ limits: { total: 'soon' as never } }],
    [{ limits: { redirects: -1 } }],
    [{ userAgent: 'a\r\nb' }],
  ] satisfies [WebOptions][])('invalid options are rejected: %j', (options) => {
    expect(() => webTools(options)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })

  test('refused connections and non-HTTP servers fail with a specific message', async () => {
    const { fetch, server } = await world((request) => void request.socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    expect(await fetch({ url: server.url })).toMatchObject({ failure: { code: 'response_broken', class: 'external' } })
    const gone = await httpServer(() => {})
    await gone.close()
    const other = await fetcher({
      ports: [gone.port],
      allowAddress: () => true,
      lookup: () => Promise.reject(new Error('NXDOMAIN')),
    })
    open.push(other)
    expect(await other.fetch({ url: gone.url })).toMatchObject({
      failure: {
        code: 'connect_failed',
        class: 'unavailable',
        message: 'Failed to connect to server: it refused the connection',
      },
    })
    expect(await other.fetch({ url: `http://no.example:${gone.port}` })).toMatchObject({
      failure: { code: 'connect_failed', message: 'Failed to connect to server: its name is not known' },
    })
    expect(
      await other.fetch({ url: `https://127.0.0.1:${server.port}`.replace(String(server.port), String(gone.port)) }),
    ).toMatchObject({
      failure: { code: 'connect_failed' },
    })
  })
})

test('importing the tools does not load the converter', () => {
  const code = `import { registerHooks } from 'node:module'
    const seen = []
    registerHooks({ resolve: (name, about, next) => (seen.push(name), next(name, about)) })
    await import('./src/toolbox/web/web.ts')
    process.exit(seen.length > 5 && !seen.some((name) => name.includes('mdream')) ? 0 : 1)`
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: join(import.meta.dirname, '../../..'),
  })
  expect(status).toBe(0)
})
