// Server-sent events: ids, the position of a reader that starts now, resets, heartbeats, and how streams end.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRuntime, type Runtime, tool } from 'pawl'
import { createServer, type Server } from 'pawl/server'
import { manualClock } from 'pawl/testing'

const token = 'pawl_test_0123456789_abcdefgh'
const note = tool({
  name: 'note',
  description: 'x',
  input: { type: 'object' },
  hints: { readOnly: true },
  execute: () => 1,
})

let runtime: Runtime
let server: Server
const clock = manualClock()
beforeEach(async () => {
  runtime = await createRuntime({ store: 'memory:', tools: [note] })
  const fixed = { token, roles: ['operator'] as const, principal: 'user:ada' }
  server = createServer(runtime, { tokens: [fixed], clock, allowedHosts: ['*'] })
})
afterEach(async () => {
  server.close()
  await runtime.close()
})

const open = (path: string, headers: Record<string, string> = {}, bearer = token): Promise<Response> =>
  server.fetch(new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${bearer}`, ...headers } }))
const run = (id: string): Promise<unknown> => runtime.session('s').run([{ id, name: 'note', input: {} }])

/** Reads until the text contains all of these, or the stream ends. */
async function readUntil(response: Response, ...wanted: string[]): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!wanted.every((each) => text.includes(each))) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value)
  }
  void reader.cancel()
  return text
}

test('DOOR-1 FEED-1: recorded events have their cursor as id, and Last-Event-ID continues after it', async () => {
  await run('a')
  const text = await readUntil(await open('/v1/sessions/s/events'), 'call.settled')
  expect(text).toMatch(/^retry: 2000\n\nid: p1\nevent: call\.received\ndata: \{/)
  const cursor = /id: (p\d+)\nevent: call\.settled/.exec(text)?.[1] as string
  await run('b')
  const rest = await readUntil(await open('/v1/sessions/s/events', { 'last-event-id': cursor }), 'call.settled')
  expect(rest).not.toContain('"callId":"a"')
  expect(rest).toContain('"callId":"b"')
})

test("DOOR-1 FEED-2: a reader from 'now' is sent its position before the first event", async () => {
  await run('a')
  const response = await open('/v1/sessions/s/events?after=now')
  const first = await readUntil(response, '\n\n')
  const position = /^retry: 2000\nid: (p\d+)\n\n$/.exec(first)?.[1] as string
  await run('b')
  const text = await readUntil(await open('/v1/sessions/s/events', { 'last-event-id': position }), 'call.settled')
  expect(text).not.toContain('"callId":"a"')
  expect(text).toContain('"callId":"b"')
})

test('DOOR-1 FEED-1: a cursor that does not work gives a reset, and the events follow from the beginning', async () => {
  await run('a')
  for (const cursor of ['garbage', 'p999999']) {
    const response = await open('/v1/sessions/s/events', { 'last-event-id': cursor })
    expect(response.status).toBe(200)
    const text = await readUntil(response, 'call.settled')
    expect(text).toContain('id\nevent: reset\ndata: {"code":"cursor_invalid"')
    expect(text).toContain('"callId":"a"')
  }
})

test('DOOR-1: an idle stream sends a heartbeat', async () => {
  const response = await open('/v1/sessions/quiet/events')
  const text = readUntil(response, ': heartbeat')
  const advance = (async () => {
    for (let round = 0; round < 1_000; round++) {
      await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(1_000)
    }
  })()
  expect(await text).toBe('retry: 2000\n\n: heartbeat\n\n')
  await advance
})

test('DOOR-1: a revoked token ends its streams within one heartbeat', async () => {
  const { token: stored, id } = await runtime.tokens.create({ name: 'viewer', roles: ['viewer'] })
  const response = await open('/v1/sessions/s/events', {}, stored)
  const ended = readUntil(response, 'never')
  await runtime.tokens.revoke(id, { by: 'user:ada' })
  await clock.advance('15s')
  expect(await ended).toContain('event: bye\ndata: {"code":"unauthorized"')
})

test('DOOR-1: a server that closes says goodbye to streams and refuses new requests', async () => {
  const ended = readUntil(await open('/v1/events'), 'never')
  server.close()
  expect(await ended).toContain('event: bye\ndata: {"code":"server_closing"')
  const refused = await open('/v1/inbox')
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ code: 'server_closing' })
  expect((await open('/readyz')).status).toBe(503)
  expect((await open('/healthz')).status).toBe(200)
})
