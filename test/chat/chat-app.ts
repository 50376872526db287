// A chat server as the guide shows it: POST takes messages and decisions, GET streams the open turn and lists messages.
// The signed-in user is in a header, set by the test in place of a session cookie.

import { serve, type ServerType } from '@hono/node-server'
import { Hono } from 'hono'
import type { Runtime } from 'pawl'
import { chatResponse, resumeChatResponse } from 'pawl/ai-sdk'

export function chatApp(runtime: Runtime): Hono {
  const app = new Hono()
  const userOf = (header: string | undefined): string => header ?? 'user:ada'
  app.post('/api/chat', async (c) => {
    const user = userOf(c.req.header('x-user'))
    const request = (await c.req.json()) as { id: string }
    const session = runtime.session(request.id, { principal: user })
    return chatResponse({ runtime, session, request, by: user, turn: { model: 'm' } })
  })
  app.get('/api/chat/:id/stream', (c) => {
    const after = c.req.query('after')
    return resumeChatResponse(runtime.session(c.req.param('id')), after === undefined ? {} : { after })
  })
  app.get('/api/chat/:id', async (c) => c.json(await runtime.session(c.req.param('id')).turns.uiMessages()))
  return app
}

/** Serves on a free port of the loopback interface, or on this port. */
export const serveChat = (runtime: Runtime, port = 0): Promise<{ server: ServerType; url: string }> =>
  new Promise((resolve) => {
    const server = serve({ fetch: chatApp(runtime).fetch, port, hostname: '127.0.0.1' }, (info) =>
      resolve({ server, url: `http://127.0.0.1:${info.port}` }),
    )
  })
