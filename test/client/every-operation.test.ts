// Every operation of the route table through the client, over HTTP, on a real runtime. Each result must match the
// schema of its route.

import { type Attachment, createRuntime, type Runtime, tool } from 'pawl'
import { type Client, createClient, PawlHttpError } from 'pawl/client'
import { type RunningServer, startServer } from 'pawl/server'
import { scriptedModel } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { endpoints, type OperationName } from '../../src/server/endpoints.ts'
import type { Route } from '../../src/server/routes/route.ts'
import { routes } from '../../src/server/routes/routes.ts'
import { Changing, changed, mail } from '../kit/changing-provider.ts'
import { argumentTool, rerunTask, rerunTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { failure } from './fake-server.ts'

const session = 's'
const text = { type: 'object', properties: { text: { type: 'string' } } } as const

/** Keys of waits that bodies have announced. */
const keys: string[] = []
const provider = new Changing([mail()])
const tools = [
  argumentTool('echo', text, { background: true }, (input) => input),
  rerunTool('pay', { hints: { destructive: true } }, () => 'paid'),
  tool({ name: 'photo', description: 'd', input: text, client: true }),
  rerunTool('job', async (_, ctx) => {
    const later = await ctx.later({ name: 'done' })
    keys.push(later.key)
    return later
  }),
  rerunTool('look', (_, ctx) => ctx.attachments.create(new Uint8Array([1, 2, 3]), { mediaType: 'image/png' })),
  rerunTask('patient', (_, ctx) => new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', reject))),
]

let runtime: Runtime
let server: RunningServer
let client: Client
const called = new Set<string>()

/** Notes which operations were called, and checks results against the route table. */
function checked(real: Client): Client {
  const wrap = (name: OperationName, method: (...args: unknown[]) => unknown) => {
    const route: Route = routes[name]
    if (route.kind === 'events') return (...args: unknown[]) => (called.add(name), method(...args))
    return async (...args: unknown[]) => {
      called.add(name)
      const result = await method(...args)
      if (result instanceof Response) expect(['chat', 'download']).toContain(route.kind)
      else expect(route.output.safeParse(result), name).toMatchObject({ success: true })
      return result
    }
  }
  return Object.fromEntries(
    Object.entries(real).map(([group, methods]) => [
      group,
      Object.fromEntries(
        Object.entries(methods).map(([method, call]) => [
          method,
          wrap(`${group}.${method}` as OperationName, call as never),
        ]),
      ),
    ]),
  ) as unknown as Client
}

beforeEach(async () => {
  runtime = await createRuntime({
    store: 'memory:',
    tools,
    providers: [provider],
    models: [scriptedModel(['Hello there.', 'Again.', 'More.', 'And more.'])],
    policy: {
      rules: [
        { tool: 'pay', then: 'ask' },
        { tool: '*', then: 'allow' },
      ],
    },
    logger: quiet,
  })
  server = await startServer({ runtime, port: 0, grace: 0, turn: { model: 'scripted' } })
  client = checked(createClient({ url: server.url, token: server.token ?? '', retries: 0 }))
})
afterEach(() => server.close())

const until = <T>(get: () => Promise<T>): Promise<NonNullable<T>> =>
  vi.waitUntil(get, { interval: 2, timeout: 10_000 }) as Promise<NonNullable<T>>

describe('every operation', () => {
  test('DOOR-1: tools, sessions and what the token allows', async () => {
    expect((await client.tools.list()).map(({ name }) => name)).toContain('echo')
    expect(await client.tools.get({ tool: 'echo' })).toMatchObject({ name: 'echo' })
    await client.calls.run({ session, name: 'echo', input: {} })
    expect(await client.sessions.list()).toMatchObject([{ session }])
    expect(await client.sessions.get({ session })).toMatchObject({ openTurn: null, inbox: 0 })
    expect(await client.me.get()).toMatchObject({ principal: 'user:local', allTenants: true })
    expect(await client.health.get()).toMatchObject({ findings: [] })
    await client.workers.list()
    expect(await client.policy.explain({ session, tool: 'pay' })).toMatchObject({ would: 'ask' })
    expect(await client.policy.rules()).toMatchObject([{ layer: 0, index: 0, rule: { then: 'ask' } }, { index: 1 }])
  })

  test('DOOR-1: calls, batches and their results', async () => {
    const done = await client.calls.run({ session, id: 'c1', name: 'echo', input: { text: 'x'.repeat(100_000) } })
    expect(done).toMatchObject({ status: 'success', callId: 'c1' })
    const [one] = await client.calls.list({ session, tool: 'echo', limit: 5 })
    const call = one?.uid ?? ''
    expect(await client.calls.get({ session, call })).toMatchObject({ callId: 'c1' })
    expect(await client.calls.find({ call })).toMatchObject({ session, tenant: 'default' })
    expect(await client.calls.recent({ session, tool: 'echo', limit: 5 })).toMatchObject({ calls: [{ uid: call }] })
    expect(await client.calls.timeline({ call })).toMatchObject({ rows: [{ uid: call, isOpen: false }], omitted: 0 })
    expect(await client.calls.diagnostics({ call })).toBeNull()
    expect(await client.calls.cancel({ session, call })).toEqual({ answer: 'already_settled' })
    const batch = {
      session,
      batch: 'b',
      calls: [
        { id: 'a', name: 'echo' },
        { id: 'b', name: 'nothing' },
      ],
    }
    const first = await client.batches.run(batch)
    expect(first.outcomes.map(({ status }) => status)).toEqual(['success', 'failure'])
    expect(await client.batches.run(batch)).toEqual(first)
    const [, handle = ''] = /"handle":"([^"]+)"/.exec(JSON.stringify(done).replaceAll('\\', '')) ?? []
    expect(await client.outputs.read({ session, handle, limit: 20 })).toMatchObject({ offset: 0 })
  })

  test('DOOR-1: people decide, connect and answer', async () => {
    const waiting = await client.calls.run({ session, name: 'pay', idempotencyKey: 'k1' })
    expect(waiting).toMatchObject({ status: 'waiting', for: 'approval' })
    const [item] = await client.inbox.list({ session })
    const { id, fingerprint } = item ?? expect.unreachable()
    expect(await client.inbox.get({ item: id })).toEqual(item)
    expect(await client.inbox.context({ item: id })).toMatchObject({ explained: { would: 'ask' }, earlier: [] })
    const decision = { item: id, approve: true, remember: true } as const
    expect(await client.inbox.decide({ ...decision, fingerprint: 'x' })).toMatchObject({ answer: 'refused' })
    expect(await client.inbox.decide({ ...decision, fingerprint })).toMatchObject({ status: 'approved' })
    expect(await client.inbox.decide(decision)).toMatchObject({ answer: 'already_decided' })
    expect(await client.inbox.decided({ item: id })).toMatchObject({ call: item?.call, status: 'approved', session })
    expect(await client.inbox.decide({ item: 'none', deny: true })).toEqual({ answer: 'unknown' })
    const [rule] = await client.rules.list()
    expect(await client.rules.revoke({ rule: rule?.id ?? '', reason: 'enough' })).toEqual({ changed: true })
    expect(await client.connections.set({ provider: 'mailbox', token: 't' })).toEqual({ resumed: 0 })
    expect(await client.connections.list()).toMatchObject([{ provider: 'mailbox' }])
    expect(await client.connections.remove({ provider: 'mailbox' })).toEqual({ changed: true })
    expect((await client.audit.list({ limit: 50 })).events.length).toBeGreaterThan(2)
  })

  test('DOOR-1: waits and client calls are answered', async () => {
    await client.calls.run({ session, name: 'job' })
    const [key = ''] = keys.splice(0)
    expect(await client.waits.resolve({ key, value: 'ready' })).toEqual({ answer: 'accepted' })
    expect(await client.waits.resolve({ key, value: 'again' })).toMatchObject({ answer: 'already_resolved' })
    expect(await client.waits.resolve({ key: 'none', value: 1 })).toEqual({ answer: 'unknown_or_revoked' })
    await client.calls.run({ session, id: 'p', name: 'photo' })
    expect(await client.clientCalls.list({ session })).toMatchObject([{ callId: 'p', name: 'photo' }])
    const answer = { session, callId: 'p', value: 'a photo' }
    expect(await client.clientCalls.answer(answer)).toEqual({ answer: 'accepted' })
    expect(await client.sessions.cancel({ session, reason: 'enough' })).toMatchObject({ cancelled: 0 })
  })

  test('DOOR-1: turns, chats and messages', async () => {
    const started = await client.turns.start({ session, id: 't1', message: 'Hello', until: 'ended' })
    expect(started).toMatchObject({ turn: 't1', status: 'ended', outcome: { status: 'success' } })
    expect(await client.turns.get({ session, turn: 't1', wait: '1s' })).toEqual(started)
    expect(await client.turns.open({ session })).toEqual({ turn: null })
    expect(await (await client.turns.stream({ session, turn: 't1' })).text()).toContain('Hello there.')
    expect(await client.turns.cancel({ session, turn: 't1' })).toEqual({ changed: false })
    const message = { id: 'm2', role: 'user', parts: [{ type: 'text', text: 'Again?' }] }
    expect(await (await client.chat.send({ session, id: 'chat', messages: [message] })).text()).toContain('Again.')
    expect(await client.chat.messages({ session })).toHaveLength(4)
    expect((await client.chat.resume({ session, chat: 'chat' })).status).toBe(204)
    expect(await client.messages.list({ session, limit: 10 })).toHaveLength(4)
    expect(await client.messages.send({ session, message: 'One more', id: 'm3' })).toEqual({ sent: true })
    expect(await client.messages.waiting({ session })).toMatchObject([{ text: 'One more' }])
  })

  test('DOOR-1: tasks and notices', async () => {
    const { id: task } = await client.tasks.start({ session, tool: 'echo', input: { text: 'x' }, id: 'task-1' })
    expect(await client.tasks.get({ session, task, wait: '10s' })).toMatchObject({ state: 'succeeded' })
    expect((await client.tasks.result({ session, task })).result).toContain('x')
    expect(await client.tasks.list({ session })).toHaveLength(1)
    expect(await client.tasks.recent()).toMatchObject({
      tasks: [{ id: task, session, state: 'succeeded' }],
      next: null,
    })
    expect(await client.tasks.events({ session, task })).toEqual([])
    const ids = (await client.notices.list({ session })).map(({ id }) => id)
    expect(await client.notices.acknowledge({ session, ids })).toEqual({ acknowledged: 1 })
    const running = { session, task: (await client.tasks.start({ session, tool: 'patient' })).id }
    await until(async () => (await client.tasks.get(running)).state === 'running')
    expect(await client.tasks.signal({ ...running, name: 'go', key: 'k' })).toMatchObject({ accepted: true })
    await client.tasks.message({ ...running, text: 'Hurry', key: 'm' })
    expect(await client.tasks.messages(running)).toMatchObject([{ text: 'Hurry' }])
    expect(await client.tasks.cancel({ ...running, reason: 'enough' })).toEqual({ changed: true })
    await client.tasks.get({ ...running, wait: '10s' })
    expect(await failure(client.tasks.signal({ ...running, name: 'go' }))).toMatchObject({ status: 409 })
  })

  test('DOOR-1: schedules and triggers', async () => {
    const { id: schedule } = await client.schedules.create({ session, tool: 'echo', cron: '0 8 * * *', id: 'daily' })
    expect(await client.schedules.list({ session })).toHaveLength(1)
    expect(await client.schedules.upcoming()).toMatchObject({ schedules: [{ id: schedule, session }], next: null })
    expect((await client.schedules.get({ session, schedule, count: 3 })).nextTimes).toHaveLength(3)
    await client.schedules.pause({ session, schedule })
    expect(await client.schedules.stopped()).toMatchObject({ schedules: [{ id: schedule, session }], complete: true })
    await client.schedules.resume({ session, schedule })
    expect((await client.schedules.run({ session, schedule })).task).not.toBeNull()
    await client.schedules.history({ session, schedule })
    expect(await client.schedules.cancel({ session, schedule })).toEqual({ changed: true })
    const { id: trigger } = await client.triggers.subscribe({ session, tool: 'echo', event: 'news', id: 'on-news' })
    expect(await client.triggers.list({ session })).toHaveLength(1)
    expect(await client.triggers.get({ session, trigger })).toMatchObject({ event: 'news' })
    await client.triggers.pause({ session, trigger })
    await client.triggers.resume({ session, trigger })
    await client.triggers.emit({ event: 'news', key: 'n1', payload: { text: 'x' } })
    expect(await client.triggers.unsubscribe({ session, trigger })).toEqual({ changed: true })
  })

  test('DOOR-1: files, values, secrets and attachments', async () => {
    const path = 'notes/größe 100%.txt'
    const written = await client.files.write({ session, path, body: 'Grüße', mediaType: 'text/plain', ifHash: null })
    expect(await failure(client.files.write({ session, path, body: '', ifHash: null }))).toBeInstanceOf(PawlHttpError)
    const read = await client.files.read({ session, path })
    expect([await read.text(), read.headers.get('content-type')]).toEqual(['Grüße', 'text/plain'])
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    await client.files.write({ session, path, body: bytes, ...(written.hash ? { ifHash: written.hash } : {}) })
    expect(await (await client.files.read({ session, path })).bytes()).toEqual(bytes)
    expect((await client.files.list({ session, glob: '**/*.txt' })).entries).toHaveLength(1)
    expect(await client.files.remove({ session, path: '/notes', recursive: true })).toEqual({ changed: true })
    const key = 'a/b ?#%'
    await client.values.set({ session, key, value: { deep: [1, 'ü'] } })
    expect(await client.values.get({ session, key })).toMatchObject({ value: { deep: [1, 'ü'] }, revision: 1 })
    expect((await client.values.list({ session, prefix: 'a/' })).entries).toHaveLength(1)
    expect(await client.values.delete({ session, key, ifRevision: 1 })).toEqual({ changed: true })
    await client.secrets.set({ session, name: 'api', value: 'very secret text' })
    expect(await client.secrets.list({ session })).toMatchObject([{ name: 'api' }])
    expect(await client.secrets.delete({ session, name: 'api' })).toEqual({ changed: true })
    const look = await client.calls.run({ session, name: 'look' })
    const { ref } = (look as unknown as { value: Attachment }).value
    const attachment = await client.attachments.read({ attachment: ref.id })
    expect(await attachment.bytes()).toEqual(new Uint8Array([1, 2, 3]))
  })

  test('DOOR-1: events, the export and the store', async () => {
    await client.values.set({ session, key: 'k', value: 1 })
    for (const stream of [client.events.stream(), client.sessions.events({ session })]) {
      for await (const event of stream) {
        expect(event).toMatchObject({ type: 'value.changed', session })
        break
      }
    }
    const lines = await (await client.sessions.export({ session, format: 'jsonl' })).text()
    expect(lines).toContain('value.changed')
    expect(await client.sessions.end({ session })).toEqual({ changed: true })
    expect(await client.sessions.erase({ session, open: 'cancel' })).toMatchObject({ more: false })
    expect(await client.store.prune({ olderThan: '30d' })).toMatchObject({ calls: 0 })
    const { id, token } = await client.tokens.create({ name: 'ci', roles: ['viewer'], expiresIn: '1h' })
    const viewer = createClient({ url: server.url, token, retries: 0 })
    expect(await viewer.me.get()).toMatchObject({ permissions: ['read'], tenant: 'default' })
    expect(await client.tokens.list()).toMatchObject([{ id }])
    expect(await client.tokens.revoke({ token: id })).toEqual({ changed: true })
    expect(await failure(viewer.me.get())).toMatchObject({ code: 'unauthorized', status: 401 })
  })

  test('DOOR-1: quarantined tools are listed and accepted', async () => {
    await client.calls.run({ session, name: 'mail' })
    provider.tools = [mail(changed)]
    const listed = await client.quarantine.list()
    expect(await client.providers.list()).toMatchObject([{ name: 'post', available: true }])
    expect(await client.providers.reconnect({ provider: 'post' })).toEqual({ changed: false })
    const error = await failure(client.quarantine.accept({ provider: 'post', tool: 'none', fingerprint: 'f' }))
    expect(error).toMatchObject({ code: 'quarantine_unknown' })
    expect(listed).toEqual([])
  })

  test('DOOR-1: no operation of the route table is left out', () => {
    expect(Object.keys(endpoints).filter((name) => !called.has(name))).toEqual([])
  })
})

describe('tenants', () => {
  test('DOOR-1: `tenant` selects the tenant of a token for all tenants', async () => {
    const options = { url: server.url, token: server.token ?? '', retries: 0 }
    const [acme, other] = ['acme', 'other & co'].map((tenant) => createClient({ ...options, tenant }))
    await acme?.values.set({ session, key: 'k', value: 'of acme' })
    expect(await other?.me.get()).toMatchObject({ tenant: 'other & co' })
    expect(await failure(other?.values.get({ session, key: 'k' }) ?? Promise.resolve())).toMatchObject({ status: 404 })
    for await (const event of acme?.events.stream() ?? []) {
      expect(event).toMatchObject({ tenant: 'acme' })
      break
    }
  })
})
