// pawl/openai: the calls in an API answer, and the results that are sent back.

import { PawlError } from 'pawl'
import { callsFromOpenAI, openaiResults, openaiTools, runOpenAI } from 'pawl/openai'
import { expect, test } from 'vitest'
import { pdf, png, readFiles, readNothing, shop, watched } from '../../kit/shop-tools.ts'

const chatCall = (id: string, name: string, text: string) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: text },
})
const itemCall = (call_id: string, name: string, text: string) => ({
  type: 'function_call' as const,
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: text,
})
const completion = (calls: object[] | null | undefined, finish_reason = 'tool_calls') => ({
  id: 'chatcmpl-1',
  choices: [{ finish_reason, message: { role: 'assistant', content: null, tool_calls: calls as never } }],
})

const asks: [string, string, string][] = [
  ['c1', 'slow', ''],
  ['c2', 'add', '{"a": 1, "b": 2}'],
  ['c3', 'broke', '{}'],
  ['c4', 'nowhere', '{}'],
  ['c5', 'add', '{"a": 1'],
  ['c6', 'add', '{"a": "x"}'],
  ['c2', 'add', '{"a": 5}'],
  ['', '', '{}'],
]
const read = [
  ['c1', 'at last'],
  ['c2', '{"sum":3}'],
  [
    'c3',
    expect.stringMatching(
      /^\[Tool execution failed\]\nNo such "order"\n\[attachment "shot.png" att_\S+: image\/png, 8 bytes\]$/,
    ),
  ],
  ['c4', expect.stringMatching(/^\[Tool execution failed\]\n.*nowhere/)],
  ['c5', expect.stringMatching(/^\[Tool execution failed\]\n.*JSON/)],
  ['c6', expect.stringMatching(/^\[Tool execution failed\]\n[^]*a: /)],
  ['c2', '{"sum":5}'],
  ['call_7', expect.stringContaining('[Tool execution failed]')],
]

test('CALL-2: each call of a chat completion gets one tool message, in order', async () => {
  const { tools } = shop()
  const { session, asked } = await watched(tools)
  const messages = await runOpenAI(session, completion(asks.map((ask) => chatCall(...ask))))
  expect(messages.map((message) => [message.tool_call_id, message.content])).toEqual(read)
  expect(messages.every(({ role }) => role === 'tool')).toBe(true)
  expect(asked.map(({ batch, calls }) => [batch, calls.length])).toEqual([['chatcmpl-1', 8]])
})

test('CALL-2: each call of a response gets one function_call_output, in order', async () => {
  const { tools } = shop()
  const { session, asked } = await watched(tools)
  const items = [
    { type: 'reasoning' },
    ...asks.map((ask) => itemCall(...ask)),
    { type: 'web_search_call' },
    { type: 'custom_tool_call', call_id: 'x', name: 'y', input: '' },
  ]
  const results = await runOpenAI(session, { id: 'resp_1', output: items, status: 'completed' })
  expect(results.map((item) => [item.call_id, item.output])).toEqual(read)
  expect(results.every(({ type }) => type === 'function_call_output')).toBe(true)
  expect(asked[0]?.batch).toBe('resp_1')
})

test('CALL-2: an id that cannot be recorded still gets its result and is returned unchanged', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  const ids = ['x'.repeat(5000), 'nul\0', '\ud800', `${'x'.repeat(4999)}y`]
  const answer = completion([
    ...ids.map((id, n) => chatCall(id, 'add', `{"a":${n}}`)),
    chatCall('long', 'n'.repeat(600), ''),
  ])
  const messages = await runOpenAI(session, answer)
  expect(messages.map((message) => message.tool_call_id)).toEqual([...ids, 'long'])
  expect(messages.map(({ content }) => content).slice(0, 4)).toEqual([0, 1, 2, 3].map((n) => `{"sum":${n}}`))
  expect(await runOpenAI(session, answer)).toEqual(messages)
})

test('CALL-4: arguments keep the text of the model, and only function calls become calls', () => {
  expect(callsFromOpenAI(completion([chatCall('a', 'add', ' {"a":1e400} ')]))).toEqual([
    { id: 'a', name: 'add', input: ' {"a":1e400} ' },
  ])
  expect(callsFromOpenAI({ tool_calls: [chatCall('a', 'add', '')] })).toEqual([{ id: 'a', name: 'add', input: '' }])
  expect(callsFromOpenAI([itemCall('a', 'add', '{}')])).toEqual([{ id: 'a', name: 'add', input: '{}' }])
  // Servers that only resemble OpenAI's: arguments as objects, no type, no id.
  expect(callsFromOpenAI({ tool_calls: [{ function: { name: 'add', arguments: { a: 1 } } } as never] })).toEqual([
    { id: 'call_0', name: 'add', input: '{"a":1}' },
  ])
  for (const none of [
    completion(null),
    completion(undefined),
    completion([]),
    { id: 'x', choices: [] },
    {},
    { tool_calls: null },
    { id: 'r', output: [] },
    [],
  ]) {
    expect(callsFromOpenAI(none)).toEqual([])
  }
  expect(callsFromOpenAI(completion([{ id: 'a', type: 'custom', custom: { name: 'add', input: 'text' } }]))).toEqual([])
})

test('CALL-4: a call truncated before its arguments is rejected and not run without them', async () => {
  const { tools, ran } = shop()
  const { session } = await watched(tools)
  const calls = [chatCall('a', 'slow', ''), chatCall('b', 'slow', '')]
  const cut = await runOpenAI(session, completion(calls, 'length'))
  expect(cut.map(({ content }) => content.split('\n')[0])).toEqual(['at last', '[Tool execution failed]'])
  await runOpenAI(session, { id: 'r', status: 'incomplete', output: [itemCall('c', 'slow', '')] })
  expect(ran).toEqual(['slow'])
})

test('CALL-2: an answer without calls runs nothing and returns no results', async () => {
  const { session, asked } = await watched([])
  expect(openaiTools(session, { api: 'chat' })).toEqual([])
  expect(await runOpenAI(session, completion(null))).toEqual([])
  expect(await openaiResults([], { api: 'responses' })).toEqual([])
  expect(asked).toEqual([])
})

test('CALL-6: a repeated answer joins its calls; without an id it needs a batch name', async () => {
  const { tools, ran } = shop()
  const { session } = await watched(tools)
  const answer = completion([chatCall('a', 'add', '{"a":1}'), chatCall('a', 'add', '{"a":1}')])
  const first = await runOpenAI(session, answer)
  const { message } = answer.choices[0] as (typeof answer.choices)[0]
  expect(await runOpenAI(session, answer)).toEqual(first)
  expect(await runOpenAI(session, message, { batch: answer.id })).toEqual(first)
  expect(ran).toEqual(['add 1', 'add 1'])
  await expect(runOpenAI(session, message, {} as never)).rejects.toThrow(PawlError)
  expect(await runOpenAI(session, { ...answer, id: 'chatcmpl-2' })).toEqual(first)
  expect(ran).toHaveLength(4)
})

test('CALL-6: the abort signal is passed to the batch', async () => {
  const { tools } = shop()
  const { session, asked } = await watched(tools)
  const { signal } = new AbortController()
  await runOpenAI(session, completion([chatCall('a', 'slow', '')]), { signal })
  expect(asked[0]?.signal).toBe(signal)
})

test('TOOL-8: openaiTools accepts a session or a list, and nulls in strict answers are removed', async () => {
  const { tools } = shop()
  const { session } = await watched(tools)
  const shown = openaiTools(session, { api: 'responses', strict: true })
  expect(shown.map(({ name, strict }) => [name, strict])).toEqual(
    ['add', 'broke', 'draw', 'quiet', 'slow'].map((name) => [name, true]),
  )
  expect(openaiTools(tools, { api: 'responses', strict: true })).toEqual(shown)
  expect(openaiTools(tools, { api: 'chat' })[0]?.function.strict).toBe(false)
  const answer = {
    id: 'r',
    output: [
      itemCall('a', 'add', '{"a":1,"b":null}'),
      itemCall('b', 'add', '{"a":null,"b":null'),
      itemCall('c', 'slow', ''),
    ],
  }
  expect(callsFromOpenAI(answer, { strict: tools }).map(({ input }) => input)).toEqual([
    { a: 1 },
    '{"a":null,"b":null',
    '',
  ])
  expect((await runOpenAI(session, answer, { strict: true }))[0]?.output).toBe('{"sum":1}')
  expect((await runOpenAI(session, { ...answer, id: 's' }))[0]?.output).toContain('[Tool execution failed]')
})

test('VAL-5: images and PDFs are native parts in responses; in chat all files are only named', async () => {
  const { tools } = shop()
  const { session, runtime } = await watched(tools)
  const response = {
    id: 'r',
    output: [itemCall('a', 'draw', ''), itemCall('b', 'quiet', ''), itemCall('c', 'broke', '')],
  }
  const base64 = Buffer.from(png).toString('base64')
  const [drawn, quiet] = await runOpenAI(session, response, { attachments: readFiles })
  expect(drawn?.output).toEqual([
    { type: 'input_text', text: '{"image":' },
    { type: 'input_image', image_url: `data:image/png;base64,${base64}`, detail: 'auto' },
    { type: 'input_text', text: ',"paper":' },
    {
      type: 'input_file',
      filename: expect.stringMatching(/^att_.*\.pdf$/),
      file_data: `data:application/pdf;base64,${Buffer.from(pdf).toString('base64')}`,
    },
    { type: 'input_text', text: ',"table":' },
    { type: 'input_text', text: expect.stringMatching(/^\[attachment "t\.csv" att_\S+: text\/csv, 3 bytes\]$/) },
    { type: 'input_text', text: '}' },
  ])
  expect(quiet?.output).toBe('')
  const named =
    /^\{"image":\[attachment "shot\.png" att_\S+: image\/png, 8 bytes\],"paper":\[attachment att_\S+: application\/pdf, 8 bytes\],"table":\[.*\]\}$/
  expect((await runOpenAI(session, response, { attachments: readNothing }))[0]?.output).toMatch(named)
  expect((await runOpenAI(session, response))[0]?.output).toMatch(named)
  const outcomes = await session.run([{ id: 'a', name: 'draw' }], { batch: 'chat' })
  expect((await openaiResults(outcomes, { api: 'chat' }))[0]?.content).toMatch(named)
  expect((await runOpenAI(runtime.session('s'), response))[0]?.output).toHaveLength(7)
})

test('CALL-2, CALL-4: object arguments nested too deeply to serialize fail only their own call', async () => {
  const { tools, ran } = shop()
  const { session } = await watched(tools)
  let deep: unknown = 1
  for (let level = 0; level < 20_000; level++) deep = [deep]
  const calls = [{ id: 'a', function: { name: 'add', arguments: { a: deep } } }, chatCall('b', 'slow', '')]
  const messages = await runOpenAI(session, completion(calls))
  expect(messages.map(({ tool_call_id, content }) => [tool_call_id, content.split('\n')[0]])).toEqual([
    ['a', '[Tool execution failed]'],
    ['b', 'at last'],
  ])
  expect(ran).toEqual(['slow'])
})
