// A resume point that is unknown or expired is answered with a reset, not with silence.

import { createRuntime, type Runtime, type UiChunk } from 'pawl'
import { resumeChatResponse } from 'pawl/ai-sdk'
import { expect, test } from 'vitest'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { until } from '../kit/stores/all-stores.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'

const runtimes = closedAfterEach()

async function open(): Promise<{ runtime: Runtime; pushed: ReturnType<typeof pushedModel> }> {
  const pushed = pushedModel()
  const store = `sqlite:${freshDir()}/chat.db`
  const runtime = await createRuntime({ store, logger: quiet, models: [pushed.model] })
  runtimes.push(runtime)
  return { runtime, pushed }
}

/** The chunks of a response, until it ends. */
const chunksOf = async (response: Response): Promise<(UiChunk | string)[]> =>
  (await response.text())
    .split('\n\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => (line === 'data: [DONE]' ? 'done' : (JSON.parse(line.slice(6)) as UiChunk)))

test('SESS-12: an unknown resume point streams the open turn from its start, and 204 if there is none', async () => {
  const { runtime, pushed } = await open()
  const session = runtime.session('s')
  expect((await resumeChatResponse(session, { after: 'unknown' })).status).toBe(204)
  const turn = session.turn({ model: 'm', message: 'Hi', id: 't' })
  await until(() => pushed.asked() === 1)
  pushed.push('One, ')
  for (const after of ['unknown', 'answer_unknown', '']) {
    const response = await resumeChatResponse(session, { after })
    expect(response.status).toBe(200)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    expect(Buffer.from(value as Uint8Array).toString()).toBe('data: {"type":"start","messageId":"answer_t"}\n\n')
    await reader.cancel()
  }
  const reading = chunksOf(await resumeChatResponse(session, { after: 'unknown' }))
  pushed.push('two')
  pushed.finish()
  await turn.outcome
  const chunks = await reading
  expect(chunks[0]).toEqual({ type: 'start', messageId: 'answer_t' })
  const text = chunks.map((chunk) => (typeof chunk === 'object' && chunk.type === 'text-delta' ? chunk.delta : ''))
  expect(text.join('')).toBe('One, two')
  expect(chunks.slice(-2)).toEqual([{ type: 'finish', finishReason: 'stop' }, 'done'])
  expect((await resumeChatResponse(session, { after: 'unknown' })).status).toBe(204)
})

test('FEED-2: an erased cursor expires for readers with live events, too', async () => {
  const { runtime, pushed } = await open()
  const session = runtime.session('s')
  const turn = session.turn({ model: 'm', message: 'Hi', id: 't' })
  await until(() => pushed.asked() === 1)
  pushed.finish()
  await turn.outcome
  const first = await session.events()[Symbol.asyncIterator]().next()
  const { cursor } = first.value as { cursor: string }
  await runtime.erase({ session: 's' })
  const reader = session.events({ after: cursor, live: true })[Symbol.asyncIterator]()
  await expect(reader.next()).rejects.toMatchObject({ code: 'cursor_expired' })
})

test('SESS-12: the streams of a turn that was erased end', async () => {
  const { runtime, pushed } = await open()
  const session = runtime.session('s')
  const turn = session.turn({ model: 'm', message: 'Hi', id: 't' })
  await until(() => pushed.asked() === 1)
  pushed.push('One')
  pushed.finish()
  await turn.outcome
  await runtime.erase({ session: 's' })
  const chunks: UiChunk[] = []
  for await (const chunk of turn.uiMessageStream()) chunks.push(chunk)
  expect(chunks.map(({ type }) => type)).toEqual(['start', 'abort'])
})
