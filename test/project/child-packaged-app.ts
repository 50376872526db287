// A small application that package.test.ts runs from the packed package and from bundles: a turn that is killed and
// resumed on SQLite, a memory store, and every helper thread that needs no server.

import { appendFileSync, readFileSync } from 'node:fs'
import { subscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { toolbox } from 'pawl/toolbox'

const [folder = '', kill] = process.argv.slice(2)
const ledger = join(folder, 'ledger.txt')
const threads = { answered: 0, failed: [] as string[] }
subscribe('worker_threads', (message) => {
  const { worker } = message as { worker: Worker }
  worker.once('message', () => threads.answered++).on('error', (error) => threads.failed.push(String(error)))
})

const order = tool({
  name: 'order',
  description: 'Order something',
  input: { type: 'object', properties: { id: { type: 'string', pattern: String.raw`^A\d+$` } }, required: ['id'] },
  onCrash: 'rerun',
  async execute(_input, ctx) {
    await ctx.step('charge', () => appendFileSync(ledger, 'charge '))
    if (kill) process.kill(process.pid, 'SIGKILL')
    await ctx.step('mail', () => appendFileSync(ledger, 'mail '))
    setTimeout(() => {
      throw new Error('stray')
    })
    void Promise.reject(new Error('stray'))
    return 'ordered'
  },
})
const model = scriptedModel([{ call: { name: 'order', input: { id: 'A1' } } }, 'Ordered.'])
const strays: string[] = []
const logger = { debug() {}, info() {}, warn() {}, error: (text: string) => void strays.push(text) }

const server = createServer((_request, response) =>
  response.setHeader('content-type', 'text/html').end('<title>Page</title><main><h1>Hello</h1> <b>there</b></main>'),
)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo

const memory = await createRuntime({ store: 'memory:', logger })
await memory.close()
const runtime = await createRuntime({
  store: `sqlite:${join(folder, 'app.db')}`,
  tools: [
    order,
    ...toolbox.files(),
    ...toolbox.web({ ports: [port], trusted: ['127.0.0.1'], allowAddress: () => true }),
  ],
  models: [model],
  lease: '5s',
  output: { tokens: 1000 },
  logger,
})
const session = runtime.session('s')
const turn = await session.turn({ id: 'm1', model, message: 'Order A1' }).outcome
await session.files.write('notes.txt', 'one\ntwo\n')
const [grep] = await session.run([{ id: 'g', name: 'grep_files', input: { pattern: 'tw.' } }], { batch: 'b1' })
const [page] = await session.run([{ id: 'w', name: 'web_fetch', input: { url: `http://127.0.0.1:${port}/` } }])
const shown = JSON.stringify(page)
// The thread of the store starts some time after the runtime.
while (threads.answered < 3 && threads.failed.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
await runtime.close()
server.close()
console.log(
  JSON.stringify({
    turn: turn.status === 'success' ? turn.value.text : turn,
    ledger: readFileSync(ledger, 'utf8'),
    grep: grep?.status === 'success' ? (grep.value as { total_matches: number }).total_matches : grep,
    page: shown.includes('# Hello') && shown.includes('**there**') ? 'markdown' : page,
    strays: strays.length,
    threads,
  }),
)
