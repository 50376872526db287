// Webhooks out: signed requests to a real server, what counts as taken, which addresses are refused, and that approvals
// reach a person who decides with the link.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import type { Announcement, PersonAnnouncement, Runtime, WaitAnnouncement } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { verifyWebhook } from '../../../src/server/webhooks/verify-webhook.ts'
import { webhook, type WebhookMessage, type WebhookOptions } from '../../../src/server/webhooks/webhook.ts'
import { opening } from '../../kit/open-runtime.ts'
import { simpleTool } from '../../kit/simple-tools.ts'
import { until } from '../../kit/stores/all-stores.ts'

const secret = 'the secret of this webhook'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

interface Received {
  readonly body: string
  readonly headers: IncomingMessage['headers']
  readonly path: string | undefined
}

/** A receiver that answers with `answer`, and the requests it has received. */
async function receiver(
  answer: (response: ServerResponse, count: number) => unknown = (response) => response.end(),
): Promise<{ url: string; received: Received[]; connections: () => number }> {
  const received: Received[] = []
  let connections = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      received.push({ body, headers: request.headers, path: request.url })
      answer(response, received.length)
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, received, connections: () => connections }
}

const announced: WaitAnnouncement = {
  about: 'wait',
  id: 'w1',
  type: 'job',
  payload: { text: 'Grüße ✓' },
  key: 'pawl_key',
  wait: 'later',
  deadline: 1,
  call: 'c',
  callId: 'a',
  session: 's',
  tenant: 'default',
}
const to = (url: string, more: Partial<WebhookOptions> = {}) =>
  webhook({ url, secret, allowPrivateAddresses: true, ...more })
const messageOf = ({ body, headers }: Received): WebhookMessage | undefined => verifyWebhook({ body, headers, secret })

describe('webhook()', () => {
  test('DOOR-5: an announcement is posted with a signature that the receiver can check', async () => {
    const { url, received } = await receiver()
    await to(`${url}/hooks?a=1`, { headers: { authorization: 'Bearer x' } })(announced)
    expect(received).toHaveLength(1)
    const [first] = received as [Received]
    expect(first.path).toBe('/hooks?a=1')
    expect(first.headers).toMatchObject({
      authorization: 'Bearer x',
      'content-type': 'application/json',
      'pawl-id': 'w1',
      'pawl-signature': expect.stringMatching(/^v1=[0-9a-f]{64}$/) as string,
    })
    expect(messageOf(first)).toEqual(announced)
  })

  test.for([300, 304, 400, 401, 404, 410, 429, 500, 503])(
    'DOOR-5: status %i means that the announcement was not taken',
    async (status) => {
      const { url } = await receiver((response) => response.writeHead(status).end())
      await expect(to(url)(announced)).rejects.toThrow(`answered with status ${status}`)
    },
  )

  test.for([301, 302, 307, 308])('DOOR-5: a redirect with status %i is not followed', async (status) => {
    const other = await receiver()
    const { url } = await receiver((response) => response.writeHead(status, { location: other.url }).end())
    await expect(to(url)(announced)).rejects.toThrow(`answered with status ${status}`)
    expect(other.connections()).toBe(0)
  })

  test('DOOR-5: a receiver that is silent, closes or is absent did not take it', async () => {
    const silent = await receiver(() => {})
    await expect(to(silent.url, { timeout: 50 })(announced)).rejects.toThrow('did not answer within 50 ms')
    const closes = await receiver((response) => response.destroy())
    await expect(to(closes.url)(announced)).rejects.toThrow('did not answer as HTTP does')
    const upgrades = await receiver((response) => response.socket?.write('HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n'))
    await expect(to(upgrades.url)(announced)).rejects.toThrow('The webhook at')
    await expect(to('http://127.0.0.1:1')(announced)).rejects.toThrow('Failed to connect')
  })

  test('DOOR-5: the body of the response is not read, so it may be endless', async () => {
    let written = 0
    const ended = Promise.withResolvers<void>()
    const { url } = await receiver((response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) written += 65_536
      }
      response.on('drain', more).on('close', ended.resolve)
      more()
    })
    await to(url)(announced)
    await ended.promise
    expect(written).toBeLessThan(50_000_000)
  })

  test('DOOR-5: addresses of this machine and of private networks are refused without a connection', async () => {
    const { url, connections } = await receiver()
    const { port } = new URL(url)
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433', '0x7f.1']
    for (const host of [...hosts, '10.0.0.1', '192.168.1.1', '169.254.169.254', '[fd00::1]'])
      await expect(to(`http://${host}:${port}`, { allowPrivateAddresses: false })(announced), host).rejects.toThrow(
        'blocked by policy',
      )
    expect(connections()).toBe(0)
  })

  test.for<[Record<string, unknown>, string]>([
    [{ url: 'ftp://example.com/s3cret' }, '`url` is invalid; it must be a URL with http or https'],
    [{ url: 'https://user:s3cret@example.com' }, '`url` is invalid'],
    [{ secret: 's3cret' }, '`secret` is invalid; it must be a string or Uint8Array of at least 16 bytes'],
    [{ timeout: '1m' }, "`timeout` is '1m'; it must be a duration of 1 ms to 25 s"],
    [{ headers: { 'pawl-id': 's3cret' } }, "'pawl-id' is set by the webhook itself"],
    [{ headers: { Host: 's3cret' } }, "'Host' is set by the webhook itself"],
    [{ headers: { 'x y': 's3cret' } }, "'x y' is not the name of a header"],
    [{ headers: { x: 's3cret\r\ny: 1' } }, "the value of 'x' contains characters"],
    [{ headers: { x: 7 } }, "the value of 'x' must be a string"],
    [{ link: { runtime: () => null, baseUrl: 'pawl.example.com', by: 'user:bea' } }, '`link.baseUrl` is'],
    [{ links: {} }, 'did you mean `link`?'],
  ])('TOOL-1: webhook(%j) is refused, and no secret is shown', ([wrong, message]) => {
    const make = () => webhook({ url: 'https://example.com', secret, ...wrong })
    expect(make).toThrow(message)
    expect(make).not.toThrow('s3cret')
  })
})

describe('webhooks of a runtime', () => {
  const opened = opening()
  const policy = { rules: [{ tool: 'wipe', then: 'ask' as const }] }
  const tools = [simpleTool('wipe', () => 'wiped')]

  /** A runtime whose approvals are posted with a link, and the log of what it says. */
  async function posting(url: string, more: Partial<WebhookOptions> = {}) {
    const logged: string[] = []
    const log = (message: string, fields: unknown): void => void logged.push(message, inspect(fields, { depth: 9 }))
    const link = { runtime: (): Runtime => runtime, baseUrl: 'https://pawl.example.com/', by: 'user:bea' }
    const announce = to(url, { link, ...more })
    const logger = { debug: log, info: log, warn: log, error: log }
    const { runtime, clock, store } = await opened({ tools, policy, announce, logger })
    const start = async () => {
      await runtime.session('s').run([{ id: 'a', name: 'wipe', input: {} }], { until: 'waiting' })
      return (await runtime.inbox())[0] as NonNullable<Awaited<ReturnType<Runtime['inbox']>>[number]>
    }
    const isQueued = async () =>
      (await store.unsettled({ after: '', limit: 10 })).some(({ state }) => state === 'queued')
    return { runtime, clock, logged, start, isQueued }
  }

  test('DOOR-5: an approval is posted again after a failure, and its link approves the call once', async () => {
    const { url, received } = await receiver((response, count) => response.writeHead(count < 3 ? 503 : 204).end())
    const { runtime, clock, logged, start, isQueued } = await posting(url)
    const item = await start()
    for (const count of [1, 2]) {
      await until(() => received.length === count)
      await until(isQueued)
      await clock.advance('2s')
    }
    await until(() => received.length === 3)
    const messages = received.map((each) => messageOf(each) as WebhookMessage & PersonAnnouncement)
    expect(messages.map(({ about, id, kind }) => ({ about, id, kind }))).toEqual(
      Array.from({ length: 3 }, () => ({ about: 'person', id: item.id, kind: 'approval' })),
    )
    expect(messages[2]).not.toHaveProperty('key')
    const { decide = '', by } = messages[2]?.links ?? {}
    expect(by).toBe('user:bea')
    expect(decide).toMatch(/^https:\/\/pawl\.example\.com\/decide\/[\w.-]+$/)
    const link = await runtime.links.verify(decide.split('/').at(-1) as string)
    expect(link).toMatchObject({ item: item.id, by: 'user:bea', tenant: 'default', session: 's' })
    const approve = () => runtime.decide(item.id, { approve: true, by: 'user:bea', fingerprint: item.fingerprint })
    expect(await approve()).toMatchObject({ answer: 'accepted' })
    expect(await approve()).toMatchObject({ answer: 'already_decided' })
    expect(logged.join('\n')).not.toContain(secret)
    expect(logged.join('\n')).toContain('answered with status 503')
  })

  test('DOOR-5: a request that is decided while it is delivered again is not posted any more', async () => {
    const { url, received } = await receiver((response) => response.writeHead(500).end())
    const { runtime, clock, start, isQueued } = await posting(url)
    const item = await start()
    await until(() => received.length === 1)
    await until(isQueued)
    await runtime.decide(item.id, { deny: true, by: 'user:bea' })
    await clock.advance('1m')
    await until(async () => !(await isQueued()))
    expect(received).toHaveLength(1)
    // The item was decided between reading and signing.
    const { about, id, tenant } = messageOf(received[0] as Received) as PersonAnnouncement
    const link = { runtime: () => runtime, baseUrl: 'https://pawl.example.com', by: 'user:bea' }
    await to(url, { link })({ about, id, tenant } as Announcement)
    expect(received).toHaveLength(1)
  })

  test('DOOR-5: an announcement of an external wait has its key and no link', async () => {
    const { url, received } = await receiver()
    const { runtime } = await posting(url)
    runtime.tools.add([simpleTool('waits', (_, ctx) => ctx.later({ announce: { type: 'job' } }))])
    await runtime.session('s').run([{ id: 'w', name: 'waits', input: {} }], { until: 'waiting' })
    await until(() => received.length === 1)
    const message = messageOf(received[0] as Received) as WaitAnnouncement
    expect(message).not.toHaveProperty('links')
    expect(await runtime.resolve(message.key, { value: 1 })).toEqual({ answer: 'accepted' })
  })
})
