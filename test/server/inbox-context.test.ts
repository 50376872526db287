// What the decision page shows beside the request: what led to it, why it asks, and earlier decisions.

import { createRuntime, type InboxItem, type Runtime, tool } from 'pawl'
import { createServer, type Server } from 'pawl/server'
import { scriptedModel } from 'pawl/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const refund = tool({
  name: 'refund',
  description: 'Sends money back',
  input: z.object({ order: z.string(), cents: z.number() }),
  hints: { destructive: true },
  execute: ({ cents }) => ({ refunded: cents }),
})
const settle = tool({
  name: 'settle',
  description: 'Refunds an order by another tool',
  input: z.object({ order: z.string() }),
  onCrash: 'rerun',
  execute: ({ order }, ctx) => ctx.call(refund, { order, cents: 7 }),
})
const color = tool({
  name: 'color',
  description: 'Asks for a secret',
  input: z.object({}),
  onCrash: 'rerun',
  execute: async (_, ctx) => {
    await (
      await ctx.ask({ text: 'The password?', secret: true })
    ).value
    return 'done'
  },
})

const token = (tenant: string): string => `${tenant}-viewer-token-0123456789`
const canary = 'canary-5d1c0a7e'

let runtime: Runtime
let server: Server
beforeEach(async () => {
  const script = [
    { say: 'I refund it.', call: { name: 'refund', input: { order: 'A1', cents: 42 } } },
    'Done.',
    { say: 'I settle it.', call: { name: 'settle', input: { order: 'A2' } } },
    'Done.',
  ]
  runtime = await createRuntime({
    store: 'memory:',
    tools: [refund, settle, color],
    models: [scriptedModel(script)],
    policy: {
      rules: [
        { tool: 'refund', principal: 'user:cem', then: 'ask', reason: 'Cem asks first' },
        { tool: 'settle', then: 'allow' },
      ],
    },
    logger: quiet,
  })
  const tokens = ['acme', 'rival'].map((tenant) => ({
    token: token(tenant),
    roles: ['viewer'] as const,
    tenant,
    principal: `user:${tenant}-viewer`,
  }))
  server = createServer(runtime, { tokens })
})
afterEach(async () => {
  server.close()
  await runtime.close({ grace: 0 })
})

const chat = (id = 'chat') => runtime.session(id, { tenant: 'acme', principal: 'user:cem' })

async function contextOf(item: string, tenant = 'acme'): Promise<{ status: number; text: string; body: unknown }> {
  const response = await server.fetch(
    new Request(`http://localhost/v1/inbox/${item}/context`, { headers: { authorization: `Bearer ${token(tenant)}` } }),
  )
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text) as unknown }
}

const waiting = (known: readonly string[] = []): Promise<InboxItem> =>
  vi.waitUntil(async () => (await runtime.inbox()).find(({ id }) => !known.includes(id)), {
    interval: 2,
    timeout: 20_000,
  })

/** A refund that a person decides. */
async function decided(order: string, cents: number, decision: object): Promise<void> {
  const outcome = chat('earlier').run([{ id: order, name: 'refund', input: { order, cents } }])
  const { id } = await waiting()
  await runtime.decide(id, { by: 'user:bea', door: 'test', ...decision } as never)
  await outcome
}

test('POL-6: the context has the messages of the turn and the calls above the call', async () => {
  const turn = chat().turn({ model: 'scripted', message: 'Refund order A1' })
  const item = await waiting()
  expect((await contextOf(item.id)).body).toMatchObject({
    above: [{ isTurn: true, session: 'chat' }],
    messages: [
      { message: { role: 'user' } },
      { message: { role: 'assistant', parts: [{ type: 'text', text: 'I refund it.' }, { type: 'call' }] } },
    ],
  })
  await runtime.decide(item.id, { approve: true, by: 'user:bea' })
  await turn.outcome
  // Of a longer conversation, only the end: the second turn.
  const next = chat().turn({ model: 'scripted', message: 'Settle order A2' })
  const nested = await waiting([item.id])
  const { body } = await contextOf(nested.id)
  expect(body).toMatchObject({ above: [{ isTurn: true }, { name: 'settle', isTurn: false }] })
  const { messages } = body as { messages: { message: { role: string }; turn: string }[] }
  expect(messages.map(({ message }) => message.role)).toEqual(['user', 'assistant'])
  expect(JSON.stringify(messages)).toContain('Settle order A2')
  expect(JSON.stringify(messages)).not.toContain('Refund order A1')
  await runtime.decide(nested.id, { approve: true, by: 'user:bea' })
  await next.outcome
})

test('POL-4: the context explains the rule for the principal of the call, not for the reader', async () => {
  ignoreResult(chat().run([{ id: 'a', name: 'refund', input: { order: 'A1', cents: 1 } }]))
  const { id } = await waiting()
  expect((await contextOf(id)).body).toMatchObject({
    above: [],
    messages: [],
    explained: { would: 'ask', votes: expect.arrayContaining([expect.objectContaining({ layer: 0, rule: 0 })]) },
  })
})

test('POL-3: the context has the earlier decisions about the tool, newest first', async () => {
  await decided('A1', 1, { approve: true, reason: 'Known customer' })
  await decided('A2', 2, { edit: { order: 'A2', cents: 1 } })
  await decided('A3', 3, { deny: true, reason: 'Too late' })
  ignoreResult(chat().run([{ id: 'a', name: 'refund', input: { order: 'A4', cents: 4 } }]))
  const { id } = await waiting()
  expect((await contextOf(id)).body).toMatchObject({
    earlier: [
      { verb: 'deny', status: 'failure', votes: [{ by: 'user:bea', door: 'test', reason: 'Too late' }] },
      // The arguments that ran.
      { verb: 'edit', args: { order: 'A2', cents: 1 }, session: 'earlier' },
      { verb: 'approve', args: { order: 'A1', cents: 1 }, votes: [{ reason: 'Known customer' }] },
    ],
  })
})

test('DOOR-1: the context of an item is unknown to other tenants', async () => {
  ignoreResult(chat().run([{ id: 'a', name: 'refund', input: { order: 'A1', cents: 1 } }]))
  const { id } = await waiting()
  expect((await contextOf(id, 'rival')).status).toBe(404)
  expect((await contextOf(id)).status).toBe(200)
})

test('POL-3: calls of another tenant do not crowd out the earlier decisions', async () => {
  await decided('A1', 1, { approve: true })
  const rival = runtime.session('other', { tenant: 'rival', principal: 'user:eve' })
  const many = Array.from({ length: 25 }, (_, n) => ({ id: `r${n}`, name: 'refund', input: { order: 'R', cents: 1 } }))
  await rival.run(many, { until: 'waiting' })
  ignoreResult(chat().run([{ id: 'a', name: 'refund', input: { order: 'A2', cents: 2 } }]))
  const { id } = await vi.waitUntil(async () => (await runtime.inbox({ tenant: 'acme' }))[0], { timeout: 20_000 })
  expect((await contextOf(id)).body).toMatchObject({ earlier: [{ verb: 'approve', args: { order: 'A1' } }] })
})

test('DUR-12: a secret of the session and the answer to a secret question are not in the context', async () => {
  const session = chat('secrets')
  await session.secrets.set('api', canary)
  const asked = session.run([{ id: 'q', name: 'color' }])
  const question = await waiting()
  const answer = await runtime.decide(question.id, {
    answer: `${canary}-answer`,
    by: 'user:bea',
    reason: `Of ${canary}`,
  })
  expect(answer).toMatchObject({ status: 'answered' })
  await asked
  ignoreResult(session.run([{ id: 'q2', name: 'color' }]))
  const { id } = await waiting()
  const { text, body } = await contextOf(id)
  expect(body).toMatchObject({ explained: null, earlier: [{ verb: 'answer' }] })
  expect(text).not.toContain(canary)
})

test('DUR-12: a secret in the reason of a rule is not in the context', async () => {
  const session = chat('reasons')
  await session.secrets.set('reason', 'Cem asks first')
  ignoreResult(session.run([{ id: 'a', name: 'refund', input: { order: 'A1', cents: 1 } }]))
  const { id } = await waiting()
  const { text, body } = await contextOf(id)
  expect(body).toMatchObject({ explained: { would: 'ask' } })
  expect(text).toContain('[redacted]')
  expect(text).not.toContain('Cem asks first')
})
