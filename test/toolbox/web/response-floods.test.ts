// Servers that send much framing and little content. Each limit is tested at its exact count: the last allowed piece
// passes, and one more is refused although the server then falls silent and the clock never moves.

import type { Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Outcome } from '../../../src/core/outcome.ts'
import { maxInterimResponses, maxOverheadBytes, maxTinyPieces } from '../../../src/toolbox/web/flood-limits.ts'
import { codeOf, fetcher, plainServer, plainTlsServer } from './loopback-servers.ts'
import { cert } from './self-signed-certificate.ts'

const trusted = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...trusted, cert]))
afterAll(() => setDefaultCACertificates(trusted))

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

type Answer = (socket: Socket) => unknown
type Scheme = 'http' | 'https'

/** Fetches from a raw server that answers the first bytes of the request. */
async function fetchFrom(scheme: Scheme, answer: Answer): Promise<Outcome> {
  const serve = (socket: Socket): void => {
    socket.setNoDelay(true).on('error', () => {})
    socket.once('data', () => answer(socket))
  }
  const server = await (scheme === 'http' ? plainServer(serve) : plainTlsServer(serve))
  const made = await fetcher({
    ports: [server.port],
    allowAddress: () => true,
    lookup: async () => ['127.0.0.1'],
  })
  open.push(server, made)
  return made.fetch({ url: `${scheme}://tls.example:${server.port}/` })
}

const messageOf = (outcome: Outcome): string => (outcome.status === 'failure' ? outcome.failure.message : '')
/** Writes the same text until the client closes the connection. */
function endlessly(text: string): Answer {
  return (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(text, 'latin1'));
    }
    socket.on('drain', more)
    more()
  }
}
const after =
  (first: string, then: Answer): Answer =>
  (socket) => {
    socket.write(first)
    then(socket)
  }

const ok = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`
const gzipped = `${ok}content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n`
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const lastChunk = '0\r\n\r\n'
/** The most pieces of one byte: each adds a 64th to what is allowed. */
const maxOneBytePieces = Math.floor((maxTinyPieces * 64) / 63)

describe.each<Scheme>(['http', 'https'])('BOX-4: floods over %s', (scheme) => {
  test.each(['100 Continue', '102 Processing', '103 Early Hints'])(
    `BOX-4: ${maxInterimResponses} interim responses %s are read, one more is refused`,
    async (status) => {
      const interim = `HTTP/1.1 ${status}\r\nlink: </a.css>\r\n\r\n`
      const allowed = interim.repeat(maxInterimResponses)
      const answer = `${ok}content-length: 4\r\n\r\nhere`
      expect(await fetchFrom(scheme, (socket) => socket.write(allowed + answer))).toMatchObject({
        value: { content: 'here' },
      })
      const refused = await fetchFrom(scheme, (socket) => socket.write(allowed + interim))
      expect(refused).toMatchObject({ failure: { code: 'response_flood', class: 'resource_limit' } })
      expect(messageOf(refused)).toContain(`more than ${maxInterimResponses} interim responses`)
    },
  )

  test(`BOX-4: ${maxOneBytePieces} chunks of one byte are read, one more is refused`, async () => {
    const chunks = chunked + chunk('x').repeat(maxOneBytePieces)
    expect(await fetchFrom(scheme, (socket) => socket.write(chunks + lastChunk))).toMatchObject({
      value: { size_bytes: maxOneBytePieces },
    })
    const refused = await fetchFrom(scheme, (socket) => socket.write(chunks + chunk('x')))
    expect([codeOf(refused), messageOf(refused)]).toEqual([
      'response_flood',
      expect.stringContaining(`more than ${maxTinyPieces} tiny chunks`),
    ])
  })

  test('BOX-4: any number of chunks of 64 bytes is read', async () => {
    const body = chunk('x'.repeat(64)).repeat(2 * maxTinyPieces)
    expect(await fetchFrom(scheme, (socket) => socket.write(chunked + body + lastChunk))).toMatchObject({
      value: { size_bytes: 128 * maxTinyPieces },
    })
  })

  test.each<[string, Answer]>([
    ['interim responses', endlessly('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100))],
    ['chunks of one byte', after(chunked, endlessly(chunk('x').repeat(100)))],
    [
      'compressed chunks of one byte',
      after(gzipped, endlessly(gzipSync('x').toString('latin1').split('').map(chunk).join(''))),
    ],
    ['zeros before a chunk size', after(chunked, endlessly('0'.repeat(1000)))],
    ['extensions of many chunks', after(chunked, endlessly(`1;${'e'.repeat(500)}\r\nx\r\n`))],
  ])('BOX-4: endless %s are refused while the server still sends', async (_, answer) => {
    expect(codeOf(await fetchFrom(scheme, answer))).toBe('response_flood')
  })

  test.each<[string, Answer]>([
    ['a chunk extension', after(`${chunked}1;`, endlessly('a=b;'.repeat(250)))],
    ['trailers', after(`${chunked}${chunk('x')}0\r\n`, endlessly(`t: ${'t'.repeat(500)}\r\n`))],
    ['headers', after(ok, endlessly(`h: ${'h'.repeat(500)}\r\n`))],
    ['one header', after(`${ok}h: `, endlessly('h'.repeat(1000)))],
  ])('BOX-4: endless bytes in %s are refused', async (_, answer) => {
    expect(codeOf(await fetchFrom(scheme, answer))).toBe('response_broken')
  })

  test('BOX-4: bytes outside the body are refused above their limit', async () => {
    const framing = chunked.length + `4\r\n\r\n${lastChunk}`.length
    // Four bytes of body allow four more of framing.
    const zeros = '0'.repeat(maxOverheadBytes + 4 - framing)
    const allowed = `${chunked}${zeros}4\r\nhere\r\n${lastChunk}`
    expect(await fetchFrom(scheme, (socket) => socket.write(allowed))).toMatchObject({ value: { content: 'here' } })
    const refused = await fetchFrom(scheme, (socket) => socket.write(`${chunked}000${zeros}4\r\nhere\r\n0\r\n`))
    expect([codeOf(refused), messageOf(refused)]).toEqual([
      'response_flood',
      expect.stringContaining(`more than ${maxOverheadBytes} bytes outside the body`),
    ])
  })
})

test('BOX-4: headers in TLS records of one byte are refused after 10,158 records', async () => {
  let sent = 0
  const refused = await fetchFrom('https', (socket) => {
    const head = `${ok}h: ${'h'.repeat(2 * maxTinyPieces)}`
    // One record per write: the next byte is written when the previous record has been.
    const next = (): void => {
      if (sent < head.length && !socket.destroyed) socket.write(head.charAt(sent++), next)
    }
    next()
  })
  expect([codeOf(refused), messageOf(refused)]).toEqual([
    'response_flood',
    expect.stringContaining(`more than ${maxTinyPieces} tiny packets`),
  ])
  expect(sent).toBeGreaterThan(maxOneBytePieces)
})
