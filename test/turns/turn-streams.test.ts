// turn.textStream and turn.uiMessageStream().

import {
  type AssistantPart,
  createRuntime,
  fail,
  type Model,
  ModelFailure,
  type RuntimeOptions,
  tool,
  type Turn,
  type UiChunk,
} from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { until } from '../kit/stores/all-stores.ts'
import { freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { advanceUntil } from '../kit/wait-until.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

const look = tool({
  name: 'look',
  description: 'd',
  input,
  hints: { readOnly: true },
  execute: () => ({ cents: 4200 }),
})
const refund = tool({
  name: 'refund',
  description: 'd',
  input,
  hints: { destructive: true },
  execute: () => 'refunded',
})

async function open(script: Parameters<typeof scriptedModel>[0], more: Partial<RuntimeOptions> = {}) {
  const { clock, store } = freshMemory()
  const model = scriptedModel(script, { name: 'm' })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [look, refund], models: [model], ...more })
  runtimes.push(runtime)
  return { clock, runtime, session: runtime.session('s') }
}

async function all<T>(stream: ReadableStream<T>): Promise<T[]> {
  const found: T[] = []
  for await (const each of stream) found.push(each)
  return found
}

const chunksOf = (turn: Turn, options?: Parameters<Turn['uiMessageStream']>[0]): Promise<UiChunk[]> =>
  all(turn.uiMessageStream(options))

test('SESS-12: the text stream has the text of all answers, live and after the turn', async () => {
  const { session } = await open([{ say: 'Let me look. ', call: { name: 'look' } }, 'It was 42.00 €.'])
  const turn = session.turn({ model: 'm', message: 'How much?', id: 't' })
  expect((await all(turn.textStream)).join('')).toBe('Let me look. It was 42.00 €.')
  expect((await all(turn.textStream)).join('')).toBe('Let me look. It was 42.00 €.')
  const again = await session.turns.get('t')
  expect((await all(again?.textStream as ReadableStream<string>)).join('')).toBe('Let me look. It was 42.00 €.')
})

test('SESS-12: the UI stream has text, calls with partial input, and results', async () => {
  const script = [{ say: 'Let me look.', call: { name: 'look', input: { a: 1, b: 2 } } }, 'Done.']
  const { session } = await open(script)
  const turn = session.turn({ model: 'm', message: 'How much?', id: 't' })
  const live = await chunksOf(turn)
  const types = live.map(({ type }) => type)
  expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
    'start',
    'start-step',
    'text-start',
    'text-delta',
    'text-end',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-available',
    'tool-output-available',
    'finish-step',
    'start-step',
    'text-start',
    'text-delta',
    'text-end',
    'finish-step',
    'finish',
  ])
  expect(live).toContainEqual({ type: 'tool-output-available', toolCallId: 'call_1_1', output: { cents: 4200 } })
  // A reader that comes after the end gets the same, in larger pieces.
  const later = (await chunksOf(turn)).map(({ type }) => type)
  expect(later).toEqual(types.filter((type, index) => type !== types[index - 1]))
})

test('SESS-12: the stream ends when the turn only waits for an approval, and goes on from there', async () => {
  const { runtime, session } = await open([{ say: 'I ask.', call: { name: 'refund' } }, 'Refunded.'])
  const turn = session.turn({ model: 'm', message: 'Refund A1', id: 't' })
  const first = await chunksOf(turn)
  const asked = first.find((chunk) => chunk.type === 'tool-approval-request')
  expect(first.at(-1)).toEqual({ type: 'finish', finishReason: 'tool-calls' })
  expect(asked).toMatchObject({ toolCallId: 'call_1_1' })
  await runtime.decide(asked?.approvalId ?? '', { approve: true, by: 'user:bea', reason: 'Fine' })
  const rest = await chunksOf(turn, { stepsShown: 1 })
  expect(rest.map(({ type }) => type)).toEqual([
    'start',
    'reset-step',
    'text-start',
    'text-delta',
    'text-end',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-available',
    ...rest.slice(8, -6).map(({ type }) => type),
    'start-step',
    'text-start',
    ...rest.slice(-4).map(({ type }) => type),
  ])
  expect(rest).toContainEqual({
    type: 'tool-approval-response',
    approvalId: asked?.approvalId,
    approved: true,
    reason: 'Fine',
  })
  expect(rest).toContainEqual({ type: 'tool-output-available', toolCallId: 'call_1_1', output: 'refunded' })
  expect(rest.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
})

/** A session whose model streams what the test pushes, and a reader of its text. */
async function openPushed() {
  const pushed = pushedModel()
  const { session, ...rest } = await open([], { models: [pushed.model] })
  const turn = session.turn({ model: 'm', message: 'Hi', id: 't' })
  await until(() => pushed.asked() === 1)
  return { pushed, session, turn, ...rest }
}

test('SESS-12: pieces of text arrive while the model writes; a reader that joins late gets the text so far', async () => {
  const { pushed, turn } = await openPushed()
  const reader = turn.textStream.getReader()
  const first = reader.read()
  pushed.push('One')
  expect((await first).value).toBe('One')
  const second = reader.read()
  pushed.push(', two')
  expect((await second).value).toBe(', two')
  const late = turn.textStream.getReader()
  expect((await late.read()).value).toBe('One, two')
  pushed.push(', three')
  pushed.finish()
  for (const each of [reader, late]) {
    expect((await each.read()).value).toBe(', three')
    expect((await each.read()).done).toBe(true)
  }
})

test('SESS-2 SESS-12: an answer that is requested again is not repeated in the text', async () => {
  const { pushed, turn, clock } = await openPushed()
  const reader = turn.textStream.getReader()
  const first = reader.read()
  pushed.push('One, two')
  expect((await first).value).toBe('One, two')
  const second = reader.read()
  pushed.fail(new ModelFailure('cut off', { retryable: true }))
  await advanceUntil(clock, () => pushed.asked() === 2)
  pushed.push('One, ', 'two, ', 'three')
  expect((await second).value).toBe(', three')
  pushed.finish()
  expect((await reader.read()).done).toBe(true)
})

test('SESS-2 SESS-12: a text stream fails if the answer that is requested again differs', async () => {
  const { pushed, turn, clock } = await openPushed()
  const reader = turn.textStream.getReader()
  const first = reader.read()
  pushed.push('One, two')
  await first
  const second = reader.read()
  pushed.fail(new ModelFailure('cut off', { retryable: true }))
  await advanceUntil(clock, () => pushed.asked() === 2)
  pushed.push('Uno')
  await expect(second).rejects.toMatchObject({ code: 'stream_retracted' })
  pushed.finish()
  expect(await turn.outcome).toMatchObject({ value: { text: 'Uno' } })
})

test('SESS-2 SESS-12: the UI stream takes back an answer that was cut off', async () => {
  const { pushed, turn, clock } = await openPushed()
  const chunks: UiChunk[] = []
  const reading = (async () => {
    for await (const chunk of turn.uiMessageStream()) chunks.push(chunk)
  })()
  await until(() => chunks.length > 0)
  pushed.push('One')
  await until(() => chunks.some(({ type }) => type === 'text-delta'))
  pushed.fail(new ModelFailure('cut off', { retryable: true }))
  await advanceUntil(clock, () => pushed.asked() === 2)
  pushed.push('Uno')
  pushed.finish()
  await reading
  expect(chunks).toEqual([
    { type: 'start', messageId: 'answer_t' },
    { type: 'start-step' },
    { type: 'text-start', id: 'text-1-0' },
    { type: 'text-delta', id: 'text-1-0', delta: 'One' },
    { type: 'reset-step' },
    { type: 'text-start', id: 'text-1-0' },
    { type: 'text-delta', id: 'text-1-0', delta: 'Uno' },
    { type: 'text-end', id: 'text-1-0' },
    { type: 'finish-step' },
    { type: 'finish', finishReason: 'stop' },
  ])
})

test('SESS-12: cancelling a stream leaves the turn alone, and the reader leaves the feed', async () => {
  const { pushed, turn } = await openPushed()
  const reader = turn.textStream.getReader()
  const first = reader.read()
  pushed.push('One')
  await first
  const pending = reader.read()
  await reader.cancel()
  expect((await pending).done).toBe(true)
  pushed.finish()
  expect(await turn.outcome).toMatchObject({ status: 'success', value: { text: 'One' } })
})

test('SESS-12: a turn that fails or is cancelled says so in the stream', async () => {
  const { session, clock } = await open([])
  const failing = scriptedModel([{ say: 'x', fails: { times: 9, what: 'no quota', retryable: false } }], { name: 'f' })
  const failed = await chunksOf(session.turn({ model: failing, message: 'Hi' }))
  expect(failed.at(-1)).toMatchObject({ type: 'error', errorText: expect.stringContaining('f') as string })
  const hanging = pushedModel('hanging')
  const turn = session.turn({ model: hanging.model, message: 'Hi' })
  const reading = chunksOf(turn)
  await until(() => hanging.asked() === 1)
  await turn.cancel('Stopped by the user')
  await clock.advance(1_000) // the model ignores its signal
  expect((await reading).at(-1)).toEqual({ type: 'abort', reason: 'Stopped by the user' })
})

test('SESS-12: a stream of a turn that cannot start fails with its error', async () => {
  const { session } = await open(['Hello'])
  await session.turn({ model: 'm', message: 'Hi', id: 'same' }).outcome
  const conflicting = session.turn({ model: 'm', message: 'Something else', id: 'same' })
  await expect(all(conflicting.uiMessageStream())).rejects.toMatchObject({ code: 'turn_conflict' })
})

test('SESS-12: ids that a model uses twice are told apart, live and from the record', async () => {
  const call = { name: 'look', id: 'same' }
  const { session } = await open([{ call: [call, call] }, { call }, 'Done.'])
  const turn = session.turn({ model: 'm', message: 'Hi', id: 't' })
  const idsIn = (chunks: UiChunk[]): string[] =>
    chunks.flatMap((chunk) => (chunk.type === 'tool-output-available' ? chunk.toolCallId : []))
  const live = idsIn(await chunksOf(turn))
  expect(new Set(live).size).toBe(3)
  expect(idsIn(await chunksOf(turn)).toSorted()).toEqual(live.toSorted())
})

test('SESS-12: a denied call, a failed call and a call that waits for the outside are shown as such', async () => {
  const fails = tool({
    name: 'fails',
    description: 'd',
    input,
    execute: () => {
      throw fail('Out of stock')
    },
  })
  const hook = tool({
    name: 'hook',
    description: 'd',
    input,
    onCrash: 'rerun',
    execute: (_, ctx) => ctx.later({ deadline: '3d' }),
  })
  const script = [{ call: [{ name: 'refund' }, { name: 'fails' }, { name: 'hook' }] }, 'Done.']
  const { session, runtime } = await open(script, { tools: [refund, fails, hook] })
  const turn = session.turn({ model: 'm', message: 'Hi', id: 't' })
  const first = await chunksOf(turn)
  expect(first).toContainEqual({ type: 'tool-output-error', toolCallId: 'call_1_2', errorText: 'Out of stock' })
  expect(first).toContainEqual(
    expect.objectContaining({ type: 'data-waiting', data: { toolCallId: 'call_1_3', for: 'completion' } }),
  )
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { deny: true, by: 'user:bea' })
  await until(async () => (await session.calls.list({ tool: 'refund' }))[0]?.state === 'settled')
  const second = await chunksOf(turn, { stepsShown: 1 })
  expect(second).toContainEqual({ type: 'tool-output-denied', toolCallId: 'call_1_1' })
  expect(second).toContainEqual({ type: 'tool-approval-response', approvalId: item?.id, approved: false })
})

test('SESS-12: uiMessages() shows what the streams showed', async () => {
  const script = [{ say: 'I ask.', call: [{ name: 'look' }, { name: 'refund' }] }, 'Refunded.', 'Bye.']
  const { session, runtime } = await open(script)
  const turn = session.turn({ model: 'm', message: 'Refund A1', id: 't1' })
  await chunksOf(turn)
  const [item] = await runtime.inbox()
  expect(await session.turns.uiMessages()).toMatchObject([
    { id: 't1', role: 'user', parts: [{ type: 'text', text: 'Refund A1' }] },
    { id: 'answer_t1', role: 'assistant', parts: { 3: { state: 'approval-requested', approval: { id: item?.id } } } },
  ])
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  await turn.outcome
  await session.turn({ model: 'm', message: 'Thanks', id: 't2' }).outcome
  expect(await session.turns.uiMessages()).toEqual([
    { id: 't1', role: 'user', parts: [{ type: 'text', text: 'Refund A1', state: 'done' }] },
    {
      id: 'answer_t1',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'text', text: 'I ask.', state: 'done' },
        {
          type: 'tool-look',
          toolCallId: 'call_1_1',
          state: 'output-available',
          input: {},
          output: { cents: 4200 },
        },
        {
          type: 'tool-refund',
          toolCallId: 'call_1_2',
          state: 'output-available',
          input: {},
          output: 'refunded',
          approval: { id: item?.id, approved: true },
        },
        { type: 'step-start' },
        { type: 'text', text: 'Refunded.', state: 'done' },
      ],
    },
    { id: 't2', role: 'user', parts: [{ type: 'text', text: 'Thanks', state: 'done' }] },
    {
      id: 'answer_t2',
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'text', text: 'Bye.', state: 'done' }],
    },
  ])
})

test('SESS-12: session.turns finds the open turn, a turn by id, and the next turn', async () => {
  const { session } = await open([{ call: { name: 'refund' } }, 'Second.'])
  expect(await session.turns.open()).toBeNull()
  expect(await session.turns.get('t1')).toBeNull()
  expect(await session.turns.after('t1')).toBeNull()
  await chunksOf(session.turn({ model: 'm', message: 'Refund', id: 't1' }))
  expect((await session.turns.open())?.id).toBe('t1')
  expect(await session.turns.after('t1')).toBeNull()
  await session.turn({ model: 'm', message: 'Hi', id: 't2' }).outcome
  expect(await session.turns.open()).toBeNull()
  expect((await session.turns.after('t1'))?.id).toBe('t2')
  expect(await (await session.turns.get('t1'))?.outcome).toMatchObject({ value: { end: 'handed_over' } })
})

test('SESS-12: preliminary results and progress of a call are shown before its result', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = tool({
    name: 'slow',
    description: 'd',
    input,
    async execute(_, ctx) {
      ctx.progress({ current: 1, preliminary: { found: 1, token: 'sk-secret-1234567890' } })
      await gate.promise
      return { found: 2 }
    },
  })
  const { session, clock } = await open([{ call: { name: 'slow' } }, 'Done.'], {
    tools: [slow],
    secrets: ['sk-secret-1234567890'],
  })
  const turn = session.turn({ model: 'm', message: 'Hi' })
  const chunks: UiChunk[] = []
  const reading = (async () => {
    for await (const chunk of turn.uiMessageStream()) {
      chunks.push(chunk)
      if (chunk.type === 'tool-output-available' && chunk.preliminary) gate.resolve()
    }
  })()
  await advanceUntil(clock, () => chunks.some(({ type }) => type === 'finish'))
  await reading
  expect(chunks.filter(({ type }) => type === 'tool-output-available')).toEqual([
    {
      type: 'tool-output-available',
      toolCallId: 'call_1_1',
      output: { found: 1, token: '[redacted]' },
      preliminary: true,
    },
    { type: 'tool-output-available', toolCallId: 'call_1_1', output: { found: 2 } },
  ])
})

test('SESS-12: tools that the provider ran and sources are shown', async () => {
  const parts: AssistantPart[] = [
    { type: 'text', text: 'I search.' },
    { type: 'provider_call', id: 'p1', name: 'web_search', input: '{"q":"x"}', provider: 'anthropic' },
    { type: 'provider_result', callId: 'p1', name: 'web_search', output: ['found'], provider: 'anthropic' },
    { type: 'source', id: 's1', url: 'https://example.org/', title: 'Example' },
    { type: 'text', text: 'Found it.' },
  ]
  const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
  const model: Model = {
    name: 'searching',
    generate: async ({ told }) => {
      told({ type: 'text', delta: 'I search.' })
      told({ type: 'call', id: 'p1', name: 'web_search', provider: true })
      told({ type: 'input', id: 'p1', delta: '{"q":"x"}' })
      told({ type: 'text', delta: 'Found it.' })
      return { parts, finish: 'stop', usage }
    },
  }
  const { session } = await open([])
  const turn = session.turn({ model, message: 'Hi', id: 't' })
  for (const chunks of [await chunksOf(turn), await chunksOf(turn)]) {
    expect(chunks).not.toContainEqual({ type: 'reset-step' })
    expect(chunks).toContainEqual({
      type: 'tool-input-available',
      toolCallId: 'p1',
      toolName: 'web_search',
      input: { q: 'x' },
      providerExecuted: true,
    })
    expect(chunks).toContainEqual({
      type: 'tool-output-available',
      toolCallId: 'p1',
      output: ['found'],
      providerExecuted: true,
    })
    expect(chunks).toContainEqual({
      type: 'source-url',
      sourceId: 's1',
      url: 'https://example.org/',
      title: 'Example',
    })
    expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' && 'delta' in chunk ? chunk.delta : []))).toEqual([
      'I search.',
      'Found it.',
    ])
  }
})

test('SESS-12: a stream fails when its runtime closes, so that a part is not taken for the whole answer', async () => {
  const { pushed, turn, runtime } = await openPushed()
  turn.outcome.catch(() => {})
  const text = turn.textStream.getReader()
  const chunks = all(turn.uiMessageStream())
  const first = text.read()
  pushed.push('One')
  await first
  const next = text.read()
  await Promise.all([
    expect(next).rejects.toMatchObject({ code: 'runtime_closed' }),
    expect(chunks).rejects.toMatchObject({ code: 'runtime_closed' }),
    runtime.close({ grace: 0 }),
  ])
})
