// The measured process of http.ts: a runtime on SQLite `power` behind Pawl's server, and a bare hono route beside it.
// `node server-child.ts <file>`.

import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { createRuntime, tool } from 'pawl'
import { startServer } from 'pawl/server'
import { answerQuestions } from './child.ts'
import { input, noop, schema } from '../calls/workload.ts'
import { slice } from './slice.ts'
import { now, type ServerQuestion, type ServerReady } from './protocol.ts'

const [file] = process.argv.slice(2) as [string]

const work = tool({
  name: 'noop',
  description: 'Does nothing',
  input: schema,
  hints: { readOnly: true },
  execute: noop,
})

/** Emits numbered events, recorded and live. */
const emitter = tool({
  name: 'emitter',
  description: 'Emits events',
  input: { type: 'object', properties: { events: { type: 'integer' }, everyMs: { type: 'number' } } },
  background: { events: { tick: { schema: { type: 'object' } } } },
  onCrash: 'stop',
  async execute(given, ctx) {
    const { events, everyMs } = given as { events: number; everyMs: number }
    const from = performance.now()
    for (let n = 0; n < events; n++) {
      await pause(Math.max(0, from + n * everyMs - performance.now()))
      ctx.output(`#${n};`)
      await ctx.emit('tick', { n, sent: now() })
    }
    return { events }
  },
})

const runtime = await createRuntime({ store: `sqlite:${file}`, tools: [work, emitter], commit: 'power' })
const { token } = await runtime.tokens.create({ name: 'bench', roles: ['caller'] })
const limits = { requestsPerSecond: 1e9, streams: 100_000 }
const server = await startServer({ runtime, port: 0, limits })

const app = new Hono()
app.post('/v1/sessions/:session/calls', async (context) => {
  const { name } = await context.req.json<{ name: string }>()
  return context.json({ session: context.req.param('session'), name, status: 'success' })
})
const bare = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false })
await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))

let maxRss = 0
const sample = (): number => {
  const { rss } = process.memoryUsage()
  if (rss > maxRss) maxRss = rss
  return rss
}
setInterval(sample, 20).unref()

let calls = 0
answerQuestions<ServerQuestion>(
  async (question) => {
    if (question.ask === 'library')
      return slice(question.callers, question.ms, async (caller) => {
        const id = `call_${calls++}`
        const [outcome] = await runtime.session(`library-${caller}`).run([{ id, name: 'noop', input }])
        if (outcome?.status !== 'success') throw new Error(JSON.stringify(outcome))
      })
    if (question.ask === 'emit') {
      const from = performance.now()
      const { session, events, everyMs } = question
      const task = await runtime.session(session).tasks.start({ tool: 'emitter', input: { events, everyMs } })
      const ended = await runtime.session(session).tasks.wait(task.id)
      if (ended.state !== 'succeeded') throw new Error(JSON.stringify(ended))
      return { seconds: (performance.now() - from) / 1_000 }
    }
    const { user, system } = process.cpuUsage()
    const rss = sample()
    const usage = { rss, maxRss, heapUsed: process.memoryUsage().heapUsed, cpuMs: (user + system) / 1_000 }
    maxRss = 0
    return usage
  },
  async () => {
    bare.close()
    await server.close()
  },
)
process.send?.({
  url: server.url,
  bareUrl: `http://127.0.0.1:${(bare.address() as AddressInfo).port}`,
  token,
} satisfies ServerReady)
