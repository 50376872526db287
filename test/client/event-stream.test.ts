// Event streams of the client on scripted connections: where they resume, when they reconnect and how they end.

import { PawlHttpError, type StreamEvent } from 'pawl/client'
import { describe, expect, test } from 'vitest'
import { advanceUntil } from '../kit/wait-until.ts'
import { type Answer, failure, fakeServer, json, problem, type Sent } from './fake-server.ts'

/** A connection that a test writes to. */
class Connection {
  readonly response: Response
  readonly sent: Sent
  /** How often the client has asked for bytes. */
  pulls = 0
  isCancelled = false
  #body: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(sent: Sent) {
    this.sent = sent
    const body = new ReadableStream<Uint8Array>(
      {
        start: (body) => void (this.#body = body),
        pull: () => void this.pulls++,
        cancel: () => void (this.isCancelled = true),
      },
      { highWaterMark: 0 },
    )
    sent.init.signal?.addEventListener('abort', () => this.fail())
    this.response = new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }

  get isAborted(): boolean {
    return this.sent.init.signal?.aborted === true
  }

  write(text: string | Uint8Array): void {
    this.#body?.enqueue(typeof text === 'string' ? new TextEncoder().encode(text) : text)
  }

  event(number: number): void {
    this.write(recorded(number))
  }

  end(): void {
    this.#body?.close()
  }

  fail(): void {
    try {
      this.#body?.error(new Error('reset'))
    } catch {
      // It has ended.
    }
  }
}

const recorded = (number: number): string =>
  `id: p${number}\nevent: call.received\ndata: ${JSON.stringify({ type: 'call.received', seq: number, cursor: `p${number}` })}\n\n`

function streamServer(answer: (sent: Sent, index: number) => Response | undefined = () => undefined) {
  const connections: Connection[] = []
  const all: Answer = (sent, index) => {
    const other = answer(sent, index)
    if (other) return other
    const connection = new Connection(sent)
    connections.push(connection)
    return connection.response
  }
  const faked = fakeServer(all)
  const stream = (input: object = { session: 's' }, options: object = {}): AsyncIterator<StreamEvent> =>
    faked.client.sessions.events(input as { session: string }, options)[Symbol.asyncIterator]()
  const connection = async (index: number): Promise<Connection> => {
    await advanceUntil(faked.clock, () => connections.length > index)
    return connections[index] ?? expect.unreachable()
  }
  return { ...faked, connections, stream, connection }
}

const seqOf = async (events: AsyncIterator<StreamEvent>): Promise<unknown> => {
  const { value } = (await events.next()) as { value: { seq?: number; code?: string } | undefined }
  return value?.seq ?? value?.code
}

describe('resuming', () => {
  test('FEED-1: reconnects after the last recorded event, and only with its id', async () => {
    const { stream, connection, sent } = streamServer()
    const events = stream({ session: 's', after: 'p1', live: true })
    const first = seqOf(events)
    const one = await connection(0)
    one.event(2)
    expect(await first).toBe(2)
    one.write('event: turn.delta\ndata: {"type":"turn.delta","live":true,"seq":"live"}\n\n')
    expect(await seqOf(events)).toBe('live')
    const next = seqOf(events)
    one.write('id: p3\nevent: call.received\ndata: {"type"') // cut off in the middle of an event
    one.fail()
    const two = await connection(1)
    two.event(3)
    expect(await next).toBe(3)
    await events.return?.()
    expect(sent.map(({ url, headers }) => [url.search, headers.get('last-event-id')])).toEqual([
      ['?after=p1&live=true', null],
      ['?live=true', 'p2'],
    ])
  })

  test('FEED-1: events that arrived together are all delivered before it reconnects', async () => {
    const { stream, connection } = streamServer()
    const events = stream()
    const first = seqOf(events)
    const one = await connection(0)
    one.write(recorded(1) + recorded(2) + recorded(3))
    expect(await first).toBe(1)
    one.fail()
    expect([await seqOf(events), await seqOf(events)]).toEqual([2, 3])
    const next = seqOf(events)
    const two = await connection(1)
    expect(two.sent.headers.get('last-event-id')).toBe('p3')
    two.event(4)
    expect(await next).toBe(4)
    await events.return?.()
  })

  test("FEED-2: an id without an event moves the position, so that `after: 'now'` survives a disconnect", async () => {
    const { stream, connection } = streamServer()
    const events = stream({ session: 's', after: 'now' })
    const next = seqOf(events)
    const one = await connection(0)
    one.write('id: p7\n\n')
    one.end()
    const two = await connection(1)
    expect([two.sent.url.search, two.sent.headers.get('last-event-id')]).toEqual(['', 'p7'])
    two.event(8)
    expect(await next).toBe(8)
    await events.return?.()
  })

  test.for(['id\n', ''])('FEED-1: a reset (%j) is delivered, and the position is the beginning', async (id) => {
    const { stream, connection } = streamServer()
    const events = stream({ session: 's', after: 'p900' })
    const first = events.next()
    const one = await connection(0)
    one.write(`${id}event: reset\ndata: {"code":"cursor_expired","message":"It is too old."}\n\n`)
    expect(await first).toEqual({ done: false, value: { type: 'reset', reset: true, code: 'cursor_expired' } })
    const next = seqOf(events)
    one.end()
    const two = await connection(1)
    expect([two.sent.url.search, two.sent.headers.get('last-event-id')]).toEqual(['', null])
    two.event(1)
    expect(await next).toBe(1)
    await events.return?.()
  })

  test('FEED-1: bytes of one character may arrive apart', async () => {
    const { stream, connection } = streamServer()
    const events = stream()
    const next = events.next()
    const one = await connection(0)
    const bytes = new TextEncoder().encode('id: p1\ndata: {"type":"x","text":"Grüße 👋"}\n\n')
    for (const byte of bytes) one.write(new Uint8Array([byte]))
    expect((await next).value).toMatchObject({ text: 'Grüße 👋' })
    await events.return?.()
  })
})

describe('reconnecting', () => {
  test('FEED-1: `bye` reconnects, after the time that the server names', async () => {
    const { stream, connection, connections, clock } = streamServer()
    const events = stream()
    const next = seqOf(events)
    const one = await connection(0)
    one.write('retry: 8000\n\nevent: bye\ndata: {"code":"server_closing","message":"Later."}\n\n')
    await clock.advance('3s') // with the least jitter: half of 8 s
    expect([connections.length, one.isAborted]).toEqual([1, true])
    await clock.advance('1s')
    connections[1]?.event(1)
    expect(await next).toBe(1)
    await events.return?.()
  })

  test('FEED-1: 45 seconds without a byte end a connection, and heartbeats keep it', async () => {
    const { stream, connection, connections, clock } = streamServer()
    const events = stream()
    const next = seqOf(events)
    const one = await connection(0)
    for (let n = 0; n < 10; n++) {
      one.write(': heartbeat\n\n')
      await clock.advance('44s')
    }
    expect([connections.length, one.isAborted]).toEqual([1, false])
    await clock.advance('1s')
    expect(one.isAborted).toBe(true)
    const two = await connection(1)
    two.event(1)
    expect(await next).toBe(1)
    await events.return?.()
  })

  test('FEED-1: a consumer may take longer than the server may be silent', async () => {
    const { stream, connection, connections, clock } = streamServer()
    const events = stream()
    const first = seqOf(events)
    const one = await connection(0)
    one.event(1)
    await first
    await clock.advance('1h')
    one.event(2)
    expect([await seqOf(events), connections.length]).toEqual([2, 1])
    await events.return?.()
  })

  test('FEED-1: a connection attempt without an answer is given up after 45 seconds', async () => {
    let asked = 0
    const faked = fakeServer(({ init }) => {
      if (++asked > 1) return new Connection({ init } as Sent).response
      return new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    })
    const events = faked.client.events.stream()[Symbol.asyncIterator]()
    const next = events.next()
    await faked.clock.advance('44s')
    expect(asked).toBe(1)
    await advanceUntil(faked.clock, () => asked === 2)
    await events.return?.()
    expect(await next).toEqual({ done: true, value: undefined })
  })

  test('FEED-1: the pauses grow to 30 seconds and shrink after an event', async () => {
    const times: number[] = []
    const { stream, connection, connections, clock } = streamServer((_, index) => {
      times.push(clock.now())
      return index >= 1 && index <= 8 ? problem(503, { code: 'server_closing' }) : undefined
    })
    const events = stream()
    const next = seqOf(events)
    ;(await connection(0)).end()
    times[0] = clock.now()
    const two = await connection(1)
    expect(times.slice(1).map((at, index) => at - (times[index] as number))).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000,
    ])
    two.event(1)
    expect(await next).toBe(1)
    const last = seqOf(events)
    two.end()
    await clock.advance(500)
    connections[2]?.event(2)
    expect(await last).toBe(2)
    await events.return?.()
  })
})

describe('the end', () => {
  test('FEED-1: `break` aborts the request at once, also while an event is awaited', async () => {
    const { client, stream, connection, clock } = streamServer()
    const reading = (async () => {
      for await (const _ of client.sessions.events({ session: 's' })) break
    })()
    const one = await connection(0)
    one.event(1)
    await reading
    expect(one.isAborted).toBe(true)

    const events = stream()
    const pending = events.next()
    const two = await connection(1)
    await events.return?.()
    expect([await pending, two.isAborted]).toEqual([{ done: true, value: undefined }, true])
    expect(await events.next()).toEqual({ done: true, value: undefined })
    expect(clock.pending).toBe(0)
  })

  test('FEED-1: the signal ends the iteration, also during a pause and before it begins', async () => {
    const { stream, connection, connections, clock } = streamServer()
    const stop = new AbortController()
    const events = stream({ session: 's' }, { signal: stop.signal })
    const next = events.next()
    ;(await connection(0)).end()
    await clock.advance(0)
    stop.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    const late = stream({ session: 's' }, { signal: stop.signal })
    expect(await late.next()).toEqual({ done: true, value: undefined })
    expect([connections.length, clock.pending]).toEqual([1, 0])
  })

  test.for([401, 403, 404])('FEED-1: the status %i ends the iteration, also when it reconnects', async (status) => {
    const refuse = (): Response => problem(status, { code: 'refused', detail: 'No.' })
    const first = streamServer(refuse)
    expect(await failure(first.stream().next())).toMatchObject({ code: 'refused', status, message: 'No.' })
    const later = streamServer((_, index) => (index > 0 ? refuse() : undefined))
    const events = later.stream()
    const failed = failure(events.next())
    ;(await later.connection(0)).end()
    await advanceUntil(later.clock, () => later.sent.length === 2)
    expect(await failed).toBeInstanceOf(PawlHttpError)
    expect(await events.next()).toEqual({ done: true, value: undefined })
    expect(later.clock.pending).toBe(0)
  })

  test('FEED-1: a server that was never reached is reported after the retries', async () => {
    const { client, sent, clock } = fakeServer(() => {
      throw new TypeError('refused')
    })
    const failed = failure(client.events.stream()[Symbol.asyncIterator]().next() as Promise<unknown>)
    await advanceUntil(clock, () => sent.length === 3)
    expect(await failed).toMatchObject({ code: 'unavailable' })
  })

  test('FEED-1: an answer that is no event stream, or an unreadable event, ends the iteration', async () => {
    const page = fakeServer(() => json([]))
    expect(await failure(page.client.events.stream()[Symbol.asyncIterator]().next())).toMatchObject({
      code: 'response_invalid',
    })
    const { stream, connection } = streamServer()
    const failed = failure(stream().next())
    const one = await connection(0)
    one.write('data: {"half\n\n')
    expect(await failed).toMatchObject({ code: 'response_invalid' })
    expect(one.isAborted).toBe(true)
  })

  test('FEED-1: a malformed input is reported by the call, before anything is sent', () => {
    const { client, sent } = streamServer()
    expect(() => client.sessions.events({} as { session: string })).toThrow('`session` of `sessions.events`')
    expect(sent).toEqual([])
  })
})

test('FEED-1: nothing is read ahead of the consumer', async () => {
  const { stream, connection, clock } = streamServer()
  const events = stream()
  const first = seqOf(events)
  const one = await connection(0)
  for (let number = 1; number <= 50; number++) one.event(number)
  await first
  await clock.advance('10s')
  expect(one.pulls).toBe(1)
  expect(await seqOf(events)).toBe(2)
  await events.return?.()
})
