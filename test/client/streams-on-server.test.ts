// Event streams of the client on a real server: cursors that do not work, revoked tokens and slow consumers.

import { createRuntime, type Runtime } from 'pawl'
import { type Client, createClient, type StreamEvent } from 'pawl/client'
import { type RunningServer, startServer } from 'pawl/server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { quiet } from '../kit/stores/fresh-store.ts'
import { failure } from './fake-server.ts'

let runtime: Runtime
let server: RunningServer
let client: Client
beforeEach(async () => {
  runtime = await createRuntime({ store: 'memory:', logger: quiet })
  server = await startServer({ runtime, port: 0, grace: 0, heartbeat: '20ms' })
  client = createClient({ url: server.url, token: server.token ?? '' })
})
afterEach(() => server.close())

const setKeys = async (count: number, from = 0): Promise<void> => {
  for (let n = from; n < from + count; n++) await runtime.session('s').values.set(`k${n}`, n)
}

async function take(stream: AsyncIterable<StreamEvent>, count: number): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of stream) if (events.push(event) === count) break
  return events
}

test('FEED-1: a cursor that does not work gives a reset, then everything from the beginning', async () => {
  await setKeys(2)
  const events = await take(client.sessions.events({ session: 's', after: 'p-not-a-cursor' }), 3)
  expect(events).toMatchObject([
    { type: 'reset', reset: true, code: 'cursor_invalid' },
    { type: 'value.changed', seq: 1 },
    { type: 'value.changed', seq: 2 },
  ])
})

test('FEED-1: a cursor of an earlier stream continues it', async () => {
  await setKeys(3)
  const [, second] = await take(client.sessions.events({ session: 's' }), 2)
  const after = second && 'cursor' in second ? second.cursor : expect.unreachable()
  expect(await take(client.sessions.events({ session: 's', after }), 1)).toMatchObject([{ seq: 3 }])
})

test('DOOR-1: a revoked token ends its streams with an error', async () => {
  const { id, token } = await client.tokens.create({ name: 'viewer', roles: ['viewer'] })
  const viewer = createClient({ url: server.url, token })
  const events = viewer.sessions.events({ session: 'quiet' })[Symbol.asyncIterator]()
  const failed = failure(events.next())
  await client.tokens.revoke({ token: id })
  expect(await failed).toMatchObject({ code: 'unauthorized', status: 401 })
})

test('FEED-1: a consumer that pauses gets every event afterwards', async () => {
  await setKeys(1)
  const events = client.sessions.events({ session: 's' })[Symbol.asyncIterator]()
  await events.next()
  await setKeys(2_000, 1)
  for (let seq = 2; seq <= 2_001; seq++) expect((await events.next()).value).toMatchObject({ seq })
  await events.return?.()
})
