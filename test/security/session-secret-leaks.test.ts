// Session secrets and data of sensitive tools: hidden from models and people, encrypted on disk, and also hidden by a
// process that never loaded the secret.

import { type CallOutcome, type Runtime, tool, type Tool, type ToolContext } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { toolbox } from '../../src/toolbox/toolbox.ts'
import { disk, logged, opened, printed, read } from '../kit/secret-leak-search.ts'

const secret = 'sk-live-4f9a71c2-zz'
type Works = (secret: string, ctx: ToolContext) => unknown
const input = { type: 'object' } as const
const works = (run: Works, more: object = {}): Tool => {
  const execute = async (_: unknown, ctx: ToolContext): Promise<unknown> =>
    run((await ctx.secrets.get('key')) as string, ctx)
  return tool({ name: 't', description: 'Works.', input, onCrash: 'rerun', ...more, execute })
}
const idle = (runtime: Runtime): Promise<boolean> =>
  vi.waitUntil(async () => (await runtime.session('s').tasks.list({ state: 'open' })).length === 0, {
    interval: 5,
    timeout: 10_000,
  })

test('SESS-5, DUR-12: a secret in a prompt or instructions of a body does not reach the model', async () => {
  const model = scriptedModel([({ last }) => `I read ${last}`])
  const asks = works(async (key, ctx) => {
    const { text } = await ctx.complete({ prompt: `use ${key}`, instructions: `with ${key}` })
    const turn = await ctx.turn({ model: 'scripted', message: `use ${key}`, instructions: `with ${key}`, tools: [] })
    return [text, turn.status === 'success' ? turn.value.text : turn.status]
  })
  const runtime = await opened({ models: [model], tools: [asks] })
  await runtime.session('s').secrets.set('key', secret)
  const [outcome] = await runtime.session('s').run([{ id: 'a', name: 't' }])
  expect(outcome).toMatchObject({ value: ['I read use [redacted]', 'I read use [redacted]'] })
  expect(model.requests).toHaveLength(2)
  expect(printed(model.requests)).not.toContain(secret)
})

test('SESS-4, DUR-12: a secret in a user message is redacted in a process that never loaded it', async () => {
  const { store } = disk()
  const first = await opened({ store })
  await first.session('s').secrets.set('key', secret)
  await first.session('s').messages.send(`It is ${secret}.`)
  expect(await first.session('s').messages.waiting()).toMatchObject([{ text: 'It is [redacted].' }])
  await first.close()
  const model = scriptedModel(['Thank you.'])
  const second = await opened({ store, models: [model] })
  await second.session('s').turn({ model: 'scripted', message: `Again: ${secret}` }).outcome
  expect(printed(model.requests)).toContain('It is [redacted].')
  expect(printed([model.requests, await second.session('s').messages.list()])).not.toContain(secret)
})

test('BOX-5: a secret revealed to the model is not listed by another process', async () => {
  const { store, holds } = disk()
  const model = scriptedModel([{ call: { name: 'secret_store', input: { operation: 'get', name: 'key' } } }, 'Done.'])
  const options = { store, models: [model], tools: toolbox.secrets({ reveal: true }) }
  const first = await opened(options)
  await first.session('s').secrets.set('key', secret)
  await first.session('s').turn({ model: 'scripted', message: 'Read it' }).outcome
  expect(printed(model.requests)).toContain(secret)
  await first.close()
  expect(holds(secret)).toBe(false)
  const second = await opened(options)
  expect(printed(await second.session('s').messages.list())).toContain('secret_store')
  expect(printed(await second.session('s').messages.list())).not.toContain(secret)
})

test('POL-6, DUR-12: inbox items are stored redacted, so another process shows no secret', async () => {
  const { store } = disk()
  const asks = works(
    async (key, ctx) => (await (await ctx.ask({ text: `Is ${key} right?`, choices: ['yes', 'no'] })).value).answer,
  )
  const sends = tool({
    name: 'send',
    description: 'Sends.',
    input,
    hints: { destructive: true },
    preview: () => `with ${secret}`,
    execute: () => 1,
  })
  const first = await opened({ store, tools: [asks, sends] })
  await first.session('s').secrets.set('key', secret)
  void first
    .session('s')
    .run([
      { id: 'a', name: 't' },
      { id: 'b', name: 'send', input: { key: secret } },
    ])
    .catch(() => {})
  await vi.waitUntil(async () => (await first.inbox()).length === 2, { interval: 5, timeout: 10_000 })
  await first.close({ grace: 0 })
  const second = await opened({ store })
  const items = await second.inbox()
  expect(items.map(({ preview }) => preview.summary).toSorted()).toEqual(['Is [redacted] right?', 'with [redacted]'])
  expect(printed(items)).not.toContain(secret)
})

test('TASK-7, DUR-12: task events contain no secret, on disk or in the feed of another process', async () => {
  const { store, holds } = disk()
  const events = { note: { wake: true }, over: { terminal: 'succeeded' } } as const
  const tells = works(
    async (key, ctx) => {
      await ctx.emit('note', { key })
      await ctx.emit('over', { key })
    },
    { background: { events } },
  )
  const first = await opened({ store, tools: [tells] })
  await first.session('s').secrets.set('key', secret)
  await first.session('s').tasks.start({ tool: 't' })
  await idle(first)
  expect(printed(await first.session('s').tasks.list())).toContain('[redacted]')
  expect(
    printed([await first.session('s').tasks.list(), await first.session('s').notices.list(), logged]),
  ).not.toContain(secret)
  await first.close()
  expect(holds(secret)).toBe(false)
  const second = await opened({ store })
  const told = await read(second.session('s').events(), ({ type }) => type === 'call.settled')
  expect(printed(told)).toContain("payload: { key: '[redacted]' }")
})

test('DUR-12, TASK-1: input, messages and result of a sensitive task are encrypted in messages', async () => {
  const { store, holds } = disk()
  const execute = async (given: { readonly x: string }, ctx: ToolContext): Promise<unknown> => {
    ctx.output(given.x)
    ctx.progress({ label: given.x })
    return [given.x, (await ctx.task?.receive())?.text ?? null]
  }
  const hears = tool({
    name: 't',
    description: 'Hears.',
    input,
    sensitive: true,
    background: true,
    onCrash: 'rerun',
    execute: execute as never,
  })
  const words = { asked: 'asked-1f3a9c77', told: 'told-55d0e1b2', wrong: 'wrong-0a9b8c7d' }
  const model = scriptedModel([
    {
      call: [
        { name: 'spawn_background', input: { tool: 't', args: { x: words.asked } } },
        { name: 'spawn_background', input: { tool: 't', args: words.wrong } },
      ],
    },
    ({ last }) => ({
      call: { name: 'message_task', input: { task_id: /task_[\w-]+/.exec(last)?.[0] ?? '', message: words.told } },
    }),
    'Done.',
    ({ last }) => (last.includes(words.asked) ? 'I have read it.' : 'Nothing.'),
  ])
  const runtime = await opened({ store, models: [model], tools: [hears] })
  const session = runtime.session('s')
  await session.turn({ model: 'scripted', message: 'Start it' }).outcome
  await idle(runtime)
  // The next turn receives the notice that the task ended.
  const next = await session.turn({ model: 'scripted', message: 'And?' }).outcome
  expect(next).toMatchObject({ status: 'success' })
  expect(printed(model.requests.at(-1))).toContain(words.asked)
  expect(printed((await session.tasks.list()).map(({ outcome }) => outcome as CallOutcome | null))).toContain(
    words.told,
  )
  await runtime.close()
  for (const word of Object.values(words)) expect([word, holds(word)]).toEqual([word, false])
})
