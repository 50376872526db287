// pawl/anthropic: the calls in a message, and the results that are sent back.

import { PawlError } from 'pawl'
import { anthropicResults, anthropicTools, callsFromAnthropic, runAnthropic } from 'pawl/anthropic'
import { expect, test } from 'vitest'
import { pdf, png, readFiles, readNothing, shop, watched } from '../../kit/shop-tools.ts'

const use = (id: string, name: string, input: unknown) => ({ type: 'tool_use' as const, id, name, input })
const message = (content: { type: string }[], stop_reason = 'tool_use') => ({
  id: 'msg_1',
  role: 'assistant',
  content,
  stop_reason,
})

test('CALL-2: each tool_use gets one tool_result in order, with is_error unless it succeeded', async () => {
  const { tools } = shop()
  const { session, asked } = await watched(tools)
  const content = [
    { type: 'text', text: 'Let me see' },
    use('t1', 'slow', {}),
    { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} },
    use('t2', 'add', { a: 1, b: 2 }),
    use('t3', 'broke', {}),
    use('t4', 'nowhere', {}),
    use('t5', 'add', '{"a": 1'),
    use('t6', 'add', { a: 'x' }),
    use('t2', 'add', { a: 5 }),
    use('', '', null),
  ]
  const results = await runAnthropic(session, message(content))
  const text = (of: string | RegExp) => [
    { type: 'text', text: typeof of === 'string' ? of : expect.stringMatching(of) },
  ]
  expect(results).toEqual([
    { type: 'tool_result', tool_use_id: 't1', content: text('at last') },
    { type: 'tool_result', tool_use_id: 't2', content: text('{"sum":3}') },
    {
      type: 'tool_result',
      tool_use_id: 't3',
      is_error: true,
      content: [...text('[Tool execution failed]\nNo such "order"\n'), ...text(/^\[attachment/)],
    },
    { type: 'tool_result', tool_use_id: 't4', is_error: true, content: text(/^\[Tool execution failed\]\n.*nowhere/) },
    { type: 'tool_result', tool_use_id: 't5', is_error: true, content: text(/JSON/) },
    { type: 'tool_result', tool_use_id: 't6', is_error: true, content: text(/a: /) },
    { type: 'tool_result', tool_use_id: 't2', content: text('{"sum":5}') },
    { type: 'tool_result', tool_use_id: 'call_7', is_error: true, content: text(/^\[Tool execution failed\]/) },
  ])
  expect(asked.map(({ batch, calls }) => [batch, calls.length])).toEqual([['msg_1', 8]])
})

test('CALL-2: an id too long to record still gets its result and is returned unchanged', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  const id = 'x'.repeat(5000)
  const results = await runAnthropic(session, message([use(id, 'slow', {}), use('b', 'slow', {})]))
  expect(results.map(({ tool_use_id, is_error }) => [tool_use_id, is_error])).toEqual([[id, undefined], ['b', undefined]]) // prettier-ignore
})

test('CALL-4: the last call of a truncated message is rejected, and the calls before it run', async () => {
  const { tools, ran } = shop()
  const { session } = await watched(tools)
  const cut = message([use('a', 'slow', {}), use('b', 'add', { a: 1 })], 'max_tokens')
  expect((await runAnthropic(session, cut)).map(({ is_error }) => is_error ?? false)).toEqual([false, true])
  expect(ran).toEqual(['slow'])
  const late = message([use('c', 'add', { a: 1 }), { type: 'text' }], 'max_tokens')
  expect(callsFromAnthropic(late)).toEqual([{ id: 'c', name: 'add', input: { a: 1 } }])
})

test('CALL-2: a message without calls runs nothing, and an empty result has no content', async () => {
  const { tools } = shop()
  const { session, asked } = await watched(tools)
  expect(await runAnthropic(session, message([{ type: 'text' }], 'end_turn'))).toEqual([])
  expect(await runAnthropic(session, { content: 'Hello' })).toEqual([])
  expect(await anthropicResults([])).toEqual([])
  expect(anthropicTools([])).toEqual([])
  expect(asked).toEqual([])
  expect(await runAnthropic(session, message([use('q', 'quiet', {})]))).toEqual([
    { type: 'tool_result', tool_use_id: 'q' },
  ])
})

test('CALL-6: a repeated message joins its calls; without an id it needs a batch name', async () => {
  const { tools, ran } = shop()
  const { session } = await watched(tools)
  const asked = message([use('a', 'add', { a: 1 }), use('a', 'add', { a: 1 })])
  const { id, ...kept } = asked
  const first = await runAnthropic(session, asked)
  expect(await runAnthropic(session, asked)).toEqual(first)
  expect(await runAnthropic(session, kept, { batch: id })).toEqual(first)
  expect(ran).toEqual(['add 1', 'add 1'])
  await expect(runAnthropic(session, kept)).rejects.toThrow(PawlError)
})

test('CALL-6: the abort signal is passed to the batch', async () => {
  const { tools } = shop()
  const { session, asked } = await watched(tools)
  const { signal } = new AbortController()
  await runAnthropic(session, message([use('a', 'slow', {})]), { signal })
  expect(asked[0]?.signal).toBe(signal)
})

test('TOOL-8: definitions come from the session or from a list', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  expect(anthropicTools(session).map(({ name }) => name)).toEqual(['add', 'broke', 'draw', 'quiet', 'slow'])
  expect(anthropicTools(tools)).toEqual(anthropicTools(session))
})

test('VAL-5: readable images and PDFs are native blocks, other files are named; errors are text', async () => {
  const { tools } = shop()
  const { session, runtime } = await watched(tools)
  const asked = message([use('a', 'draw', {}), use('b', 'broke', {})])
  const data = Buffer.from(png).toString('base64')
  const [drawn, broke] = await runAnthropic(session, asked, { attachments: readFiles })
  expect(drawn?.content).toEqual([
    { type: 'text', text: '{"image":' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
    { type: 'text', text: ',"paper":' },
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: Buffer.from(pdf).toString('base64') },
      title: null,
    },
    { type: 'text', text: ',"table":' },
    { type: 'text', text: expect.stringMatching(/^\[attachment "t\.csv" att_\S+: text\/csv, 3 bytes\]$/) },
    { type: 'text', text: '}' },
  ])
  expect(broke?.content?.map(({ type }) => type)).toEqual(['text', 'text'])
  for (const options of [{}, { attachments: readNothing }]) {
    const [named] = await runAnthropic(session, asked, options)
    expect(named?.content?.every(({ type }) => type === 'text')).toBe(true)
    expect(JSON.stringify(named)).not.toContain(data)
  }
  expect((await runAnthropic(runtime.session('s'), asked))[0]).toEqual(drawn)
})

test('VAL-5: a file above the size limit of providers is named and not read', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  const [outcome] = await session.run([{ id: 'a', name: 'draw' }], { batch: 'b' })
  if (outcome?.status !== 'success') throw new Error('it did not draw')
  const parts = outcome.parts.map((part) =>
    part.type === 'text' ? part : { ...part, attachment: { ref: { ...part.attachment.ref, bytes: 6_000_000 } } },
  )
  const [block] = await anthropicResults([{ ...outcome, parts }], { attachments: readFiles })
  expect(block?.content?.every(({ type }) => type === 'text')).toBe(true)
})

test('CALL-2, CALL-4: arguments nested too deeply to serialize fail without affecting others', async () => {
  const { tools, ran } = shop()
  const { session } = await watched(tools)
  let deep: unknown = 1
  for (let level = 0; level < 20_000; level++) deep = [deep]
  const asked = message(
    [use('a', 'add', { a: deep }), use('b', 'slow', {}), use('c', 'add', { a: 1, b: deep })],
    'max_tokens',
  )
  expect(
    (await runAnthropic(session, asked)).map(({ tool_use_id, is_error }) => [tool_use_id, is_error ?? false]),
  ).toEqual([
    ['a', true],
    ['b', false],
    ['c', true],
  ])
  expect(ran).toEqual(['slow'])
})
