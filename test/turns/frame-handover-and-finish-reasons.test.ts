import { createRuntime, type Model, result, type Runtime, tool } from 'pawl'
import { aiModel } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

// SPEC VAL-6: switchFrame{frame, initial?, task?}: both may be left out.
test('VAL-6 SESS-6: a turn that is handed over without further words goes on in the other frame', async () => {
  const { clock, store } = freshMemory()
  const hand = tool({ name: 'hand', description: 'd', input, execute: () => result('ok', { control: { switchFrame: { frame: 'desk' } } }) })
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

// docs/guide/turns.md: "Turns and batches that are under way when something is switched off keep its tools". TOOL-4: "a turn sees the toolset it started with".
test('SESS-1 TOOL-4: a turn that is under way when a capability is switched off keeps its tools and words, also where another worker goes on with it', async () => {
  const { clock, store } = freshMemory()
  const shared: Store = { ...store, close: async () => {} }
  const dying = mortal(shared)
  const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
  const model = scriptedModel([{ call: { name: 'pay' } }, 'ok'], { name: 'm' })
  const capabilities = [{ name: 'money', tools: [pay], instructions: 'Be careful with money.' }]
  const options = { clock, logger: quiet, models: [model], capabilities }
  const first = await createRuntime({ ...options, store: dying.store })
  await first.session('s').capabilities.switchOn('money')
  const asked = { model, message: 'Go', id: 't' } as const
  first
    .session('s')
    .turn(asked)
    .outcome.catch(() => {})
  await clock.advance(3_000)
  const door = await createRuntime({ ...options, store: shared, worker: false })
  runtimes.push(door)
  await door.session('s').capabilities.switchOff('money')
  dying.die()
  await clock.advance('40s')
  const second = await createRuntime({ ...options, store: shared })
  runtimes.push(second)
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

// src/turns/ask-model.ts: "What a provider gives may be anything; what goes on record has a form."
for (const finish of [Number.NaN, { unified: 'stop', raw: 1n }, 'end_turn'] as const)
  test(`SESS-2: a model of one's own that ends with ${typeof finish === 'object' ? 'an object' : String(finish)} has answered, for a reason that there is`, async () => {
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

// Nothing of the answer is missing: what it cost is not known, and it is not paid for again.
test('SESS-2 SESS-1: an answer of a provider that tells no usage is an answer, and is asked for once', async () => {
  const { clock, store } = freshMemory()
  let asked = 0
  const parts = [
    { type: 'text-delta', id: '1', delta: 'Hello' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: { inputTokens: null, outputTokens: null } },
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
  expect({ outcome, asked }).toMatchObject({ outcome: { value: { status: 'success', value: { text: 'Hello' } } }, asked: 1 })
})
