import { createRuntime } from 'pawl'
import { toolbox } from 'pawl/toolbox'
import { afterEach, expect, test, vi } from 'vitest'
import { runSearch } from '../../src/toolbox/files/search-in-thread.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { webTools } from '../../src/toolbox/web/web.ts'
import { httpServer } from './web/loopback-servers.ts'
import { threads } from './thread-counter.ts'
import { type Faults, faulty, quiet } from '../kit/stores/fresh-store.ts'

vi.mock('node:worker_threads', async () => (await import('./thread-counter.ts')).countedThreads())

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  threads.none = false
  for (const each of opened.splice(0)) await each.close()
})

const question = {
  pattern: 'a',
  files: [{ path: '/f', text: 'a\n' }],
  before: 0,
  after: 0,
  offset: 0,
  limit: 10,
  maxBytes: 1000,
}
const wanted = (): AbortSignal => new AbortController().signal

test('BOX-3: a search aborted before it starts leaves the thread usable for the next one', async () => {
  await expect(runSearch(question, 800, AbortSignal.abort())).rejects.toThrow()
  expect(await runSearch(question, 800, wanted())).toMatchObject({ total: 1 })
})

test('BOX-3: a search cancelled while it reads files stops, and the next one succeeds', async () => {
  const cancel = new AbortController()
  let reads = 0
  const kept = (): void => void (++reads === 50 && cancel.abort())
  const faults: Faults = { on: {} }
  const runtime = await createRuntime({ store: faulty(memoryStore(), faults), tools: toolbox.files(), logger: quiet })
  opened.push(runtime)
  const session = runtime.session('s')
  for (let nth = 0; nth < 200; nth++) await session.files.write(`f${nth}`, 'needle\n')
  faults.on = { document: kept }
  const [cancelled] = await session.run([{ id: 'a', name: 'grep_files', input: { pattern: 'needle' } }], {
    signal: cancel.signal,
  })
  expect(cancelled).toMatchObject({ status: 'cancelled' })
  expect(cancelled).not.toHaveProperty('cancellation.mayStillRun')
  expect(reads).toBeLessThan(200)
  const [next] = await session.run([{ id: 'b', name: 'grep_files', input: { pattern: 'needle' } }])
  expect(next).toMatchObject({ value: { total_matches: 200 } })
})

test('BOX-3: a search fails while no thread can be started, and later ones succeed', async () => {
  const runtime = await createRuntime({ store: 'memory:', tools: toolbox.files(), logger: quiet })
  opened.push(runtime)
  const session = runtime.session('s')
  await session.files.write('f', 'needle\n')
  const grep = (id: string): unknown => ({ id, name: 'grep_files', input: { pattern: `needle|${id}|(a+)+$` } })
  // Use up the idle threads first: each of them is terminated after its timeout.
  const busy = { ...question, pattern: '(a+)+$', files: [{ path: '/f', text: `${'a'.repeat(60)}b` }] }
  await Promise.all([runSearch(busy, 50, wanted()), runSearch(busy, 50, wanted())])
  await vi.waitFor(() => expect(threads.live).toBe(0))
  threads.none = true
  const failed = await session.run(['a', 'b', 'c', 'd'].map(grep) as never)
  for (const outcome of failed) expect(outcome).toMatchObject({ failure: { code: 'search_unavailable' } })
  threads.none = false
  expect(await session.run([grep('e')] as never)).toMatchObject([{ value: { total_matches: 1 } }])
})

test('BOX-4: 24 pages fetched at once are converted by at most four threads', { timeout: 60_000 }, async () => {
  const server = await httpServer(
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1><p>there</p>'),
  )
  const tools = webTools({ trusted: ['127.0.0.1'], ports: [server.port], allowAddress: () => true })
  const runtime = await createRuntime({ store: 'memory:', tools, logger: quiet })
  opened.push(server, runtime)
  threads.most = threads.live
  const calls = Array.from({ length: 24 }, (_, nth) => ({
    id: `f${nth}`,
    name: 'web_fetch',
    input: { url: `${server.url}/${nth}` },
  }))
  const before = threads.live
  const outcomes = await runtime.session('s').run(calls)
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ value: { format: 'markdown', content: '# Hi\n\nthere' } })
  expect(threads.most - before).toBeLessThanOrEqual(4)
})
