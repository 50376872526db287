import { expect, test } from 'vitest'
import { callOne, openHostile, plainTool } from '../../kit/mcp/open-mcp.ts'
import type { HostileCall } from '../../kit/mcp/child-hostile-server.ts'

const text = (value: string): object => ({ type: 'text', text: value })
const png = 'iVBORw0KGgo='

async function resultOf(call: HostileCall, definition: object = {}): Promise<Record<string, unknown>> {
  const { runtime } = await openHostile({ tools: [plainTool('t', definition)], calls: { t: call } })
  return callOne(runtime, 'h__t')
}

test('MCP-2: texts, links and embedded texts become the value, files become attachments', async () => {
  const content = [
    text('one'),
    { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
    { type: 'resource_link', uri: 'file:///b.txt', name: 'b' },
    { type: 'image', data: png, mimeType: 'image/png' },
    { type: 'audio', data: png, mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'file:///c/d.bin', blob: png } },
    { type: 'unheard-of' },
    null,
  ]
  const outcome = await resultOf({ result: { content } })
  expect(outcome.value).toBe('one\nResource "file:///a.txt":\ninside\nResource link "file:///b.txt" ("b")')
  expect(outcome.attachments).toMatchObject([
    { ref: { mediaType: 'image/png', bytes: 8 } },
    { ref: { mediaType: 'audio/wav' } },
    { ref: { mediaType: 'application/octet-stream', name: 'd.bin' } },
  ])
})

test('MCP-2: structured content is the value of a tool with an output schema', async () => {
  const schema = { outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } }
  const result = { content: [text('{"n":1}')], structuredContent: { n: 1 } }
  expect(await resultOf({ result }, schema)).toMatchObject({ status: 'success', value: { n: 1 } })
  expect(await resultOf({ result: { structuredContent: { n: 'x' } } }, schema)).toMatchObject({ status: 'failure' })
  expect(await resultOf({ result: { content: [], structuredContent: { a: 2 } } })).toMatchObject({ value: { a: 2 } })
})

test('MCP-2: an error of a tool is a failure that the model reads', async () => {
  expect(await resultOf({ result: { content: [text('No such file')], isError: true } })).toMatchObject({
    status: 'failure',
    failure: { code: 'tool_error', message: 'No such file', source: 'tool' },
  })
  const refused = await resultOf({ error: { code: -32_602, message: 'Bad\u001b[31m input' } })
  expect(refused).toMatchObject({ failure: { class: 'invalid_request', code: 'mcp_error' } })
  expect(JSON.stringify(refused)).toContain('Bad<U+001B>[31m input')
})

test('MCP-2: data of a tool is never decoded as a tag of the record', async () => {
  const tag = { $pawl: 'attachment', id: 'att_x', mediaType: 'image/png', bytes: 8 }
  const outcome = await resultOf({ result: { content: [], structuredContent: { a: tag, b: { __proto__x: 1 } } } })
  expect(outcome.value).toEqual({ a: tag, b: { __proto__x: 1 } })
  expect(outcome.attachments).toBeUndefined()
})

test('MCP-2: 15,000 small images become 20 attachments and a note', async () => {
  const outcome = await resultOf({
    parts: { part: { type: 'image', data: png, mimeType: 'image/png' }, times: 15_000 },
  })
  expect(outcome.attachments).toHaveLength(20)
  expect(outcome.value).toBe(
    '\n[Left out: 14000 more parts of the result, 980 files that are too many, too large or not valid base64.]',
  )
})

test('MCP-2: a text of 6 MiB is cut, and damaged files are left out', async () => {
  const { value } = await resultOf({ repeat: { text: 'abcdefgh', times: 786_432 } })
  expect((value as string).length).toBeLessThan(1_100_000)
  expect(value).toContain('[The rest of the text is left out.]')
  const content = [text('a'), { type: 'image', data: '<script>', mimeType: 'image/png' }]
  expect((await resultOf({ result: { content } })).value).toContain('1 files')
})

test.each([
  ['no content', {}],
  ['a text as content', { content: 'x' }],
  ['parts of wrong types', { content: [{ type: 'text', text: 5 }, { type: 'image' }, { type: 'resource' }, 7] }],
])('MCP-2: a result with %s is a success without text', async (_, result) => {
  expect(await resultOf({ result })).toMatchObject({ status: 'success' })
})

test.each([
  ['bytes', { repeat: { text: 'x'.repeat(1_024), times: 10_000 } }],
  ['values', { parts: { part: 7, times: 300_000 } }],
] as const)('MCP-2: an answer with too many %s ends the connection, not the runtime', async (_, big) => {
  const { runtime, server } = await openHostile({ tools: [plainTool('big'), plainTool('ok')], calls: { big } })
  expect(await callOne(runtime, 'h__big')).toMatchObject({ status: 'unknown' })
  expect(await callOne(runtime, 'h__ok')).toMatchObject({ status: 'success', value: 'done' })
  expect(server.effects).toEqual(['big {}', 'ok {}'])
})

test('MCP-2: titles and descriptions reach the inbox as one line of visible text', async () => {
  const title = 'Harmless\u001b[2J\u202e\n<b>Approve</b> this'
  const { runtime } = await openHostile(
    { tools: [plainTool('t', { title, annotations: { readOnlyHint: true } })] },
    {},
    { policy: [] },
  )
  await runtime.session('s').run([{ id: '1', name: 'h__t', input: {} }], { until: 'waiting' })
  const [item] = await runtime.inbox()
  expect(item?.title).toBe('Harmless<U+001B>[2J<U+202E> <b>Approve</b> this')
  expect(item?.effect).toBe("It comes from 'h', which is not trusted.")
})

test('MCP-2: damaged base64 of any length is recognized in linear time', { timeout: 60_000 }, async () => {
  const content = [
    { type: 'image', data: `${' '.repeat(4_000_000)}!`, mimeType: 'image/png' },
    { type: 'image', data: `${'='.repeat(2_000_000)}!`, mimeType: 'image/png' },
    { type: 'image', data: ` ${png}\n`, mimeType: 'image/png' },
  ]
  const outcome = await resultOf({ result: { content } })
  expect(outcome.value).toContain('2 files')
  expect(outcome.attachments).toHaveLength(1)
})
