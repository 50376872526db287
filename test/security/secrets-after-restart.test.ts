// A session's secrets are redacted by a process in which no body has read them: after a restart, in a process that only
// reads, and in an agent's session.

import {
  createRuntime,
  fail,
  type Logger,
  type Runtime,
  type RuntimeOptions,
  tool,
  type Tool,
  type ToolContext,
} from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { freshMemory } from '../kit/stores/fresh-store.ts'
import { keepOpen } from '../kit/stores/killable-store.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { disk, logged, opened, printed, read } from '../kit/secret-leak-search.ts'

const runtimes = closedAfterEach()
const secret = 'sk-live-4f9a71c2-zz'
const input = { type: 'object' } as const
const leaky = (name: string, execute: Tool['execute'] | (() => unknown), more: object = {}): Tool =>
  tool({ name, description: 'Shows.', input, onCrash: 'rerun', ...more, execute: execute as never })
const show = leaky('show', () => `token=${secret}`)
const breaks = leaky('breaks', () => {
  throw new Error(`with ${secret}`)
})
const fails = leaky('fails', () => {
  throw fail(`with ${secret}`)
})
const asks = leaky('asks', () => 1, { hints: { destructive: true }, preview: () => `with ${secret}` })
const long = leaky('long', (_: unknown, ctx: { output(text: string): void }) => (ctx.output(secret), secret), {
  background: true,
})
const tools = [show, breaks, fails, asks, long]

/** A store in which the secret was set by a process that has ended. */
async function afterRestart(more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  const { store } = disk()
  const first = await opened({ store })
  await first.session('s').secrets.set('key', secret)
  await first.close()
  return opened({ store, tools, ...more })
}

test('DUR-12 BOX-5: after a restart a secret that no body has read does not reach the model', async () => {
  const runtime = await afterRestart()
  const outcomes = await runtime.session('s').run([
    { id: 'a', name: 'show' },
    { id: 'b', name: 'breaks' },
    { id: 'c', name: 'fails' },
  ])
  expect(outcomes.map(({ parts }) => printed(parts)).join()).toContain('token=[redacted]')
  expect(printed(outcomes.map(({ parts }) => parts))).not.toContain(secret)
  expect(printed(outcomes[2])).not.toContain(secret)
  expect(outcomes[0]).toMatchObject({ value: `token=${secret}` })
  expect(printed(logged)).toContain('with [redacted]')
  expect(printed(logged)).not.toContain(secret)
})

test('DUR-12: after a restart inbox items, task notices, summaries and events show no secret', async () => {
  const runtime = await afterRestart()
  const session = runtime.session('s')
  void session.run([{ id: 'a', name: 'asks', input: { key: secret } }]).catch(() => {})
  await session.tasks.start({ tool: 'long' })
  await vi.waitUntil(async () => (await runtime.inbox()).length === 1, { interval: 5, timeout: 10_000 })
  await vi.waitUntil(async () => (await session.notices.list()).length === 1, { interval: 5, timeout: 10_000 })
  const shown = [await runtime.inbox(), await session.notices.list(), (await session.tasks.list())[0]?.summary]
  expect(printed(shown)).toContain('[redacted]')
  const events = await read(runtime.events(), ({ type }) => type === 'call.settled')
  expect(printed([...shown, events, logged])).not.toContain(secret)
})

test('DUR-12: a process that only reads redacts secrets that it never set or used', async () => {
  const { store } = disk()
  const first = await opened({ store, tools })
  const session = first.session('s')
  // Recorded before the secret is known, so only the reader can redact it.
  await session.run([
    { id: 'a', name: 'show' },
    { id: 'b', name: 'fails' },
  ])
  void session.run([{ id: 'c', name: 'asks', input: { key: secret } }]).catch(() => {})
  await session.tasks.start({ tool: 'long', title: secret })
  await vi.waitUntil(async () => (await first.inbox()).length === 1, { interval: 5, timeout: 10_000 })
  await vi.waitUntil(async () => (await session.notices.list()).length === 1, { interval: 5, timeout: 10_000 })
  await session.secrets.set('key', secret)
  await first.close({ grace: 0 })
  const reader = async (): Promise<Runtime> => opened({ store, worker: false })
  const views: Readonly<Record<string, (from: Runtime) => Promise<unknown>>> = {
    inbox: (from) => from.inbox(),
    notices: (from) => from.session('s').notices.list(),
    tasks: async (from) => (await from.session('s').tasks.list()).map(({ title, summary }) => [title, summary]),
    'calls.get': async (from) => (await from.session('s').calls.get('b'))?.outcome,
    'calls.list': async (from) => (await from.session('s').calls.list())[1]?.outcome,
    outputs: async (from) =>
      from.session('s').outputs.read((await from.session('s').calls.get('a'))?.uid ?? '', { limit: 100 }),
    events: (from) => read(from.events(), ({ type }) => type === 'call.settled'),
    'events of the session': (from) => read(from.session('s').events(), ({ type }) => type === 'call.settled'),
    narration: (from) => read(from.events({ narrate: 'en' }), ({ type }) => type === 'call.settled'),
  }
  for (const [name, view] of Object.entries(views)) {
    const shown = printed(await view(await reader()))
    expect([name, shown.includes('[redacted]'), shown.includes(secret)]).toEqual([name, true, false])
  }
})

test('DUR-12: a secret that another process sets later is redacted from results of run()', async () => {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
  const options = { clock, logger, tools, keys: { secret: Buffer.alloc(32, 7) }, store: shared }
  const [works, other] = [await createRuntime(options), await createRuntime({ ...options, worker: false })]
  runtimes.push(works, other)
  const run = async (id: string): Promise<string> =>
    printed((await works.session('s').run([{ id, name: 'show' }]))[0]?.parts)
  expect(await run('a')).toContain(secret)
  await other.session('s').secrets.set('key', secret)
  expect(await run('b')).not.toContain(secret)
})

test('AGENT-1 DUR-12: an agent on another worker redacts the secrets of its parent session', async () => {
  const { store } = disk()
  const first = await opened({ store })
  await first.session('s').secrets.set('key', secret)
  await first.close()
  const model = scriptedModel(['Done.'])
  const delegate = leaky('delegate', async (_: unknown, ctx: ToolContext) => {
    const { status } = await ctx.turn({ model: 'scripted', message: `use ${secret}`, tools: [] })
    return status
  })
  const runtime = await opened({ store, models: [model], tools: [delegate] })
  await runtime.session('s').run([{ id: 'a', name: 'delegate' }])
  await runtime.close()
  const [agent] = model.requests
  expect(printed(agent)).toContain('use [redacted]')
  // The agent's session has no secret of its own, and this process has not seen its parent.
  const reader = await opened({ store, worker: false })
  const events = await read(reader.events(), ({ type }) => type === 'agent.started')
  const { body } = events.at(-1) as { body: { session: string } }
  expect(printed(await reader.session(body.session).messages.list())).not.toContain(secret)
})

test('DUR-12: the secrets of a session are read again after the redactor has dropped some', async () => {
  const runtime = await afterRestart()
  const shown = async (id: string): Promise<string> =>
    printed((await runtime.session('s').run([{ id, name: 'show' }]))[0]?.parts)
  expect(await shown('a')).not.toContain(secret)
  for (let session = 0; session < 6; session++)
    for (let at = 0; at < 7; at++)
      await runtime.session(`t${session}`).secrets.set(`k${at}`, `${session}-${at}-`.repeat(4_000).slice(0, 16_000))
  expect(await shown('b')).not.toContain(secret)
})

test('DUR-12: a session without secrets costs one read per process, not one per call', async () => {
  const { store } = freshMemory()
  let reads = 0
  const counting = {
    ...store,
    nonEmptyCollections: (...given: Parameters<typeof store.nonEmptyCollections>) => {
      if (given[0].includes('secret') && given[0].includes('session-parent')) reads++
      return store.nonEmptyCollections(...given)
    },
  }
  const runtime = await opened({ store: counting, tools })
  for (let at = 0; at < 5; at++) await runtime.session('s').run([{ id: `${at}`, name: 'show' }])
  expect(reads).toBe(1)
})
