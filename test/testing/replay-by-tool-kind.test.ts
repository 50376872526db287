/* oxlint-disable typescript/no-explicit-any -- the `during` callbacks get untyped objects */

import { connectionRequired, type Hook, type Tool, retry, tool } from 'pawl'
import { record, replay, type Replay, type ReplayOptions, scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { after } from '../kit/stores/fresh-store.ts'
import { opening } from '../kit/open-runtime.ts'
import { backgroundTool, readOnlyTool, rerunTool } from '../kit/simple-tools.ts'

const open = opening()
const input = { type: 'object' } as const

async function replayed(
  made: Tool | readonly Tool[],
  {
    call = {},
    options = {},
    session: about = {},
    with: now,
    during = async () => {},
    how = {},
  }: {
    call?: object
    options?: object
    session?: object
    with?: readonly Tool[]
    during?: (of: any) => Promise<void>
    how?: object
  } = {},
): Promise<Replay> {
  const tools = Array.isArray(made) ? (made as Tool[]) : [made as Tool]
  const { runtime, clock } = await open({ tools: 'tools' in about ? [] : tools, ...options })
  const session = runtime.session('s', about)
  const running = session.run([{ id: 'c', name: tools[0]?.name ?? '', ...call }])
  await clock.advance(10)
  await during({ runtime, clock, session })
  await after(running, clock, 86_400_000, 60_000)
  const recording = JSON.parse(JSON.stringify(await record(session)))
  return replay(recording, { tools: now ?? tools, ...how })
}

const same = { text: '1 call, no difference.' }

test('KIT-3: replay checks arguments as given, before the schema transforms them', async () => {
  const count = tool({
    name: 'count',
    description: 'd',
    input: z.object({ n: z.string().transform(Number) }),
    hints: { readOnly: true },
    execute: ({ n }) => n + 1,
  })
  expect(await replayed(count, { call: { input: { n: '5' } } })).toMatchObject(same)
})

test('KIT-3: replay with `effects` runs bodies that must not run twice', async () => {
  let ran = 0
  const once = (value: string): Tool => tool({ name: 'once', description: 'd', input, execute: () => (ran++, value) })
  expect(await replayed(once('x'), { how: { effects: true } })).toMatchObject({ ...same, calls: [{ how: 'run' }] })
  expect(ran).toBe(2)
  expect((await replayed(once('x'), { with: [once('y')], how: { effects: true } })).text).toBe(
    'once (c)\n  outcome.value was "x" on record and is "y" now',
  )
})

test('KIT-3: replay of a call that succeeded at its third attempt shows no difference', async () => {
  const busy = rerunTool('busy', { retry: { attempts: 3 } }, (_, ctx) => {
    if (ctx.attempt < 3) throw retry({ message: 'busy' })
    return { attempt: ctx.attempt }
  })
  expect(await replayed(busy)).toMatchObject(same)
})

test('KIT-3, DUR-12: replay reads calls of sensitive tools and of an encrypted store', async () => {
  const quiet_ = readOnlyTool('pay', { sensitive: true }, () => 'x')
  const open_ = tool({
    name: 'look',
    description: 'd',
    input,
    hints: { readOnly: true },
    execute: (_, ctx) => ctx.step('a', () => 'x'),
  })
  expect(await replayed(quiet_, { options: { keys: { secret: Buffer.alloc(32, 7) } } })).toMatchObject(same)
  expect(await replayed(open_, { options: { encrypt: true, keys: { secret: Buffer.alloc(32, 7) } } })).toMatchObject(
    same,
  )
})

test('KIT-3: replay runs tools of a session', async () => {
  const own = tool({ name: 'own', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
  expect(await replayed(own, { session: { tools: [own] } })).toMatchObject({ ...same, calls: [{ how: 'run' }] })
})

test('KIT-3: replay skips a call that used a connection', async () => {
  const repos = rerunTool('repos', async (_, ctx) => {
    const found = await ctx.connection('github')
    if (!found) return connectionRequired('github')
    return ctx.step('list', () => ['a'])
  })
  const connects = ({ runtime }: any): Promise<void> =>
    runtime.connections.set({ provider: 'github' }, { token: 'very secret token', by: 'user:bea' })
  expect(await replayed(repos, { during: connects })).toMatchObject({
    ...same,
    calls: [{ how: 'skipped', why: expect.stringContaining('uses a connection') }],
  })
})

test('KIT-3: built-in tools of the runtime are not reported as missing host tools', async () => {
  const look = (n: number): Tool =>
    tool({
      name: `look_${n}`,
      description: 'd',
      input,
      hints: { readOnly: true },
      background: true,
      execute: () => 'x',
    })
  const tools = Array.from({ length: 20 }, (_, n) => look(n))
  const { runtime, clock } = await open({ tools })
  const session = runtime.session('s')
  const model = scriptedModel([
    { call: { name: 'tool_search', input: { query: 'look_3' } } },
    {
      call: [
        { name: 'list_tasks' },
        { name: 'look_3' },
        { name: 'spawn_background', input: { tool: 'look_4', args: {} } },
      ],
    },
    'Done',
  ])
  expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
    value: { status: 'success' },
  })
  const { text, calls } = await replay(session, { tools })
  expect(text).toBe('5 calls, no difference.')
  expect(calls.map(({ how }) => how)).toEqual(['skipped', 'skipped', 'run', 'skipped', 'skipped'])
})

test('KIT-3: replay runs a tool of a provider', async () => {
  const far = tool({ name: 'far', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
  const provider = { name: 'p', trusted: true, list: () => [{ name: 'far', description: 'd' }], resolve: () => far }
  expect(await replayed(far, { options: { tools: [], providers: [provider] } })).toMatchObject({
    ...same,
    calls: [{ how: 'run' }],
  })
})

test('KIT-3, DUR-9: a recording of another format is rejected', async () => {
  await expect(replay({ format: 2, calls: [], attachments: [] } as never, { tools: [] })).rejects.toMatchObject({
    code: expect.any(String),
  })
})

test('KIT-3: a task that is not in the recording is reported and not started', async () => {
  let ran = 0
  const inner = backgroundTool('inner', { hints: { readOnly: true } }, () => ++ran)
  const outer = (calls: boolean): Tool =>
    tool({
      name: 'outer',
      description: 'd',
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => {
        if (calls) await ctx.tasks.start({ tool: 'inner', input: {} })
        return 'x'
      },
    })
  expect((await replayed([outer(false), inner], { with: [outer(true), inner] })).text).toContain('inner')
  expect(ran).toBe(0)
})

test('KIT-3: replay of a body with steps and a later() result shows no difference', async () => {
  let key = ''
  const sign = (word: string): Tool =>
    tool({
      name: 'sign',
      description: 'd',
      input,
      onCrash: 'rerun',
      async execute(_, ctx) {
        const later = await ctx.later<string>({ deadline: '1h' })
        key = later.key
        await ctx.step('send', () => word)
        return later
      },
    })
  const answer = async ({ runtime }: any): Promise<void> => void (await runtime.resolve(key, { value: 'yes' }))
  expect(await replayed(sign('a'), { during: answer })).toMatchObject(same)
  expect(await replayed(sign('a'))).toMatchObject(same)
})

test('KIT-3: a question that is not in the recording is reported and not asked', async () => {
  const ask = (asks: boolean): Tool =>
    tool({
      name: 'ask',
      description: 'd',
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => (asks ? (await (await ctx.ask({ text: 'Colour?' })).value).status : 'x'),
    })
  expect((await replayed(ask(false), { with: [ask(true)] })).text).toBe(
    'ask (c)\n  it asks a person; the recording has no such question',
  )
})

test('KIT-3: replay uses the recorded answers of client tools, questions and waits', async () => {
  const client = tool({ name: 'client', description: 'd', input, client: true })
  expect(await replayed(client, { during: ({ session }) => session.answer('c', { value: 'x' }) })).toMatchObject(same)
  expect(await replayed(client)).toMatchObject(same)
  const ask = tool({
    name: 'ask',
    description: 'd',
    input,
    onCrash: 'rerun',
    execute: (_, ctx) => ctx.ask({ text: 'Colour?' }),
  })
  const answer = async ({ runtime }: any): Promise<void> => {
    const [item] = await runtime.inbox()
    await runtime.decide(item.id, { answer: 'blue', by: 'user:bea' })
  }
  expect(await replayed(ask, { during: answer })).toMatchObject(same)
  expect(await replayed(ask)).toMatchObject(same)
  let key = ''
  const fails = rerunTool('fails', async (_, ctx) => {
    const later = await ctx.later({ name: 'reply' })
    key = later.key
    return later
  })
  const failure = { failure: { code: 'no', message: 'No' } }
  expect(
    await replayed(fails, { during: async ({ runtime }) => void (await runtime.resolve(key, failure)) }),
  ).toMatchObject(same)
  expect(await replayed(fails, { during: ({ session }) => session.cancel('Enough') })).toMatchObject(same)
})

test('KIT-3, CALL-8: replay applies the hooks that replace outcomes', async () => {
  const own = tool({ name: 'own', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
  const hooks: Hook[] = [{ name: 'h', after: () => ({ replace: { status: 'success', value: 'other' } }) }]
  expect(await replayed(own, { options: { hooks }, how: { hooks } })).toMatchObject(same)
  const options: ReplayOptions = { tools: [own], hooks }
  expect(options.hooks).toBe(hooks)
})
