// What real provider packages of AI SDK 6 and 7 send for toolChoice and output, and what Pawl makes of their answers.

import { createRuntime, type Model, type Runtime, type StartTurn, tool, type ToolChoice } from 'pawl'
import { aiModel } from 'pawl/ai-sdk'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { anthropicProblems, openaiProblems } from '../../kit/models/provider-request-rules.ts'
import { chat, message, providerServer, type ProviderServer, type Reply } from '../../kit/models/provider-server.ts'
import { sdkGenerations } from '../../kit/models/sdk-generations.ts'
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
const city = z.object({ city: z.string(), at: z.object({ north: z.number() }) })
const rome = '{"city":"Rome","at":{"north":41.9}}'

async function serving(
  rules: Parameters<typeof providerServer>[0],
  replies: readonly Reply[],
): Promise<{ server: ProviderServer; runtime: Runtime }> {
  const server = await providerServer(rules, replies)
  const runtime = await createRuntime({ store: 'memory:', tools: [add], logger: quiet })
  open.push({ close: () => runtime.close({ grace: 0 }) }, server)
  return { server, runtime }
}

const ask = (runtime: Runtime, model: Model, given: Partial<StartTurn>) =>
  runtime.session('s').turn({ model, message: 'Go', instructions: 'Be brief.', ...given }).outcome

describe.each(sdkGenerations)('AI SDK $sdk', ({ anthropic, lab }) => {
  test.for<[ToolChoice, unknown, unknown]>([
    ['required', 'required', { type: 'any' }],
    [{ tool: 'add' }, { type: 'function', function: { name: 'add' } }, { type: 'tool', name: 'add' }],
    ['auto', 'auto', { type: 'auto' }],
  ])('SESS-12: toolChoice %j is sent with the first request only', async ([toolChoice, ofLab, ofAnthropic]) => {
    const calls = [{ id: 'call_1', name: 'add', args: '{"a":1}' }]
    const first = await serving(openaiProblems, [chat({ calls }), chat({ say: 'Two.' })])
    expect(await ask(first.runtime, aiModel(lab(first.server.url)), { toolChoice })).toMatchObject({
      status: 'success',
    })
    expect(first.server.asked.map(({ tool_choice }) => tool_choice)).toEqual([ofLab, 'auto'])
    const second = await serving(anthropicProblems, [message({ calls }), message({ say: 'Two.' })])
    expect(await ask(second.runtime, aiModel(anthropic(second.server.url)), { toolChoice })).toMatchObject({
      status: 'success',
    })
    expect(second.server.asked.map(({ tool_choice }) => tool_choice)).toEqual([ofAnthropic, { type: 'auto' }])
    expect([...first.server.problems, ...second.server.problems]).toEqual([])
  })

  test("SESS-12: with toolChoice 'none' the provider is told that there is no call", async () => {
    const { server, runtime } = await serving(openaiProblems, [chat({ say: 'Two.' })])
    await ask(runtime, aiModel(lab(server.url)), { toolChoice: 'none' })
    expect(server.asked[0].tool_choice).toBe('none')
  })

  test('SESS-12: the output schema is sent with closed objects to a provider that enforces it', async () => {
    const { server, runtime } = await serving(openaiProblems, [chat({ say: rome })])
    const model = aiModel(lab(server.url, { supportsStructuredOutputs: true }))
    expect(await ask(runtime, model, { output: city })).toMatchObject({
      status: 'success',
      value: { output: { city: 'Rome', at: { north: 41.9 } } },
    })
    expect(server.asked[0].response_format).toMatchObject({
      type: 'json_schema',
      json_schema: {
        schema: {
          additionalProperties: false,
          required: ['city', 'at'],
          properties: { at: { additionalProperties: false } },
        },
      },
    })
    expect(server.asked[0].messages[0].content).toBe('Be brief.')
  })

  test('SESS-12: a provider that does not send the schema on gets it in words', async () => {
    const { server, runtime } = await serving(openaiProblems, [chat({ say: rome })])
    expect(await ask(runtime, aiModel(lab(server.url)), { output: city })).toMatchObject({ status: 'success' })
    expect(server.asked[0].response_format).toEqual({ type: 'json_object' })
    expect(server.asked[0].messages[0].content).toMatch(/^Be brief\.\n\nAnswer only with JSON .*"north"/s)
  })

  test.for([
    ['claude-sonnet-4-5', 'as a format'],
    ['claude-3-haiku', 'as a tool'],
  ])('SESS-12: %s gets the output schema %s, and its answer is the output', async ([id, how]) => {
    const asTool = how === 'as a tool'
    const { server, runtime } = await serving(anthropicProblems, [
      message({ calls: [{ id: 'toolu_1', name: 'add', args: '{"a":1}' }] }),
      asTool ? message({ calls: [{ id: 'toolu_2', name: 'json', args: rome }] }) : message({ say: rome }),
    ])
    expect(await ask(runtime, aiModel(anthropic(server.url, id)), { output: city })).toMatchObject({
      status: 'success',
      value: { output: { city: 'Rome' }, steps: 2 },
    })
    const { tools, output_config: config, output_format: format } = server.asked[0]
    expect(tools.some(({ name }: { name: string }) => name === 'json')).toBe(asTool)
    expect(JSON.stringify(config?.format ?? format ?? null).includes('"north"')).toBe(!asTool)
    expect(server.problems).toEqual([])
  })

  test('SESS-12: an answer that does not match is sent back with what is wrong', async () => {
    const { server, runtime } = await serving(anthropicProblems, [message({ say: 'Rome.' }), message({ say: rome })])
    expect(await ask(runtime, aiModel(anthropic(server.url, 'claude-sonnet-4-5')), { output: city })).toMatchObject({
      status: 'success',
      value: { output: { city: 'Rome' } },
    })
    expect(JSON.stringify(server.asked[1].messages.at(-1))).toContain('The answer is not JSON')
    expect(server.problems).toEqual([])
  })
})
