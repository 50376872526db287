// A chat server. `node server.ts` runs everything; `node server.ts web` and `node server.ts worker` split it.
import { serve } from '@hono/node-server'
import { buildSync } from 'esbuild'
import { Hono } from 'hono'
import { type Announce, createRuntime, type Session, tool } from 'pawl'
import { chatResponse, resumeChatResponse } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'

const role = process.argv[2] ?? 'both'
const port = Number(process.env.PORT ?? 3000)
const input = { type: 'object' } as const
const job = { input, onCrash: 'rerun' } as const // after a crash the body runs again
// One asks a person first, one waits for a webhook, one is a background task, whose end starts a turn (`wake`).
const tools = [
  tool({ name: 'refund', description: 'Refund it', input, hints: { destructive: true }, execute: () => 'Paid 42 €' }),
  tool({ name: 'ship', description: 'Ship', ...job, execute: (_, ctx) => ctx.later({ announce: { type: 'ship' } }) }),
  tool({ name: 'report', description: 'Report', ...job, background: true, execute: (_, ctx) => ctx.sleep('2s') }),
]
// A script needs no key. A real model is aiModel(openai('gpt-5')), with aiModel from 'pawl/ai-sdk'.
const model = scriptedModel([
  { when: 'Refund', say: 'I refund it.', call: { name: 'refund' } },
  { when: 'Ship', say: 'I call the carrier.', call: { name: 'ship' } },
  { when: 'Report', say: 'I start it.', call: { name: 'spawn_background', input: { tool: 'report', args: {} } } },
  { when: 'finished: succeeded', say: 'Your report is ready.' },
  { when: '', say: 'Done. Say Refund, Ship or Report.' },
])
// The carrier gets the key of the wait, and calls the webhook with it. (Approvals are announced too, without a key.)
const announce: Announce = (a) => void ('key' in a && console.log(`curl -d '"OK"' localhost:${port}/carrier/${a.key}`))
const worker = role !== 'web'
const runtime = await createRuntime({ store: 'sqlite:chat.db', tools, models: [model], announce, worker, wake: true })
const app = new Hono()
const user = 'user:ada' // the signed-in person: ask your authentication in each request
const sessionOf = (id: string): Session => runtime.session(`${user}:${id}`, { principal: user })
app.post('/api/chat', async (c) => {
  const request = (await c.req.json()) as { id: string }
  return chatResponse({ runtime, session: sessionOf(request.id), request, by: user, turn: { model } })
})
app.get('/api/chat/:id', async (c) => c.json(await sessionOf(c.req.param('id')).turns.uiMessages()))
app.get('/api/chat/:id/stream', (c) => resumeChatResponse(sessionOf(c.req.param('id'))))
app.post('/carrier/:key', async (c) => c.json(await runtime.resolve(c.req.param('key'), { value: await c.req.json() })))
const js = buildSync({ entryPoints: [`${import.meta.dirname}/page.tsx`], bundle: true, write: false, jsx: 'automatic' })
app.get('/page.js', (c) => c.body(js.outputFiles[0]?.text ?? '', 200, { 'content-type': 'text/javascript' }))
app.get('/', (c) => c.html('<!doctype html><title>Chat</title><main></main><script src="/page.js"></script>'))
if (role !== 'worker') serve({ fetch: app.fetch, port, hostname: '127.0.0.1' })
else setInterval(() => {}, 60_000) // a runtime without open calls does not keep its process alive
