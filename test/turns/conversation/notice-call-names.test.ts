import { createRuntime, type ModelMessage, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { readOnlyTool, rerunTool } from '../../kit/simple-tools.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

const callsOf = (messages: readonly ModelMessage[]) =>
  messages.flatMap((message) =>
    message.role === 'assistant' ? message.parts.filter((part) => part.type === 'call') : [],
  )
const saidTo = (messages: readonly ModelMessage[]): string =>
  messages
    .filter(({ role }) => role === 'user')
    .map((message) => JSON.stringify(message))
    .join(' ')

test('POL-7 SESS-3 SESS-10: after compaction a notice still refers to the right call', async () => {
  const look = readOnlyTool('look', () => 'x'.repeat(12_000))
  const pay = tool({
    name: 'pay',
    description: 'd',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] } as const,
    hints: { destructive: true },
    execute: ({ to }) => `paid ${to as string}`,
  })
  // Some models number the calls of each answer from 0.
  const model = scriptedModel(
    [
      { call: { id: 'call_0', name: 'look' } },
      { call: { id: 'call_0', name: 'pay', input: { to: 'ada' } } },
      { call: { id: 'call_0', name: 'pay', input: { to: 'bea' } } },
      'ok',
      'ok',
      'ok',
      { when: 'You sum up', say: 'never' },
      { when: /^User: /, say: 'They looked.' },
    ],
    { name: 'm' },
  )
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [look, pay], models: [model] })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const turn = session.turn({ model, message: 'Go' })
  await clock.advance(1_000)
  await session.messages.send('And bea, too')
  await clock.advance(1_000)
  const forBea = (await runtime.inbox()).find((item) => JSON.stringify(item).includes('bea'))
  await runtime.decide(forBea?.id ?? '', { deny: true, by: 'user:bea' })
  expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'success' } })
  // This turn compacts the older messages.
  expect(
    await after(session.turn({ model, message: 'And?', limits: { historyTokens: 2_000 } }).outcome, clock, 60_000),
  ).toMatchObject({
    value: { status: 'success' },
  })
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  await clock.advance(1_000)
  await after(session.turn({ model, message: 'And now?' }).outcome, clock, 60_000)
  const { messages = [] } = model.requests.at(-1) ?? {}
  expect(problemsIn(messages)).toEqual([])
  expect(saidTo(messages)).toContain('They looked.')
  const calls = callsOf(messages)
  const ada = calls.find((call) => call.input.includes('ada'))
  const bea = calls.find((call) => call.input.includes('bea'))
  expect(ada?.id).not.toBe(bea?.id)
  const told = /The call \\+"([^"\\]+)\\+" of 'pay' that was waiting has ended/.exec(saidTo(messages))?.[1]
  expect(saidTo(messages)).toContain('paid ada')
  expect(told, `the notice says ${told}; ada is ${ada?.id}, bea is ${bea?.id}`).toBe(ada?.id)
})

// A notice starts a turn like the one requested last; callers choose their own turn ids.
test('TASK-9: a caller may use any turn id without the reserved prefix, and the session wakes', async () => {
  const end = Promise.withResolvers<string>()
  const slow = tool({
    name: 'slow',
    description: 'd',
    input,
    background: true,
    timeout: '1h',
    execute: () => end.promise,
  })
  const model = scriptedModel([{ call: { name: 'slow' } }, 'ok', 'I was woken'], { name: 'm' })
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [slow], models: [model], wake: true })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const ask = { model, message: 'Go', background: '1s' } as const
  expect(() => session.turn({ ...ask, id: 'woken_at_nine' })).toThrow(expect.objectContaining({ code: 'turn_invalid' }))
  expect(model.asked).toBe(0)
  expect(await after(session.turn({ ...ask, id: 'at_nine_woken_' }).outcome, clock, 60_000, 1_000)).toMatchObject({
    value: { status: 'success' },
  })
  end.resolve('done')
  for (let n = 0; n < 12; n++) await clock.advance(10_000)
  expect(model.asked).toBe(3)
})

// ctx.complete is recorded like a step, and names are chosen by the body.
test('SESS-5: named and unnamed ctx.complete calls are recorded separately', async () => {
  const model = scriptedModel([({ last }) => `about ${last}`], { name: 'm' })
  const read = rerunTool('read', async (_, ctx) => {
    const pages = ['one', 'two']
    const short: string[] = []
    for (const [at, prompt] of pages.entries()) short.push((await ctx.complete({ prompt, name: String(at + 1) })).text)
    return `${short.join(', ')}: ${(await ctx.complete('all')).text}`
  })
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [read], models: [model] })
  runtimes.push(runtime)
  const outcome = await after(runtime.session('s').run([{ id: 'a', name: 'read' }]), clock, 60_000, 1_000)
  expect(outcome).toMatchObject({ value: [{ status: 'success', value: 'about one, about two: about all' }] })
})
