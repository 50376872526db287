// ask_user in conversations: user messages instead of an answer, waiting states, and questions that must not be asked.

import { agent, type FeedEvent, type InboxItem, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { toolbox } from '../../../src/toolbox/toolbox.ts'
import { disk, opened, printed, read } from '../../kit/secret-leak-search.ts'
import { simpleTool } from '../../kit/simple-tools.ts'

const by = { by: 'user:bea' }
async function item(runtime: Runtime): Promise<InboxItem> {
  await vi.waitUntil(async () => (await runtime.inbox()).length > 0, { interval: 1, timeout: 10_000 })
  return (await runtime.inbox())[0] as InboxItem
}

test.for(['memory', 'sqlite'] as const)(
  'POL-7 SESS-4: a message sent instead of an answer is read at once; the answer follows (%s)',
  async (kind) => {
    const runtime = await opened({ store: kind === 'memory' ? 'memory:' : disk().store, tools: toolbox.questions() })
    const session = runtime.session('s')
    const model = scriptedModel([
      { call: { name: 'ask_user', input: { question: 'Which size?', choices: ['S', 'M'] } } },
      'Then I wait.',
      ({ last }) => `I heard: ${last}`,
    ])
    const turn = session.turn({ model, message: 'Order a shirt' })
    const { id } = await item(runtime)
    await session.messages.send('I have to measure first.')
    expect(await turn.outcome).toMatchObject({ status: 'success', value: { text: 'Then I wait.' } })
    expect(printed(model.requests.at(-1))).toContain('I have to measure first.')
    await runtime.decide(id, { answer: 'M', ...by })
    await vi.waitUntil(async () => (await session.calls.list()).every(({ state }) => state === 'settled'), {
      interval: 1,
      timeout: 10_000,
    })
    const next = await session.turn({ model, message: 'Done.' }).outcome
    expect(next).toMatchObject({
      status: 'success',
      value: { text: expect.stringContaining('"answer":"M"') as string },
    })
  },
)

test('WAIT-1 POL-5: run() with until: waiting returns while a running body waits for an answer', async () => {
  const runtime = await opened({ tools: toolbox.questions() })
  const run = runtime
    .session('s')
    .run([{ id: 'a', name: 'ask_user', input: { question: 'Which size?' } }], { until: 'waiting' })
  const { id } = await item(runtime)
  expect(await run).toMatchObject([{ status: 'waiting', for: 'question', waitId: id }])
  await runtime.decide(id, { answer: 'M', ...by })
  const again = await runtime.session('s').run([{ id: 'a', name: 'ask_user', input: { question: 'Which size?' } }])
  expect(again).toMatchObject([{ status: 'success', value: { status: 'answered', answer: 'M' } }])
})

test('SESS-9: the narrated feed reports that a question is waiting', async () => {
  const runtime = await opened({ tools: toolbox.questions() })
  const session = runtime.session('s')
  const run = session.run([{ id: 'a', name: 'ask_user', input: { question: 'Which size?' } }])
  await runtime.decide((await item(runtime)).id, { answer: 'M', ...by })
  await run
  const words = async (locale: string): Promise<unknown[]> =>
    (await read(session.events({ narrate: locale }), ({ type }) => type === 'call.settled')).flatMap(
      (event) => (event as FeedEvent).narration ?? [],
    )
  expect(await words('en')).toEqual([
    'Asking: Which size?',
    'Asking: Which size?',
    'Waiting for an answer: Which size?',
    'Asked: Which size?',
  ])
  expect(await words('de')).toContain('Wartet auf eine Antwort: Which size?')
})

test('BOX-5 POL-5: a secret is not requested if the secret store is full', async () => {
  const runtime = await opened({ tools: toolbox.questions() })
  const session = runtime.session('s')
  for (let n = 0; n < 200; n++) await session.secrets.set(`s${n}`, 'x')
  const [full] = await session.run([{ id: 'a', name: 'ask_user', input: { question: 'The key?', secret: 'new' } }], {
    until: 'waiting',
  })
  expect(full).toMatchObject({ status: 'failure', failure: { code: 'secrets_full', class: 'resource_limit' } })
  expect(await runtime.inbox()).toEqual([])
})

test.for([
  ['approval', { name: 'pay' }, { approve: true, ...by }],
  ['question', { name: 'ask_user', input: { question: 'Which size?' } }, { answer: 'M', ...by }],
] as const)(
  'POL-7 SESS-6: user messages are read while a nested agent waits for people: %s',
  async ([kind, call, decision]) => {
    const pay = simpleTool('pay', { hints: { destructive: true } }, () => 'paid')
    const works = scriptedModel([{ call }, 'All done.'], { name: 'works' })
    const helper = agent({ name: 'helper', description: 'Helps.', model: works, tools: ['pay', 'ask_user'] })
    // Another tool between the turn and the agent.
    const over = tool({
      name: 'over',
      description: 'Lets it help.',
      input: { type: 'object' },
      onCrash: 'rerun',
      execute: async (_, ctx) =>
        (await ctx.run([{ id: 'n', name: 'helper', input: { task: 'Help' } }])).map(({ status }) => status),
    })
    const runtime = await opened({ tools: [helper, pay, over, ...toolbox.questions()] })
    const session = runtime.session('s')
    const boss = scriptedModel([{ call: { name: 'over' } }, 'I am here.', ({ last }) => `I heard: ${last}`], {
      name: 'boss',
    })
    const turn = session.turn({ model: boss, message: 'Go' })
    const { id, kind: asked } = await item(runtime)
    expect(asked).toBe(kind)
    await session.messages.send('Are you there?')
    expect(await turn.outcome).toMatchObject({ status: 'success', value: { text: 'I am here.' } })
    expect(await runtime.decide(id, decision)).toMatchObject({ answer: 'accepted' })
    await vi.waitUntil(async () => (await session.calls.list()).every(({ state }) => state === 'settled'), {
      interval: 1,
      timeout: 10_000,
    })
    expect(await session.turn({ model: boss, message: 'And?' }).outcome).toMatchObject({
      value: { text: expect.stringContaining("of 'over' that was waiting has ended") as string },
    })
  },
)
