import { createRuntime } from 'pawl'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RequestListener } from 'node:http'
import { webTools } from '../../../src/toolbox/web/web.ts'
import type { Json } from '../../../src/core/tool-value.ts'
import { type Fetcher, fetcher, httpServer, type Server } from './loopback-servers.ts'

let server: Server
let web: Fetcher
let answer: RequestListener = () => {}
beforeAll(async () => {
  server = await httpServer((request, response) => answer(request, response))
  web = await fetcher({ ports: [server.port], saveFiles: true, allowAddress: (address) => address === '127.0.0.1' })
})
afterAll(async () => {
  await web.close()
  await server.close()
})

interface Said {
  readonly status?: number
  readonly type?: string
  readonly location?: string
  readonly body?: string | Buffer
}

/** The value or the failure of a fetch with the given response. */
async function got(
  { status = 200, type, location, body = '' }: Said,
  input: { [key: string]: Json } = {},
): Promise<unknown> {
  const headers = {
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(location === undefined ? {} : { location }),
  }
  answer = (_, response) => void response.writeHead(status, headers).end(body)
  const outcome = await web.fetch({ url: server.url, ...input })
  return outcome.status === 'success' ? outcome.value : outcome.status === 'failure' ? outcome.failure : outcome
}

describe('BOX-4: HTTP errors as values', () => {
  test.each([
    [404, 'application/zip', 'PK'],
    [500, 'application/octet-stream', Buffer.from([0, 1])],
    [403, 'video/mp4', 'x'],
    [204, 'application/zip', ''],
    [304, 'application/zip', ''],
  ])('%i with %s content that cannot be shown has its status and a note', async (status, type, body) => {
    expect(await got({ status, type, body })).toMatchObject({
      status,
      format: 'none',
      truncated: false,
      note: expect.stringContaining(type),
    })
  })

  test('an error response does not overwrite the file given in save_to_file', async () => {
    const { files } = web.runtime.session('web')
    await files.write('data.csv', 'a,b\n')
    expect(
      await got({ status: 404, type: 'text/plain', body: 'no such thing' }, { save_to_file: 'data.csv' }),
    ).toMatchObject({
      status: 404,
      format: 'text',
      content: 'no such thing',
      note: 'Nothing was saved: the status is 404',
    })
    expect((await files.read('data.csv')).text).toBe('a,b\n')
    expect(await got({ type: 'text/csv', body: 'c,d\n' }, { save_to_file: 'data.csv' })).toMatchObject({
      format: 'file',
    })
    expect((await files.read('data.csv')).text).toBe('c,d\n')
  })
})

test('BOX-2: file errors have the same codes as in the file tools', async () => {
  const saved = (path: string): Promise<unknown> => got({ body: 'x' }, { save_to_file: path })
  await web.runtime.session('web').files.write('d/f', '')
  expect(await saved('/.background/x')).toMatchObject({ code: 'file_readonly', class: 'permission_denied' })
  expect(await saved('a\\b')).toMatchObject({ code: 'file_path_invalid', class: 'invalid_request' })
  expect(await saved('d')).toMatchObject({ code: 'file_is_directory', class: 'execution' })
})

test('VAL-5: an image too large for providers is only described, whatever the fetch limit', async () => {
  const large = await fetcher({ ports: [server.port], limits: { bytes: 20_000_000 }, allowAddress: () => true })
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(5 * 1024 * 1024)])
  answer = (_, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(png)
  const outcome = await large.fetch({ url: server.url })
  expect(outcome).toMatchObject({
    value: { format: 'image', size_bytes: png.length, note: expect.stringContaining('is not shown') },
  })
  expect(outcome).not.toHaveProperty('value.attachment')
  await large.close()
})

describe('BOX-4: text encodings', () => {
  const latin = (text: string): Buffer => Buffer.from(text, 'latin1')
  test.each([
    ['text/html', '<head><meta charset="utf-16"></head><p>Hello</p>', 'Hello'],
    ['text/html', latin('<head><meta charset="x-user-defined"></head><p>caf\u00e9</p>'), 'caf\u00e9'],
    ['application/xml', latin('<?xml version="1.0" encoding="ISO-8859-1"?><a>Gr\u00fc\u00dfe</a>'), 'Gr\u00fc\u00dfe'],
    [
      'application/rss+xml',
      latin("<?xml version='1.0' encoding='windows-1252'?><a>Gr\u00fc\u00dfe</a>"),
      'Gr\u00fc\u00dfe',
    ],
    ['text/xml; charset=utf-8', '<?xml version="1.0" encoding="ISO-8859-1"?><a>Gr\u00fc\u00dfe</a>', 'Gr\u00fc\u00dfe'],
    ['text/xml', '<?xml version="1.0" encoding="UTF-16"?><a>Gr\u00fc\u00dfe</a>', 'Gr\u00fc\u00dfe'],
  ])('%s is decoded by its declared charset', async (type, body, text) => {
    expect(await got({ type, body })).toMatchObject({ content: expect.stringContaining(text) })
  })

  test('a text that starts with the GIF signature is text', async () => {
    expect(await got({ type: 'text/plain', body: 'GIF89a is how pictures begin' })).toMatchObject({ format: 'text' })
  })

  test('text cut by the timeout ends at a character boundary', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
      response.write(Buffer.from('gr\u00fc\u00df').subarray(0, 5))
    }
    const asked = web.fetch({ url: server.url })
    let isOver = false
    void asked.then(() => (isOver = true))
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve))
      // Advance only when the first bytes have arrived and the last timer is the one for the body.
      if (web.clock.pending === 1) await web.clock.advance('30s')
    }
    expect(await asked).toMatchObject({
      value: { truncated: true, content: 'gr\u00fc\n\n[..more content timed out...]' },
    })
  })
})

describe('BOX-4: messages about URLs', () => {
  test('an unreadable URL with a valid scheme is not reported as a wrong scheme', async () => {
    for (const url of ['http://exa mple.com/', 'http://', 'https://[::1', 'http://a:99999/'])
      expect(await got({}, { url })).toMatchObject({
        code: 'url_invalid',
        message: expect.not.stringContaining('must start with'),
      })
    expect(await got({}, { url: 'ftp://example.com/' })).toMatchObject({
      message: 'Invalid URL: must start with http:// or https://',
    })
  })

  test('a rejected redirect is reported as an error of the server', async () => {
    const to = (location: string): Promise<unknown> => got({ status: 302, location })
    const message = expect.stringMatching(/^Not followed: the server redirects to another address\. /)
    expect(await to('ftp://127.0.0.1/')).toMatchObject({ code: 'redirect_refused', class: 'external', message })
    expect(await to('http://user:pass@127.0.0.1/')).toMatchObject({
      code: 'redirect_refused',
      class: 'external',
      message,
    })
    expect(await to('http://127.0.0.1:22/')).toMatchObject({ code: 'url_blocked', class: 'permission_denied', message })
    expect(await to(`http://10.0.0.1:${server.port}/`)).toMatchObject({
      code: 'url_blocked',
      class: 'permission_denied',
      message,
    })
  })

  test('POL-6: the approval preview shows the complete, normalized URL', async () => {
    const runtime = await createRuntime({ store: 'memory:', tools: webTools({ saveFiles: true }) })
    const session = runtime.session('s')
    const shown = async (id: string, url: string, more = {}): Promise<string> => {
      await session.run([{ id, name: 'web_fetch', input: { url, ...more } }], { until: 'waiting' })
      const preview = (await runtime.inbox()).find(({ callId }) => callId === id)?.preview
      return `${preview?.summary}\n${preview?.details ?? ''}`
    }
    expect(await shown('a', `https://example.com/?${'x'.repeat(7_000)}end`)).toContain('xend')
    expect(await shown('b', 'https://good.example\\@evil.example/')).toContain(
      'GET https://good.example/@evil.example/\n',
    )
    expect(await shown('c', 'HTTPS://\u24d4vil.example:443/\t/x')).toContain('GET https://evil.example//x\n')
    const long = `https://example.com/?${'x'.repeat(500)}`
    expect(await shown('d', long, { save_to_file: 'a\nGET https://good.example/' })).toMatch(/ → a\ufffdGET .*$/)
    await runtime.close({ grace: 0 })
  })
})
