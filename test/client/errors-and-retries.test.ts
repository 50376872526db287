// The errors of the client's methods, when they repeat a request, and how they end.

import { createClient, PawlHttpError } from 'pawl/client'
import { describe, expect, test } from 'vitest'
import { advanceUntil } from '../kit/wait-until.ts'
import { type Answer, failure, fakeServer, json, problem, secretToken } from './fake-server.ts'

const down: Answer = () => {
  throw new TypeError(`fetch failed for ${secretToken}`)
}
/** Fails in this way so often, then answers. */
const after =
  (times: number, fails: Answer): Answer =>
  (sent, index) =>
    index < times ? fails(sent, index) : json({ fine: true })
const busy =
  (status: number, retryAfter?: string): Answer =>
  () =>
    problem(status, { code: 'too_many_requests' }, retryAfter === undefined ? {} : { 'retry-after': retryAfter })

const get = { session: 's', call: 'c' }

describe('errors', () => {
  test('DOOR-1: a problem becomes an error with its code, sentence, facts and request id', async () => {
    const facts = { code: 'request_invalid', detail: 'Say more.', requestId: 'r1', problems: [{ path: 'a' }] }
    const { client } = fakeServer(() => problem(400, facts))
    const error = await failure(client.calls.get(get))
    expect(error).toBeInstanceOf(PawlHttpError)
    expect(error).toMatchObject({
      name: 'PawlHttpError',
      message: 'Say more.',
      code: 'request_invalid',
      status: 400,
      requestId: 'r1',
      details: { problems: [{ path: 'a' }] },
    })
  })

  test.for([
    [new Response('<html>', { status: 404 }), 'response_invalid', 'but not by a Pawl server'],
    [new Response('', { status: 502 }), 'unavailable', 'was answered with status 502. Try again in a moment.'],
    [new Response('<html>', { status: 200 }), 'response_invalid', 'was not answered with JSON'],
    [
      new Response('{', { status: 500, headers: { 'content-type': 'application/problem+json' } }),
      'response_invalid',
      '500',
    ],
  ] as const)('DOOR-1: a response that is not from a Pawl server is named: %#', async ([response, code, words]) => {
    const { client } = fakeServer(() => response.clone())
    const error = (await failure(client.tools.list())) as PawlHttpError
    expect(error).toMatchObject({ code, status: response.status })
    expect(error.message).toContain('GET http://pawl.test/base/v1/tools')
    expect(error.message).toContain(words)
  })

  test('DOOR-1: a network failure names the URL and never the token', async () => {
    const { client } = fakeServer(down, { retries: 0 })
    const error = (await failure(client.triggers.emit({ event: 'e', key: 'k' }))) as PawlHttpError
    expect(error).toMatchObject({ code: 'unavailable', status: 0 })
    expect(error.message).toBe(
      'No answer to POST http://pawl.test/base/v1/emit. Check that the server runs and can be reached. ' +
        'It is not known whether the server has received the request.',
    )
    expect(error.message).not.toContain(secretToken)
  })

  test('DOOR-1: a real connection that is refused is a network failure', async () => {
    const client = createClient({ url: 'http://127.0.0.1:9', token: secretToken, retries: 0 })
    expect(await failure(client.tools.list())).toMatchObject({ code: 'unavailable', status: 0 })
  })

  test.for([
    ['already_decided', 409],
    ['refused', 403],
    ['invalid', 400],
    ['unknown', 404],
    ['already_resolved', 409],
    ['unknown_or_revoked', 404],
  ] as const)('DOOR-1: the answer %s is returned, not thrown', async ([answer, status]) => {
    const { client } = fakeServer(() => problem(status, { code: 'request_conflict', answer: { answer, why: 'so' } }))
    const expected = { answer, why: 'so' }
    expect(await client.inbox.decide({ item: 'i', approve: true })).toEqual(expected)
    expect(await client.waits.resolve({ key: 'k', value: 1 })).toEqual(expected)
    expect(await client.clientCalls.answer({ session: 's', callId: 'c', value: 1 })).toEqual(expected)
    // Other operations have no such answers.
    expect(await failure(client.calls.get(get))).toMatchObject({ code: 'request_conflict' })
  })

  test('DOOR-1: a refused signal is returned; another problem of these operations is thrown', async () => {
    const signal = { session: 's', task: 't', name: 'n' }
    const refused = fakeServer(() =>
      problem(409, { code: 'request_conflict', answer: { accepted: false, why: 'ended' } }),
    )
    expect(await refused.client.tasks.signal(signal)).toEqual({ accepted: false, why: 'ended' })
    const missing = fakeServer(() => problem(404, { code: 'not_found', answer: 'none' }))
    expect(await failure(missing.client.tasks.signal(signal))).toMatchObject({ code: 'not_found' })
  })
})

describe('retries', () => {
  test.for([
    ['a read', (client: ReturnType<typeof fakeServer>['client']) => client.calls.get(get)],
    ['PUT', (client) => client.values.set({ session: 's', key: 'k', value: 1 })],
    ['DELETE', (client) => client.values.delete({ session: 's', key: 'k' })],
    ['a call with a key', (client) => client.calls.run({ session: 's', name: 'n', idempotencyKey: 'k' })],
    ['a named task', (client) => client.tasks.start({ session: 's', tool: 't', id: 'i' })],
  ] as [string, (client: ReturnType<typeof fakeServer>['client']) => Promise<unknown>][])(
    'DOOR-1: %s is sent again after network errors and refusals',
    async ([, send]) => {
      for (const fails of [down, busy(503), busy(429, '1')]) {
        const { client, sent, clock } = fakeServer(after(2, fails))
        const result = send(client)
        await advanceUntil(clock, () => sent.length === 3)
        expect(await result).toEqual({ fine: true })
        expect(new Set(sent.map(({ body }) => body)).size).toBe(1)
      }
    },
  )

  test.for([
    [
      'a call without a key',
      (client: ReturnType<typeof fakeServer>['client']) => client.calls.run({ session: 's', name: 'n', id: 'c' }),
    ],
    ['a decision', (client) => client.inbox.decide({ item: 'i', approve: true })],
    ['an answer to a wait', (client) => client.waits.resolve({ key: 'k', value: 1 })],
  ] as [string, (client: ReturnType<typeof fakeServer>['client']) => Promise<unknown>][])(
    'DOOR-1: %s is never sent again',
    async ([, send]) => {
      for (const fails of [down, busy(503), busy(429)]) {
        const { client, sent } = fakeServer(after(1, fails))
        expect(await failure(send(client))).toBeInstanceOf(PawlHttpError)
        expect(sent).toHaveLength(1)
      }
    },
  )

  test('DOOR-1: a conditional write whose answer was lost is not repeated, one that was refused is', async () => {
    const lost = fakeServer(after(1, down))
    const write = { session: 's', key: 'k', value: 1, ifRevision: 3 }
    expect(await failure(lost.client.values.set(write))).toMatchObject({ code: 'unavailable' })
    const refused = fakeServer(after(1, busy(503)))
    const result = refused.client.values.set(write)
    await advanceUntil(refused.clock, () => refused.sent.length === 2)
    expect(await result).toEqual({ fine: true })
  })

  test('DOOR-1: the number of retries is bounded, and other errors are not retried', async () => {
    const { client, sent, clock } = fakeServer(down, { retries: 3 })
    const failed = failure(client.tools.list())
    await advanceUntil(clock, () => sent.length === 4)
    expect(await failed).toMatchObject({ code: 'unavailable' })
    expect(clock.pending).toBe(0)
    const broken = fakeServer(() => problem(500, { code: 'internal' }))
    expect(await failure(broken.client.tools.list())).toMatchObject({ code: 'internal' })
    expect(broken.sent).toHaveLength(1)
  })

  test('DOOR-1: Retry-After is honoured as seconds and as a date, and not if it is too long', async () => {
    const times: number[] = []
    const { client, sent, clock } = fakeServer((_sent, index) => {
      times.push(clock.now())
      const date = new Date(clock.now() + 20_000).toUTCString()
      return index === 2
        ? json({ fine: true })
        : problem(429, { code: 'x' }, { 'retry-after': index === 0 ? '5' : date })
    })
    const result = client.tools.list()
    await advanceUntil(clock, () => sent.length === 3)
    expect(await result).toEqual({ fine: true })
    expect([(times[1] ?? 0) - (times[0] ?? 0), (times[2] ?? 0) - (times[1] ?? 0)]).toEqual([5_000, 20_000])
    const long = fakeServer(busy(429, '3600'))
    expect(await failure(long.client.tools.list())).toMatchObject({ status: 429 })
    expect(long.sent).toHaveLength(1)
  })
})

/** Answers only when the request is aborted. */
const never: Answer = ({ init }) =>
  new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error)))

describe('the end of a request', () => {
  test('DOOR-1: `timeout` limits a method, retries included', async () => {
    const { client, clock } = fakeServer(never, { timeout: '5s' })
    const failed = failure(client.tools.list())
    await clock.advance('5s')
    expect(await failed).toMatchObject({
      code: 'timeout',
      message: 'GET http://pawl.test/base/v1/tools took longer than 5000 ms. What it started may go on.',
    })
    const retrying = fakeServer(busy(503, '4'), { timeout: '5s' })
    const late = failure(retrying.client.tools.list())
    await retrying.clock.advance('5s')
    expect(await late).toMatchObject({ code: 'timeout' })
    expect(retrying.sent).toHaveLength(2)
    expect(retrying.clock.pending).toBe(0)
  })

  test('DOOR-1: the signal ends a request and its retries with its own reason', async () => {
    const reason = new Error('The user left.')
    const waiting = fakeServer(never)
    const stop = new AbortController()
    const failed = failure(waiting.client.tools.list({}, { signal: stop.signal }))
    stop.abort(reason)
    expect(await failed).toBe(reason)
    expect(await failure(waiting.client.tools.list({}, { signal: stop.signal }))).toBe(reason)
    expect(waiting.sent).toHaveLength(1)

    const again = new AbortController()
    const retrying = fakeServer(down)
    const ended = failure(retrying.client.tools.list({}, { signal: again.signal }))
    await retrying.clock.advance(0)
    again.abort(reason)
    expect(await ended).toBe(reason)
    expect(retrying.clock.pending).toBe(0)
  })

  test('DOOR-1: a connection that breaks within a JSON body is a network failure', async () => {
    const { client, sent, clock } = fakeServer(
      after(1, () => new Response(new ReadableStream({ start: (body) => body.error(new Error('reset')) }))),
    )
    const result = client.tools.list()
    await advanceUntil(clock, () => sent.length === 2)
    expect(await result).toEqual({ fine: true })
  })
})
