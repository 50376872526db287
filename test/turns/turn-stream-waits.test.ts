// Streams of turns whose calls wait, readers that leave or are too slow, and records that are erased.

import { createRuntime, type RuntimeOptions, tool, type Turn, type UiChunk } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { LiveHub } from '../../src/feed/live-hub.ts'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { until } from '../kit/stores/all-stores.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

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
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [refund], models: [model], ...more })
  runtimes.push(runtime)
  const asked = () => until(async () => (await runtime.inbox()).length === 1)
  return { clock, runtime, session: runtime.session('s'), asked }
}

async function rest<T>(reader: ReadableStreamDefaultReader<T>): Promise<T[]> {
  const found: T[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return found
    found.push(value)
  }
}

const chunksOf = (turn: Turn, options?: Parameters<Turn['uiMessageStream']>[0]): Promise<UiChunk[]> =>
  rest(turn.uiMessageStream(options).getReader())

const waits = { type: 'finish', finishReason: 'tool-calls' } as const

test('SESS-12: an answer after a call that still waits is in the stream and in uiMessages()', async () => {
  const { session, asked } = await open([{ call: { name: 'refund' } }, 'Sunny.'])
  const turn = session.turn({ model: 'm', message: 'Refund A1', id: 't' })
  await asked()
  expect((await chunksOf(turn)).at(-1)).toEqual(waits)
  await session.messages.send('How is the weather?')
  await turn.outcome
  const again = await chunksOf(turn)
  expect(again).toContainEqual({ type: 'text-delta', id: 'text-2-0', delta: 'Sunny.' })
  expect(again.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
  const [, , answer] = await session.turns.uiMessages()
  expect(answer?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'tool-refund', state: 'approval-requested' },
    { type: 'step-start' },
    { type: 'text', text: 'Sunny.' },
  ])
})

test('SESS-12: the stream ends when the first of several calls that run one after another waits', async () => {
  const { session } = await open([{ call: [{ name: 'refund' }, { name: 'refund' }] }])
  const turn = session.turn({ model: 'm', message: 'Refund both', id: 't', parallel: false })
  for (const chunks of [await chunksOf(turn), await chunksOf(turn)]) {
    expect(chunks.filter(({ type }) => type === 'tool-approval-request')).toHaveLength(1)
    expect(chunks.at(-1)).toEqual(waits)
  }
})

test('SESS-12 SESS-13: the stream of a turn that was handed over before all its calls started ends', async () => {
  const { session, asked } = await open([{ call: [{ name: 'refund' }, { name: 'refund' }] }, 'Second.'])
  const turn = session.turn({ model: 'm', message: 'Refund both', id: 't', parallel: false })
  const live = chunksOf(turn, { until: 'ended' })
  await asked()
  await session.turn({ model: 'm', message: 'Hi' }).outcome
  for (const chunks of [await live, await chunksOf(turn)]) {
    expect(chunks).toContainEqual({
      type: 'tool-output-error',
      toolCallId: 'call_1_2',
      errorText: 'It was not started',
    })
    expect(chunks.at(-1)).toEqual(waits)
  }
})

/** A turn whose model streams what the test pushes, and a reader that has read up to a chunk of this type. */
async function openReader(
  upTo: UiChunk['type'],
  first: (pushed: ReturnType<typeof pushedModel>) => void,
  tools = [refund],
) {
  const pushed = pushedModel()
  const { session, ...more } = await open([], { models: [pushed.model], tools })
  const turn = session.turn({ model: 'm', message: 'Hi', id: 't' })
  await until(() => pushed.asked() === 1)
  const reader = turn.uiMessageStream().getReader()
  const reading = (async () => {
    while ((await reader.read()).value?.type !== upTo);
  })()
  first(pushed)
  await reading
  return { pushed, turn, reader, ...more }
}

/** More than a reader may leave unread. */
const pushTooMuch = (push: (text: string) => void): void => {
  for (let n = 0; n < 5_000; n++) push('x')
}

test('SESS-12: a reader that was too slow gets the results of the calls that ended meanwhile', async () => {
  const done = Promise.withResolvers<string>()
  const slow = tool({ name: 'slow', description: 'd', input, timeout: '1h', execute: () => done.promise })
  const opened = await openReader('tool-input-available', ({ finish }) => finish({ id: 'c1', name: 'slow' }), [slow])
  const { pushed, turn, reader } = opened
  done.resolve('RESULT')
  await until(() => pushed.asked() === 2)
  // Another reader opens the answer, so that every piece is sent for itself.
  const other = turn.textStream.getReader()
  pushed.push('x')
  await other.read()
  pushTooMuch(pushed.push)
  pushed.finish()
  await turn.outcome
  const chunks = await rest(reader)
  expect(chunks).toContainEqual({ type: 'tool-output-available', toolCallId: 'c1', output: 'RESULT' })
  expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
})

test('SESS-12: the stream of a reader that was too slow ends if the session was erased meanwhile', async () => {
  const { pushed, reader, runtime, clock } = await openReader('text-delta', ({ push }) => push('One'))
  pushTooMuch(pushed.push)
  await after(runtime.erase({ session: 's', open: 'cancel' }), clock, 5_000, 100)
  expect((await rest(reader)).at(-1)).toEqual({ type: 'abort', reason: 'Its record is gone' })
})

test('SESS-12: a stream that is cancelled between two chunks leaves the feed', async () => {
  const readers = new Set<unknown>()
  const join = LiveHub.prototype.join
  const spy = vi.spyOn(LiveHub.prototype, 'join').mockImplementation(function (this: LiveHub, reader) {
    readers.add(reader)
    const leave = join.call(this, reader)
    return () => {
      readers.delete(reader)
      leave()
    }
  })
  try {
    const { pushed, turn, reader } = await openReader('text-delta', ({ push }) => push('One'))
    expect(readers.size).toBe(1)
    await reader.cancel()
    expect(readers.size).toBe(0)
    pushed.finish()
    expect(await turn.outcome).toMatchObject({ status: 'success' })
  } finally {
    spy.mockRestore()
  }
})
