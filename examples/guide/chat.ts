// The code of docs/guide/chat.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

process.chdir(mkdtempSync(join(tmpdir(), 'pawl-chat-')))
process.env.PORT = '0'

// #region start
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createRuntime, tool } from 'pawl'
import { chatResponse, resumeChatResponse } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'

const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  hints: { destructive: true }, // asks a person first
  execute: () => 'You get 42 €.',
})
// A script needs no key. A real model is aiModel(openai('gpt-5')), with aiModel from 'pawl/ai-sdk'.
const model = scriptedModel([{ say: 'One moment.', call: { name: 'refund', input: { order: 'A1' } } }, 'It is done.'])
const runtime = await createRuntime({ store: 'sqlite:chat.db', tools: [refund], models: [model], wake: true })

const userOf = (_request: Request) => 'user:ada' // your authentication: a session cookie, a token
const sessionOf = (request: Request, id: string) => {
  const user = userOf(request)
  return runtime.session(`${user}:${id}`, { principal: user }) // users reach only their own chats
}

const app = new Hono()
// A message, or decisions about approvals. The turn is durable before the response begins.
app.post('/api/chat', async (c) => {
  const request = await c.req.json()
  const session = sessionOf(c.req.raw, request.id)
  return chatResponse({ runtime, session, request, by: userOf(c.req.raw), turn: { model, instructions: 'Be brief.' } })
})
// The recorded messages, for a page that loads.
app.get('/api/chat/:id', async (c) => c.json(await sessionOf(c.req.raw, c.req.param('id')).turns.uiMessages()))
// The open turn, for a page that was reloaded.
app.get('/api/chat/:id/stream', (c) => resumeChatResponse(sessionOf(c.req.raw, c.req.param('id'))))
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' })
// #endregion

if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`
const post = async (messages: unknown): Promise<string> =>
  (await fetch(url, { method: 'POST', body: JSON.stringify({ id: 'c1', messages }) })).text()
await post([{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Refund order A1' }] }])
const recorded = (await (await fetch(`${url}/c1`)).json()) as { parts: { state?: string; approval?: object }[] }[]
for (const part of recorded.at(-1)?.parts ?? [])
  if (part.approval)
    Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved: true } })
assert.match(await post(recorded), /"delta":"It is done\."|"delta":"It "/)
assert.equal((await fetch(`${url}/c1/stream`)).status, 204)

const session = runtime.session('other')
const other = scriptedModel(['Hello there.', 'Hello again.'], { name: 'other' })
let page = ''

// #region events
const stop = new AbortController()
const shown = session.turn({ model: other, message: 'Hello' })
for await (const event of session.events({ live: true, signal: stop.signal })) {
  if (event.type === 'turn.delta' && event.body.type === 'text') page += event.body.delta
  if (event.type === 'turn.retracted') page = '' // the answer was cut off and is requested again
  if (event.type === 'turn.ended' && event.body.turn === shown.id) stop.abort()
}
// #endregion
assert.equal(page, 'Hello there.')

await runtime.close()
server.close()
