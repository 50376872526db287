// Tools that the provider runs itself: given to it, recorded, shown live and sent back, with real provider packages.

import { type AssistantPart, createRuntime, type LiveEvent, type ModelDelta, type Runtime, tool } from 'pawl'
import { aiModel } from 'pawl/ai-sdk'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { anthropicProblems, openaiProblems } from '../../kit/models/provider-request-rules.ts'
import { chat, message, providerServer, type ProviderServer, type Reply } from '../../kit/models/provider-server.ts'
import { sdkGenerations } from '../../kit/models/sdk-generations.ts'
import { read } from '../../kit/secret-leak-search.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

const add = tool({
  name: 'add',
  description: 'Adds',
  input: z.object({ a: z.number() }),
  hints: { readOnly: true },
  execute: ({ a }) => a + 1,
})
const providerTools = [{ id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 2 } }]

async function serving(
  rules: Parameters<typeof providerServer>[0],
  replies: readonly Reply[],
): Promise<{ server: ProviderServer; runtime: Runtime }> {
  const server = await providerServer(rules, replies)
  const runtime = await createRuntime({ store: 'memory:', tools: [add], logger: quiet })
  open.push({ close: () => runtime.close({ grace: 0 }) }, server)
  return { server, runtime }
}

const page = {
  type: 'web_search_result',
  url: 'https://example.org/rome',
  title: 'Rome',
  encrypted_content: 'ENC==',
  page_age: null,
}

/** Puts content blocks of the server's own tool before those of the reply. `content`: null for no result. */
function searching(reply: Reply, content: unknown = [page]): Reply {
  const [start, ...rest] = reply.events as { type: string; index?: number }[]
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content }
  const block = (index: number, content_block: object, ...deltas: object[]): object[] => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
  const pieces = ['{"query":', '"Rome"}'].map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  return {
    events: [
      start as object,
      ...block(0, use, ...pieces),
      ...(content === null ? [] : block(1, found)),
      ...rest.map((event) => (event.index === undefined ? event : { ...event, index: event.index + 2 })),
    ],
  }
}

const partsOf = async (runtime: Runtime, number: number): Promise<readonly AssistantPart[]> => {
  const { message: found } = (await runtime.session('s').messages.list())[number - 1] ?? {}
  return found?.role === 'assistant' ? found.parts : []
}

describe.each(sdkGenerations)('AI SDK $sdk', ({ anthropic, lab }) => {
  test('SESS-12: a search of the provider is recorded, never run by Pawl, and sent back with the next message', async () => {
    const { server, runtime } = await serving(anthropicProblems, [
      searching(message({ say: 'Rome has 2.8 million people.' })),
      message({ say: 'You are welcome.' }),
    ])
    const session = runtime.session('s')
    const model = aiModel(anthropic(server.url))
    const ask = { model, settings: { providerTools } }
    expect(await session.turn({ ...ask, message: 'How many?' }).outcome).toMatchObject({
      status: 'success',
      value: { text: 'Rome has 2.8 million people.', steps: 1 },
    })
    await session.turn({ ...ask, message: 'Thanks' }).outcome
    expect(await partsOf(runtime, 2)).toMatchObject([
      { type: 'provider_call', id: 'srvtoolu_1', name: 'web_search', input: '{"query":"Rome"}', provider: 'anthropic' },
      { type: 'provider_result', callId: 'srvtoolu_1', output: [{ url: page.url, encryptedContent: 'ENC==' }] },
      { type: 'source', url: page.url, title: 'Rome' },
      { type: 'text', text: 'Rome has 2.8 million people.' },
    ])
    expect((await session.calls.list()).filter(({ name }) => name === 'web_search')).toEqual([])
    expect(server.asked[0].tools).toContainEqual(
      expect.objectContaining({ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }),
    )
    expect(server.asked[1].messages[1].content).toMatchObject([
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'Rome' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ encrypted_content: 'ENC==' }] },
      { type: 'text' },
    ])
    expect(server.problems).toEqual([])
  })

  test('SESS-12: a failed search is recorded and sent back as failed', async () => {
    const error = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' }
    const { server, runtime } = await serving(anthropicProblems, [
      searching(message({ say: 'I could not look.' }), error),
      message({ say: 'No.' }),
    ])
    const ask = { model: aiModel(anthropic(server.url)), settings: { providerTools } }
    await runtime.session('s').turn({ ...ask, message: 'How many?' }).outcome
    await runtime.session('s').turn({ ...ask, message: 'Really?' }).outcome
    expect((await partsOf(runtime, 2))[1]).toMatchObject({ type: 'provider_result', failed: true })
    expect(server.asked[1].messages[1].content[1]).toMatchObject({ type: 'web_search_tool_result', content: error })
  })

  test('SESS-12: calls of the provider and own calls in one answer both go on', async () => {
    const { server, runtime } = await serving(anthropicProblems, [
      searching(message({ calls: [{ id: 'toolu_1', name: 'add', args: '{"a":1}' }] })),
      message({ say: 'Two.' }),
    ])
    const ask = { model: aiModel(anthropic(server.url)), settings: { providerTools } }
    expect(await runtime.session('s').turn({ ...ask, message: 'Go' }).outcome).toMatchObject({ status: 'success' })
    const types = server.asked[1].messages[1].content.map(({ type }: { type: string }) => type)
    expect(types).toEqual(['server_tool_use', 'web_search_tool_result', 'tool_use'])
    expect(server.problems).toEqual([])
  })

  test('SESS-12: a search whose result is still to come stays open while own calls run, and is dropped after that', async () => {
    const { server, runtime } = await serving(anthropicProblems, [
      searching(message({ calls: [{ id: 'toolu_1', name: 'add', args: '{"a":1}' }] }), null),
      message({ say: 'Two.' }),
      message({ say: 'Yes.' }),
    ])
    const ask = { model: aiModel(anthropic(server.url)), settings: { providerTools } }
    await runtime.session('s').turn({ ...ask, message: 'Go' }).outcome
    await runtime.session('s').turn({ ...ask, message: 'Sure?' }).outcome
    const answers = server.asked.map(({ messages }) =>
      (messages[1]?.content ?? []).map(({ type }: { type: string }) => type),
    )
    expect(answers).toEqual([[], ['server_tool_use', 'tool_use'], ['tool_use']])
    expect(server.problems).toEqual([])
  })

  test('SESS-12: another provider does not get the calls, and takes the conversation', async () => {
    const first = await serving(anthropicProblems, [searching(message({ say: 'Found.' }))])
    const second = await providerServer(openaiProblems, [chat({ say: 'Yes.' })])
    open.push(second)
    const session = first.runtime.session('s')
    await session.turn({ model: aiModel(anthropic(first.server.url)), message: 'Go', settings: { providerTools } })
      .outcome
    const outcome = await session.turn({
      model: aiModel(lab(second.url)),
      message: 'Sure?',
      settings: { providerTools },
    }).outcome
    expect(outcome).toMatchObject({ status: 'success', value: { text: 'Yes.' } })
    expect(second.asked[0].messages.map(({ content }: { content: unknown }) => content)).toEqual([
      'Go',
      'Found.',
      'Sure?',
    ])
    expect(second.problems).toEqual([])
  })

  test('SESS-12: an answer that the provider paused is continued from where it stands', async () => {
    const isOther = (problem: string): boolean => problem !== 'the last message is of the assistant'
    const { server, runtime } = await serving(
      (body) => anthropicProblems(body).filter(isOther),
      [searching(message({ finish: 'pause_turn' })), message({ say: 'Found.' })],
    )
    const ask = { model: aiModel(anthropic(server.url)), settings: { providerTools } }
    expect(await runtime.session('s').turn({ ...ask, message: 'Go' }).outcome).toMatchObject({
      status: 'success',
      value: { text: 'Found.', steps: 2, finish: 'stop' },
    })
    const { role, content } = server.asked[1].messages.at(-1)
    expect(role).toBe('assistant')
    expect(content).toMatchObject([{ type: 'server_tool_use' }, { type: 'web_search_tool_result' }])
    expect(server.problems).toEqual([])
  })

  test('SESS-12: the calls of the provider are shown live as such', async () => {
    const { server, runtime } = await serving(anthropicProblems, [searching(message({ say: 'Found.' }))])
    const session = runtime.session('s')
    const all = read(session.events({ live: true }), ({ type }) => type === 'turn.ended')
    await session.turn({ model: aiModel(anthropic(server.url)), message: 'Go', settings: { providerTools } }).outcome
    const live = (await all).filter((event): event is LiveEvent => event.live === true)
    const deltas = live.map(({ body }) => body as ModelDelta)
    expect(deltas[0]).toMatchObject({ type: 'call', id: 'srvtoolu_1', name: 'web_search', provider: true })
    const pieces = deltas.map((delta) => (delta.type === 'input' ? delta.delta : ''))
    expect(pieces.join('')).toBe('{"query":"Rome"}')
  })
})

test('SESS-12: malformed provider tools, and names of the session’s own tools, are refused by turn()', async () => {
  const { runtime, server } = await serving(anthropicProblems, [])
  const model = aiModel(sdkGenerations[0]?.anthropic(server.url) as never)
  const asking = (given: unknown) => () =>
    runtime.session('s').turn({ model, message: 'Go', settings: { providerTools: given as never } })
  expect(asking([{ id: 'web_search', name: 'web_search' }])).toThrow("such as 'anthropic.web_search_20250305'")
  expect(asking([{ id: 'anthropic.x' }])).toThrow('name')
  expect(asking([{ id: 'anthropic.x', name: 'x', arg: {} }])).toThrow('`arg`')
  expect(asking([{ id: 'anthropic.x', name: 'add' }])).toThrow(
    "`settings.providerTools` has the name 'add', which a tool of the session has. Choose another name.",
  )
  expect(() => runtime.session('s').turn({ model, message: 'Go', settings: { temprature: 1 } as never })).toThrow(
    'temperature',
  )
})
