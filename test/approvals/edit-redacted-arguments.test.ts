import { type InboxItem, type Runtime, tool } from 'pawl'
import { expect, test, vi } from 'vitest'
import { disk, opened, printed } from '../kit/secret-leak-search.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const word = 'correct-horse-battery'
const policy = { rules: [{ then: 'ask' as const }] }
const by = 'user:bea'
const input = { type: 'object', properties: { pin: { type: 'string', writeOnly: true } } } as const
const sending = (got: unknown[]) =>
  tool({ name: 'send', description: 'Sends.', input, onCrash: 'rerun', execute: (given) => void got.push(given) })

const item = async (runtime: Runtime): Promise<InboxItem> => {
  let found: InboxItem | undefined
  await vi.waitUntil(async () => ([found] = await runtime.inbox()) && found !== undefined, { timeout: 10_000 })
  return found as InboxItem
}

test('POL-3 DUR-12: [redacted] in an edit keeps the original value if the secret is unknown here', async () => {
  const { store } = disk()
  const got: unknown[] = []
  const send = sending(got)
  const asked = { id: 'a', name: 'send', input: { to: 'ada', key: `Bearer ${word}`, line: ['-H', word] } }
  const first = await opened({ store, tools: [send], policy, secrets: [word] })
  ignoreResult(first.session('s').run([asked]))
  await item(first)
  await first.close()
  const second = await opened({ store, tools: [send], policy })
  const run = second.session('s').run([asked])
  const { id, args } = await item(second)
  expect(args).toEqual({ to: 'ada', key: 'Bearer [redacted]', line: ['-H', '[redacted]'] })
  expect(await second.decide(id, { edit: { ...(args as object), line: ['-v', '[redacted]'] }, by })).toMatchObject({
    answer: 'invalid',
  })
  expect(await second.decide(id, { edit: { ...(args as object), to: 'bob' }, by })).toMatchObject({ status: 'edited' })
  await run
  expect(got).toEqual([{ to: 'bob', key: `Bearer ${word}`, line: ['-H', word] }])
})

test('POL-3: an argument that contains the literal text [redacted] can be edited', async () => {
  const got: unknown[] = []
  const runtime = await opened({ tools: [sending(got)], policy })
  const asked = { note: 'the log says [redacted]', all: ['[redacted]', 'x'], to: 'ada', pin: '4711' }
  const run = runtime.session('s').run([{ id: 'a', name: 'send', input: asked }])
  const { id, args } = await item(runtime)
  const edit = { ...(args as object), to: 'bob', all: ['[redacted]', 'y'] }
  expect(await runtime.decide(id, { edit, by })).toMatchObject({ status: 'edited' })
  await run
  expect(got).toEqual([{ ...asked, to: 'bob', all: ['[redacted]', 'y'] }])
})

test('DUR-12 POL-3: a hidden argument is not passed to another tool chosen in an edit', async () => {
  const got: unknown[] = []
  const about = { description: 'd', background: true, execute: (given: unknown) => void got.push(given) }
  const door = tool({ name: 'door', input, ...about })
  const echo = tool({ name: 'echo', input: { type: 'object' }, ...about })
  const runtime = await opened({ tools: [door, echo], policy })
  const run = runtime
    .session('s')
    .run([{ id: 'a', name: 'spawn_background', input: { tool: 'door', args: { pin: '4711-4711', to: 'ada' } } }])
  const { id, args } = await item(runtime)
  expect(args).toEqual({ tool: 'door', args: { pin: '[hidden]', to: 'ada' } })
  expect(await runtime.decide(id, { edit: { ...(args as object), tool: 'echo' }, by })).toEqual({
    answer: 'invalid',
    problems: ['[hidden] stands for a value that is not shown; give the value itself.'],
  })
  expect(await runtime.decide(id, { edit: { tool: 'echo', args: { to: 'ada' } }, by })).toMatchObject({
    status: 'edited',
  })
  await run
  const second = await item(runtime)
  expect(second).toMatchObject({ tool: 'echo', args: { to: 'ada' } })
  await runtime.decide(second.id, { deny: true, by })
})

test('DUR-12 POL-3: the problems of an invalid edit do not contain the secret', async () => {
  const short = { properties: { key: { type: 'string', maxLength: 3 } } }
  const picky = {
    type: 'object',
    properties: { key: { type: 'string' } },
    if: { properties: { to: { const: 'bob' } } },
    then: short,
  } as const
  const send = tool({ name: 'send', description: 'Sends.', input: picky, execute: () => 'sent' })
  const runtime = await opened({ tools: [send], policy, secrets: [word] })
  const run = runtime.session('s').run([{ id: 'a', name: 'send', input: { to: 'ada', key: word } }])
  const { id, args } = await item(runtime)
  expect(await runtime.decide(id, { edit: { ...(args as object), to: 'bob' }, by })).toEqual({
    answer: 'invalid',
    problems: ['key: expected string with at most 3 characters'],
  })
  await runtime.decide(id, { deny: true, by })
  await run
})

test('DUR-12 POL-5: the problems of an invalid answer do not show a secret from the choices', async () => {
  const pick = rerunTool('pick', async (_, ctx) => {
    const asked = await ctx.ask({ text: 'Which?', choices: [`Use ${word}`, 'none'], deadline: '1d' })
    return (await asked.value).answer
  })
  const runtime = await opened({ tools: [pick], secrets: [word] })
  const run = runtime.session('s').run([{ id: 'a', name: 'pick' }])
  const { id } = await item(runtime)
  const said = await runtime.decide(id, { answer: 'all', by })
  expect(said).toMatchObject({ answer: 'invalid' })
  expect(printed(said)).not.toContain(word)
  await runtime.decide(id, { answer: 'none', by })
  expect(await run).toMatchObject([{ status: 'success', value: 'none' }])
})
