// writeOnly arguments are hidden wherever arguments are shown: feed, inbox and messages.

import { type InboxItem, jsonSchema, type Runtime, narrate, type Tool, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { toolbox } from '../../src/toolbox/toolbox.ts'
import { disk, logged, opened, printed, read } from '../kit/secret-leak-search.ts'
import { simpleTool } from '../kit/simple-tools.ts'

const word = 'open sesame 4711'
interface Given {
  readonly query: string
  readonly user?: string
  readonly n?: number
  readonly all?: readonly { readonly user: string; readonly pin: string }[]
}
const input = jsonSchema<Given>({
  type: 'object',
  properties: {
    query: { type: 'string', writeOnly: true },
    user: { type: 'string' },
    n: { type: 'integer' },
    all: {
      type: 'array',
      items: { type: 'object', properties: { user: { type: 'string' }, pin: { type: 'string', writeOnly: true } } },
    },
  },
  required: ['query'],
  additionalProperties: false,
})
const ran: Given[] = []
beforeEach(() => void ran.splice(0))
const about = {
  name: 'door',
  title: 'Open the door',
  description: 'Opens a door.',
  input,
  background: true,
  hints: { idempotent: true },
} as const
const execute = (given: Given): string => {
  ran.push(given)
  return 'ok'
}
const door = tool({ ...about, execute })
const asks = { rules: [{ then: 'ask' as const }] }
const spawning = (args: unknown): { name: string; input: unknown } => ({
  name: 'spawn_background',
  input: { tool: 'door', args },
})

async function item(runtime: Runtime): Promise<InboxItem> {
  await vi.waitUntil(async () => (await runtime.inbox()).length > 0, { interval: 1, timeout: 10_000 })
  return (await runtime.inbox())[0] as InboxItem
}
const narrated = async (tools: readonly Tool[]): Promise<string> => {
  const runtime = await opened({ tools })
  const session = runtime.session('s')
  const model = scriptedModel([{ call: { name: 'door', input: { query: word, user: 'ada' } } }, 'Done.'])
  await session.turn({ model, message: 'Open it' }).outcome
  const isLast = (event: { type: string; body: object }): boolean =>
    event.type === 'turn.answered' && (event.body as { finish: string }).finish === 'stop'
  return printed(await read(session.events({ narrate: 'en' }), isLast))
}

test('SESS-9: writeOnly arguments do not appear in default narrations or headlines', async () => {
  const told = await narrated([door])
  expect(told).toContain('Done: Open the door')
  expect(told).not.toContain(word)
  expect(told).not.toContain('(…)')
})

test('SESS-9: the narrate function of a tool does not get writeOnly arguments', async () => {
  const narration = narrate<Given>(
    { en: { started: 'Saying {}', completed: 'Said {}', failed: 'x' } },
    ({ query, user }) => `${query} to ${user}`,
  )
  const told = await narrated([tool({ ...about, narrate: narration, execute })])
  expect(told).toContain('Said … to ada')
  expect(told).not.toContain(word)
})

test.for([
  ['hidden', { ...about, execute }],
  ['of a sensitive tool', { ...about, input: { type: 'object' }, sensitive: true, execute: () => 'ok' }],
] as const)(
  'SESS-9: with `encrypt`, arguments that are %s are not narrated if the tool is unknown',
  async ([, definition]) => {
    const { store } = disk()
    const first = await opened({ store, tools: [tool(definition as never)], encrypt: true })
    await first.session('s').run([{ id: 'a', name: 'door', input: { query: word } }])
    await first.close()
    const second = await opened({ store, encrypt: true })
    const told = await read(second.session('s').events({ narrate: 'en' }), ({ type }) => type === 'call.settled')
    expect(told.at(-1)).toMatchObject({ narration: 'Done: Door' })
    expect(printed(told)).not.toContain(word)
  },
)

test('DUR-12, TASK-1: writeOnly arguments of a spawned tool do not appear in messages', async () => {
  const runtime = await opened({ tools: [door] })
  const session = runtime.session('s')
  const model = scriptedModel([{ call: spawning({ query: word, user: 'ada' }) }, 'Done.'])
  await session.turn({ model, message: 'Open it' }).outcome
  await vi.waitUntil(() => ran.length === 1, { timeout: 10_000 })
  expect(ran).toEqual([{ query: word, user: 'ada' }])
  expect(printed(await session.messages.list())).toContain('ada')
  expect(printed([await session.messages.list(), model.requests, logged])).not.toContain(word)
})

test('DUR-12, POL-6: writeOnly arguments are hidden in the inbox, for the spawn and for its task', async () => {
  const runtime = await opened({ tools: [door], policy: asks })
  const run = runtime.session('s').run([{ id: 'a', ...spawning({ query: word, user: 'ada' }) }])
  const first = await item(runtime)
  expect(first).toMatchObject({
    tool: 'spawn_background',
    args: { tool: 'door', args: { query: '[hidden]', user: 'ada' } },
  })
  expect(printed(first)).not.toContain(word)
  await runtime.decide(first.id, { edit: { tool: 'door', args: { query: '[hidden]', user: 'bob' } }, by: 'user:bea' })
  const [started] = await run
  expect(printed(started)).toContain('"user\\":\\"bob')
  expect(printed(started)).not.toContain(word)
  const second = await item(runtime)
  expect(second).toMatchObject({ tool: 'door', args: { query: '[hidden]', user: 'bob' } })
  expect(printed(second)).not.toContain(word)
  await runtime.decide(second.id, { approve: true, by: 'user:bea' })
  await vi.waitUntil(() => ran.length === 1, { timeout: 10_000 })
  expect(ran).toEqual([{ query: word, user: 'bob' }])
})

test('DUR-12, POL-6: the preview function of a tool does not get writeOnly arguments', async () => {
  const runtime = await opened({
    tools: [tool({ ...about, preview: ({ query, user }) => `${user} says ${query}`, execute })],
    policy: asks,
  })
  const run = runtime.session('s').run([{ id: 'a', name: 'door', input: { query: word, user: 'ada' } }])
  const { id, preview } = await item(runtime)
  expect(preview.summary).toBe('ada says [hidden]')
  await runtime.decide(id, { approve: true, by: 'user:bea' })
  await run
  expect(ran).toEqual([{ query: word, user: 'ada' }])
})

test('DUR-12: errors for invalid arguments do not quote them: in tasks, schedules and edits', async () => {
  const runtime = await opened({ tools: [door], policy: { rules: [{ tool: 'door', then: 'ask' }, { then: 'allow' }] } })
  const session = runtime.session('s')
  const digits = '47114711471147114711'
  const wrong = await session.run([
    { id: 'a', ...spawning({ query: [word], n: word }) },
    { id: 'b', ...spawning(JSON.stringify({ query: word })) },
    { id: 'c', name: 'door', input: `{"query": ${digits}}` },
  ])
  expect(wrong.map(({ status }) => status)).toEqual(['failure', 'failure', 'failure'])
  expect(printed(wrong)).toContain('cannot be held exactly')
  for (const each of [word, digits]) expect(printed(wrong)).not.toContain(each)
  await expect(
    session.schedules.create({ tool: 'door', input: { query: [word] }, cron: '0 9 * * *' }),
  ).rejects.toSatisfy((error) => !printed(error).includes(word))
  const run = session.run([{ id: 'd', name: 'door', input: { query: word } }])
  const { id } = await item(runtime)
  expect(await runtime.decide(id, { edit: { query: 4711 }, by: 'user:bea' })).toEqual({
    answer: 'invalid',
    problems: ['query: expected string'],
  })
  await runtime.decide(id, { deny: true, by: 'user:bea' })
  await run
})

test('DUR-12: writeOnly arguments in doubly encoded JSON are hidden in messages', async () => {
  const runtime = await opened({ tools: [door] })
  const session = runtime.session('s')
  const model = scriptedModel([
    { call: { name: 'door', input: JSON.stringify(JSON.stringify({ query: word })) } },
    { call: spawning(JSON.stringify({ query: word })) },
    'Done.',
  ])
  await session.turn({ model, message: 'Open it' }).outcome
  expect(printed([await session.messages.list(), model.requests])).not.toContain(word)
})

test('POL-3: an edit keeps hidden values, but list items need the value itself', async () => {
  const runtime = await opened({ tools: [door], policy: asks })
  const all = [
    { user: 'ada', pin: '1111' },
    { user: 'bob', pin: '2222' },
  ]
  const run = runtime.session('s').run([{ id: 'a', name: 'door', input: { query: word, user: 'ada', all } }])
  const { id, args } = await item(runtime)
  expect(args).toEqual({ query: '[hidden]', user: 'ada', all: all.map((each) => ({ ...each, pin: '[hidden]' })) })
  const by = { by: 'user:bea' }
  expect(
    await runtime.decide(id, { edit: { ...(args as object), all: [{ user: 'bob', pin: '[hidden]' }] }, ...by }),
  ).toEqual({
    answer: 'invalid',
    problems: ['all[0].pin: [hidden] stands for a value that is not shown; give the value itself'],
  })
  expect(await runtime.decide(id, { edit: { ...(args as object), user: 'bea' }, ...by })).toMatchObject({
    status: 'edited',
  })
  const [outcome] = await run
  expect(ran).toEqual([{ query: word, user: 'bea', all }])
  for (const each of [word, '2222']) expect(printed(outcome)).not.toContain(each)
})

test('POL-3, DUR-12: an edit that keeps [redacted] runs with the original secret', async () => {
  const got: unknown[] = []
  const input = { type: 'object' } as const
  const sends = tool({ name: 'send', description: 'Sends.', input, execute: (given) => void got.push(given) })
  const runtime = await opened({ tools: [sends], policy: asks, secrets: [word] })
  const run = runtime
    .session('s')
    .run([{ id: 'a', name: 'send', input: { to: 'ada', head: { key: `Bearer ${word}` }, line: ['-H', word] } }])
  const { id, args } = await item(runtime)
  expect(args).toEqual({ to: 'ada', head: { key: 'Bearer [redacted]' }, line: ['-H', '[redacted]'] })
  const by = { by: 'user:bea' }
  expect(
    await runtime.decide(id, { edit: { ...(args as object), line: ['-v', '-H', '[redacted]'] }, ...by }),
  ).toMatchObject({
    answer: 'invalid',
  })
  expect(await runtime.decide(id, { edit: { ...(args as object), to: 'bob' }, ...by })).toMatchObject({
    status: 'edited',
  })
  await run
  expect(got).toEqual([{ to: 'bob', head: { key: `Bearer ${word}` }, line: ['-H', word] }])
})

test('BOX-5: a model that copies [hidden] from its own call does not overwrite the secret', async () => {
  const used: string[] = []
  const pays = simpleTool('pay', async (_, ctx) => void used.push(await ctx.secrets.resolve('secret:key')))
  const runtime = await opened({ tools: [...toolbox.secrets(), pays] })
  const set = (value: string) => ({ name: 'secret_store', input: { operation: 'set', name: 'key', value } })
  const model = scriptedModel([{ call: set(word) }, { call: set('[hidden]') }, { call: { name: 'pay' } }, 'Done.'])
  await runtime.session('s').turn({ model, message: 'Keep it' }).outcome
  expect(used).toEqual([word])
  expect(printed(model.requests)).toContain(
    'value: [hidden] stands for a value that is not shown; give the value itself',
  )
})

test('DUR-12: a process without the tool lists messages without its writeOnly arguments', async () => {
  const { store } = disk()
  const first = await opened({ store, tools: [door] })
  const model = scriptedModel([{ call: { name: 'door', input: { query: word, user: 'ada' } } }, 'Done.'])
  await first.session('s').turn({ model, message: 'Open it' }).outcome
  await first.close()
  const second = await opened({ store, worker: false })
  const listed = await second.session('s').messages.list()
  expect(listed).toHaveLength(4)
  expect(listed[1]).toMatchObject({
    message: { parts: [{ type: 'call', name: 'door', input: '{"query":"[hidden]","user":"ada"}' }] },
  })
  expect(printed(listed)).not.toContain(word)
})
