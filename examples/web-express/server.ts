// A chat server with Express. The page is that of examples/web-chat.
// oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 handles rejected promises
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import express from 'express'
import { createRuntime, type Session, tool } from 'pawl'
import { chatResponse, resumeChatResponse } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'

const refund = tool({
  name: 'refund',
  description: 'Refund the order',
  input: { type: 'object' },
  hints: { destructive: true }, // asks a person first
  execute: () => 'Paid 42 €',
})
// A script needs no key. A real model is aiModel(openai('gpt-5')), with aiModel from 'pawl/ai-sdk'.
const model = scriptedModel([
  { when: 'Refund', say: 'I refund it.', call: { name: 'refund' } },
  { when: '', say: 'Done.' },
])
const runtime = await createRuntime({ store: 'sqlite:chat.db', tools: [refund], models: [model], wake: true })

const user = 'user:ada' // the signed-in person: ask your authentication in each request
const sessionOf = (id: string): Session => runtime.session(`${user}:${id}`, { principal: user })

/** Sends a web response. If the client disconnects, the stream is cancelled and the turn goes on. */
async function send(response: Response, res: express.Response): Promise<void> {
  res.status(response.status).setHeaders(response.headers)
  if (response.body) await pipeline(Readable.fromWeb(response.body), res).catch(() => res.destroy())
  else res.end()
}

const app = express()
app.post('/api/chat', express.json({ limit: '1mb' }), async (req, res) => {
  const request = req.body as { id: string }
  const session = sessionOf(request.id)
  await send(await chatResponse({ runtime, session, request, by: user, turn: { model } }), res)
})
app.get('/api/chat/:id', async (req, res) => {
  res.json(await sessionOf(req.params.id).turns.uiMessages())
})
app.get('/api/chat/:id/stream', async (req, res) => {
  await send(await resumeChatResponse(sessionOf(req.params.id)), res)
})
app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
