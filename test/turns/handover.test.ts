// A turn that only waits for people or external systems ends when a new turn of its session begins.

import { createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test, vi } from 'vitest'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { onEveryStore } from '../kit/stores/all-stores.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

/** A tool that needs approval, and the number of times it ran. */
const refundTool = () => {
  const ran = { times: 0 }
  const refund = tool({
    name: 'refund',
    description: 'Refunds the order',
    input,
    hints: { destructive: true },
    execute: () => `REFUNDED ${++ran.times}`,
  })
  return { refund, ran }
}

async function open(
  script: Parameters<typeof scriptedModel>[0],
  more: Partial<Parameters<typeof createRuntime>[0]> = {},
) {
  const { clock, store } = freshMemory()
  const model = scriptedModel(script, { name: 'm' })
  const { refund, ran } = refundTool()
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [refund], models: [model], ...more })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const settled = <T>(promise: Promise<T>) => after(promise, clock, 5_000, 100)
  return { clock, runtime, session, model, ran, settled }
}

const approveAll = async (runtime: Runtime): Promise<void> => {
  for (const { id } of await runtime.inbox()) await runtime.decide(id, { approve: true, by: 'user:bea' })
}

onEveryStore('handover', ({ worker, kind }) => {
  test('SESS-13 POL-7: a new turn takes the session over from one that waits for an approval', async () => {
    const { refund, ran } = refundTool()
    const script = [{ call: { name: 'refund' } }, 'The weather is fine.', 'You have your money.']
    const model = scriptedModel(script, { name: 'm' })
    const { runtime } = await worker({ tools: [refund], models: [model] })
    // The web process only records the turn; another process holds the one that waits.
    const web = await worker({ tools: [refund], models: [model], worker: false })
    const session = web.runtime.session(`handover ${kind}`)
    const first = session.turn({ model: 'm', message: 'Refund A1' })
    const scope = { tenant: 'default', session: session.id }
    await vi.waitUntil(async () => (await runtime.inbox(scope)).length === 1, { timeout: 20_000 })
    const second = session.turn({ model: 'm', message: 'How is the weather?' })
    expect(await second.outcome).toMatchObject({ status: 'success', value: { text: 'The weather is fine.' } })
    expect(await first.outcome).toMatchObject({ status: 'success', value: { end: 'handed_over', text: '' } })
    const [item] = await runtime.inbox(scope)
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
    await vi.waitUntil(async () => (await session.notices.list()).length === 1, { timeout: 20_000 })
    const third = session.turn({ model: 'm', message: 'And the refund?' })
    expect(await third.outcome).toMatchObject({ value: { end: 'answer', text: 'You have your money.' } })
    expect(ran.times).toBe(1)
    const { messages = [] } = model.requests.at(-1) ?? {}
    expect(problemsIn(messages)).toEqual([])
    expect(JSON.stringify(messages).split('REFUNDED 1')).toHaveLength(2)
    await web.runtime.close({ grace: 0 })
    await runtime.close({ grace: 0 })
  })
})

describe('handover', () => {
  test('SESS-13: both turns are in one conversation with a placeholder result', async () => {
    const { clock, session, settled } = await open([{ say: 'One moment.', call: { name: 'refund' } }, 'Sunny.'])
    const first = session.turn({ model: 'm', message: 'Refund A1', id: 'one' })
    await clock.advance(1_000)
    const second = session.turn({ model: 'm', message: 'How is the weather?', id: 'two' })
    expect(await settled(second.outcome)).toMatchObject({ value: { status: 'success', value: { text: 'Sunny.' } } })
    expect(await settled(first.outcome)).toMatchObject({
      value: { status: 'success', turn: 'one', value: { end: 'handed_over', text: 'One moment.', steps: 1 } },
    })
    const messages = await session.messages.list()
    expect(messages.map(({ turn, message }) => `${turn} ${message.role}`)).toEqual([
      'one user',
      'one assistant',
      'one tool',
      'two user',
      'two assistant',
    ])
    expect(messages[2]?.message).toMatchObject({ results: [{ name: 'refund', status: 'waiting' }] })
  })

  test('SESS-13: the new turn brings its own model, frame and tools', async () => {
    const { clock, session, model, settled } = await open([{ call: { name: 'refund' } }])
    const other = scriptedModel(['Other answer'], { name: 'other' })
    session.turn({ model: 'm', message: 'Refund A1' })
    await clock.advance(1_000)
    const second = session.turn({ model: other, message: 'Hi', instructions: 'Be brief.', tools: [] })
    expect(await settled(second.outcome)).toMatchObject({ value: { value: { text: 'Other answer' } } })
    expect(model.requests).toHaveLength(1)
    expect(other.requests[0]).toMatchObject({ instructions: 'Be brief.', tools: [] })
  })

  test('SESS-13 SESS-4: a turn whose call is busy is not interrupted; the new turn queues', async () => {
    const done = Promise.withResolvers<string>()
    const slow = tool({ name: 'slow', description: 'd', input, timeout: '1h', execute: () => done.promise })
    const { clock, session, settled } = await open([{ call: { name: 'slow' } }, 'First.', 'Second.'], { tools: [slow] })
    const first = session.turn({ model: 'm', message: 'Go' })
    await clock.advance(1_000)
    const second = session.turn({ model: 'm', message: 'Hi' })
    await clock.advance('1m')
    expect(await session.messages.list()).toHaveLength(2)
    done.resolve('ok')
    expect(await settled(first.outcome)).toMatchObject({ value: { value: { end: 'answer', text: 'First.' } } })
    expect(await settled(second.outcome)).toMatchObject({ value: { value: { end: 'answer', text: 'Second.' } } })
  })

  test('SESS-13: the turn ends as soon as its last busy call is settled and only the approval is left', async () => {
    const done = Promise.withResolvers<string>()
    const slow = tool({ name: 'slow', description: 'd', input, timeout: '1h', execute: () => done.promise })
    const { refund } = refundTool()
    const script = [{ call: [{ name: 'slow' }, { name: 'refund' }] }, 'Second.']
    const { clock, session, settled } = await open(script, { tools: [slow, refund] })
    const first = session.turn({ model: 'm', message: 'Go' })
    await clock.advance(1_000)
    const second = session.turn({ model: 'm', message: 'Hi' })
    await clock.advance('1m')
    done.resolve('SLOW RESULT')
    expect(await settled(second.outcome)).toMatchObject({ value: { value: { text: 'Second.' } } })
    expect(await settled(first.outcome)).toMatchObject({ value: { value: { end: 'handed_over' } } })
    const results = (await session.messages.list())[2]?.message
    expect(results).toMatchObject({ results: [{ status: 'success' }, { status: 'waiting' }] })
  })

  test('SESS-13: a queued turn that was cancelled does not end the open one', async () => {
    const { clock, runtime, session, settled } = await open([{ call: { name: 'refund' } }, 'Refunded.'])
    const first = session.turn({ model: 'm', message: 'Refund A1' })
    const second = session.turn({ model: 'm', message: 'Never mind' })
    await second.cancel()
    expect(await settled(second.outcome)).toMatchObject({ value: { status: 'cancelled' } })
    await clock.advance('1m')
    await approveAll(runtime)
    expect(await settled(first.outcome)).toMatchObject({ value: { value: { end: 'answer', text: 'Refunded.' } } })
  })

  test('SESS-13: calls that run one after another are not started after the handover', async () => {
    const { clock, session, ran, runtime, settled } = await open([
      { call: [{ name: 'refund' }, { name: 'refund' }] },
      'Second.',
    ])
    const first = session.turn({ model: 'm', message: 'Refund both', parallel: false })
    await clock.advance(1_000)
    await settled(session.turn({ model: 'm', message: 'Hi' }).outcome)
    expect(await settled(first.outcome)).toMatchObject({ value: { value: { end: 'handed_over' } } })
    await approveAll(runtime)
    await clock.advance('1m')
    expect(ran.times).toBe(1)
    const results = (await session.messages.list())[2]?.message
    expect(results).toMatchObject({ results: [{ status: 'waiting' }, { status: 'cancelled' }] })
  })

  test('SESS-13: the outcome wakes the session after the new turn has ended', async () => {
    const script = [{ call: { name: 'refund' } }, 'Sunny.', 'The refund is done.']
    const { clock, runtime, session, settled } = await open(script, { wake: true })
    session.turn({ model: 'm', message: 'Refund A1' })
    await clock.advance(1_000)
    await settled(session.turn({ model: 'm', message: 'Weather?' }).outcome)
    await approveAll(runtime)
    await clock.advance('1m')
    const texts = (await session.messages.list()).map(({ message }) => JSON.stringify(message))
    expect(texts.at(-2)).toContain('REFUNDED 1')
    expect(texts.at(-1)).toContain('The refund is done.')
  })

  test('SESS-13: three messages in a row while approvals wait are all answered', async () => {
    const script = [{ call: { name: 'refund' } }, { call: { name: 'refund' } }, 'Third.']
    const { clock, session, settled, model } = await open(script)
    const turns = ['One', 'Two', 'Three'].map((message) => session.turn({ model: 'm', message }))
    await clock.advance(2_000)
    const ends = await Promise.all(turns.map(({ outcome }) => settled(outcome)))
    expect(ends).toMatchObject([
      { value: { value: { end: 'handed_over' } } },
      { value: { value: { end: 'handed_over' } } },
      { value: { value: { end: 'answer', text: 'Third.' } } },
    ])
    expect(problemsIn(model.requests.at(-1)?.messages ?? [])).toEqual([])
  })

  test('SESS-13 SESS-6: the turn of an agent is not handed over; the call that waits for it gets its answer', async () => {
    const { refund } = refundTool()
    const helper = tool({
      name: 'helper',
      description: 'd',
      input,
      timeout: '1h',
      hints: { readOnly: true },
      onCrash: 'rerun',
      execute: async (_, ctx) => (await ctx.turn({ model: 'sub', message: 'Refund it' })) as never,
    })
    const sub = scriptedModel([{ call: { name: 'refund' } }, 'It is refunded.', 'Hello.'], { name: 'sub' })
    const main = scriptedModel([{ call: { name: 'helper' } }, 'Done.'], { name: 'main' })
    const { clock, runtime, session, settled } = await open([], { tools: [helper, refund], models: [sub, main] })
    const turn = session.turn({ model: 'main', message: 'Go' })
    await clock.advance(2_000)
    const [item] = await runtime.inbox()
    const other = runtime.session(item?.session ?? '').turn({ model: 'sub', message: 'Are you there?' })
    await clock.advance('1m')
    await approveAll(runtime)
    expect(await settled(turn.outcome)).toMatchObject({ value: { value: { end: 'answer', text: 'Done.' } } })
    expect(await settled(other.outcome)).toMatchObject({ value: { value: { end: 'answer', text: 'Hello.' } } })
    expect(JSON.stringify(main.requests.at(-1))).toContain('It is refunded.')
  })
})
