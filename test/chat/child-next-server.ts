// Serves the route handlers of examples/web-next as Next.js would. recipes.test.ts runs it.

import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { GET as list } from '../../examples/web-next/app/api/chat/[id]/route.ts'
import { GET as resume } from '../../examples/web-next/app/api/chat/[id]/stream/route.ts'
import { POST } from '../../examples/web-next/app/api/chat/route.ts'

const app = new Hono()
app.post('/api/chat', (c) => POST(c.req.raw))
app.get('/api/chat/:id', (c) => list(c.req.raw, { params: Promise.resolve(c.req.param()) }))
app.get('/api/chat/:id/stream', (c) => resume(c.req.raw, { params: Promise.resolve(c.req.param()) }))
serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
