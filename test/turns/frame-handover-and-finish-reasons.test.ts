import { createRuntime, type Model, result, tool } from 'pawl'
import { aiModel } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { closedAfterEach, replaceWorker } from '../kit/open-runtime.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'
import { simpleTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

// `initial` and `task` of switchFrame are both optional.
test('VAL-6 SESS-6: a handover without initial and task continues the turn in the other frame', async () => {
  const { clock, store } = freshMemory()
  const hand = simpleTool('hand', () => result('ok', { control: { switchFrame: { frame: 'desk' } } }))
  const clerk = scriptedModel([{ call: { name: 'hand' } }, 'ok'], { name: 'clerk' })
  const desk = scriptedModel(['The desk speaks'], { name: 'desk' })
  const frames = [{ name: 'desk', model: desk }]
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [hand], models: [clerk], frames })
  runtimes.push(runtime)
  const turn = runtime.session('s').turn({ model: clerk, message: 'My kettle is broken' })
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({
    value: { status: 'success', value: { text: 'The desk speaks' } },
  })
})

// A capability that is switched off affects later turns only.
test('SESS-1 TOOL-4: a running turn keeps the tools of a switched-off capability after takeover', async () => {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const dying = mortal(shared)
  const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
  const model = scriptedModel([{ call: { name: 'pay' } }, 'ok'], { name: 'm' })
  const capabilities = [{ name: 'money', tools: [pay], instructions: 'Be careful with money.' }]
  const options = { clock, logger: quiet, models: [model], capabilities }
  const first = await createRuntime({ ...options, store: dying.store })
  await first.session('s').capabilities.switchOn('money')
  const asked = { model, message: 'Go', id: 't' } as const
  ignoreOutcome(first.session('s').turn(asked))
  await clock.advance(3_000)
  const door = await createRuntime({ ...options, store: shared, worker: false })
  runtimes.push(door)
  await door.session('s').capabilities.switchOff('money')
  const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
  const turn = second.session('s').turn(asked)
  await clock.advance('1m')
  const [item] = await second.inbox()
  await second.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  const [before, then] = model.requests
  expect(before?.tools.map(({ name }) => name)).toEqual(['pay'])
  expect({ tools: then?.tools.map(({ name }) => name), instructions: then?.instructions }).toEqual({
    tools: ['pay'],
    instructions: before?.instructions,
  })
})

// A custom model may return any value as its finish reason; the recorded one is always a known value.
for (const finish of [Number.NaN, { unified: 'stop', raw: 1n }, 'end_turn'] as const)
  test(`SESS-2: the finish reason ${typeof finish === 'object' ? 'an object' : String(finish)} of a custom model is recorded as 'other'`, async () => {
    const { clock, store } = freshMemory()
    const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
    const model: Model = {
      name: 'own',
      generate: async () => ({ parts: [{ type: 'text', text: 'Hello' }], finish: finish as never, usage }),
    }
    const runtime = await createRuntime({ store, clock, logger: quiet, models: [model] })
    runtimes.push(runtime)
    const outcome = await after(runtime.session('s').turn({ model, message: 'Hi' }).outcome, clock, 60_000, 1_000)
    expect(outcome).toMatchObject({ value: { status: 'success', value: { text: 'Hello', finish: 'other' } } })
  })

// The answer is complete without usage. Its cost is unknown, and the model must not be called and paid for again.
test('SESS-2 SESS-1: an answer without usage is accepted and the model is called once', async () => {
  const { clock, store } = freshMemory()
  let asked = 0
  const parts = [
    { type: 'text-delta', id: '1', delta: 'Hello' },
    {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: { inputTokens: null, outputTokens: null },
    },
  ]
  const model = aiModel({
    specificationVersion: 'v4',
    provider: 'own.chat',
    modelId: 'x',
    doStream: async () => (asked++, { stream: ReadableStream.from(parts) as ReadableStream<never> }),
  })
  const runtime = await createRuntime({ store, clock, logger: quiet, models: [model] })
  runtimes.push(runtime)
  const outcome = await after(runtime.session('s').turn({ model, message: 'Hi' }).outcome, clock)
  expect({ outcome, asked }).toMatchObject({
    outcome: { value: { status: 'success', value: { text: 'Hello' } } },
    asked: 1,
  })
})
