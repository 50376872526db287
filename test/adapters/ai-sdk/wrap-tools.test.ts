// Existing AI SDK tools wrapped by Pawl: definitions, arguments, context and results stay the same, and calls are
// durable.

import { type } from 'arktype'
import {
  dynamicTool,
  generateText,
  jsonSchema,
  tool as aiTool,
  type ToolExecutionOptions,
  type ToolSet,
  zodSchema,
} from 'ai'
import { PawlError, type Tool } from 'pawl'
import { aiTools, fromAiSdk, pawlTools, wrapTools } from 'pawl/ai-sdk'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loops, resultsShown, scripted } from '../../kit/models/scripted-sdk-model.ts'
import { shop, watched } from '../../kit/shop-tools.ts'

const empty = z.object({})
const throwing = (message: string): Promise<string> => Promise.reject(new Error(message))
type Given = { input: unknown; options: ToolExecutionOptions<unknown> }

/** An SDK tool that collects its inputs and options. */
const noting = <T>(given: Given[], inputSchema: z.ZodType<T>, answer: unknown = 'ok') =>
  aiTool({
    description: 'Notes',
    inputSchema,
    execute: async (input: T, options) => (given.push({ input, options }), answer),
  })

describe.each(Object.entries(loops))('%s', (_, loop) => {
  test('CALL-2: wrapped tools share a batch with native ones and get the options of the SDK', async () => {
    const { tools } = shop()
    const given: Given[] = []
    const existing = {
      note: noting(
        given,
        z.object({
          on: z.string().transform((text) => new Date(text)),
          n: z
            .number()
            .default(7)
            .transform((n) => n + 1),
        }),
        { at: 1 },
      ),
    }
    const { session, asked } = await watched([
      ...tools,
      ...pawlTools(existing, { note: { hints: { readOnly: true } } }),
    ])
    const { signal } = new AbortController()
    const set = { ...aiTools(session, { tools }), ...wrapTools(session, existing) }
    const model = scripted([['a', 'note', '{"on":"2026-01-01"}'], ['b', 'add', '{"a":1}'], ['c', 'note', '{"on":"2027-01-01","n":1}']]) // prettier-ignore
    const { prompts, content } = await loop(model, set, { abortSignal: signal })
    expect(asked.map(({ calls }) => calls.map(({ id }) => id).join(''))).toEqual(['abc'])
    // Transforms and defaults are applied once, and their values are not reduced to JSON.
    expect(given.map(({ input }) => input)).toEqual([{ on: new Date('2026-01-01'), n: 8 }, { on: new Date('2027-01-01'), n: 2 }]) // prettier-ignore
    expect(given.map(({ options }) => options.toolCallId)).toEqual(['a', 'c'])
    expect(given[0]?.options.messages).toEqual([{ role: 'user', content: 'Go' }])
    expect(given[0]?.options.abortSignal).toBeInstanceOf(AbortSignal)
    expect(new Map(resultsShown(prompts)).get('a')).toEqual({ type: 'text', value: '{"at":1}' })
    expect(content.filter((part) => part.type === 'tool-result').map(({ output }) => output)).toContainEqual({ at: 1 })
  })

  test('VAL-4: an error of a wrapped tool is internal unless showErrors is set', async () => {
    const existing = {
      hide: aiTool({ inputSchema: empty, execute: () => throwing('password=hunter22') }),
      show: aiTool({ inputSchema: empty, execute: () => throwing('No such city') }),
    }
    const { session } = await watched(pawlTools(existing, { show: { showErrors: true } }))
    const { prompts } = await loop(scripted([['a', 'hide', ''], ['b', 'show', '']]), wrapTools(session, existing)) // prettier-ignore
    expect(new Map(resultsShown(prompts))).toEqual(
      new Map([
        [
          'a',
          { type: 'error-text', value: '[Tool execution failed]\nAn internal error occurred while executing the tool' },
        ],
        ['b', { type: 'error-text', value: '[Tool execution failed]\nNo such city' }],
      ]),
    )
  })

  test('CALL-6: a repeated conversation joins the recorded call and does not execute it again', async () => {
    const given: Given[] = []
    const existing = { note: noting(given, empty, { many: [1] }) }
    const { session } = await watched(pawlTools(existing))
    const shown = async () =>
      resultsShown((await loop(scripted([['a', 'note', '']]), wrapTools(session, existing))).prompts)
    expect(await shown()).toEqual(await shown())
    expect(given).toHaveLength(1)
  })
})

test('TOOL-8: a wrapped tool keeps its definition, model output and metadata', async () => {
  const input = z.object({
    q: z.string().describe('Query'),
    deep: z.object({ n: z.number().optional() }).optional(),
    free: z.record(z.string(), z.number()),
  })
  const full = aiTool({
    title: 'Full',
    description: 'All there is',
    inputSchema: input,
    strict: true,
    inputExamples: [{ input: { q: 'x', free: {} } }],
    providerOptions: { some: { cache: true } },
    metadata: { from: 'here' },
    toModelOutput: ({ output }) => ({ type: 'text', value: `seen ${String(output)}` }),
    execute: async () => 42,
  })
  const existing = {
    full,
    remote: dynamicTool({
      description: 'Remote',
      inputSchema: jsonSchema({ type: 'object', additionalProperties: true }),
      execute: async () => 'r',
    }),
  }
  const { session } = await watched(pawlTools(existing))
  const shown = async (tools: ToolSet) => (await loops.generateText(scripted([['a', 'full', '{"q":"x","free":{}}'], ['b', 'remote', '{"x":1}']]), tools)).prompts // prettier-ignore
  const [before, after] = [await shown(existing), await shown(wrapTools(session, existing))]
  const plain = (prompts: typeof before) =>
    prompts[0]?.tools?.map((each) => ({
      ...each,
      inputSchema: { ...(each as { inputSchema: object }).inputSchema, $schema: 0 },
    }))
  expect(plain(after)).toEqual(plain(before))
  expect(resultsShown(after)).toEqual(resultsShown(before))
  expect(wrapTools(session, existing).full).toMatchObject({ title: 'Full', metadata: { from: 'here' }, strict: true })
  expect(wrapTools(session, existing).remote.type).toBe('dynamic')
})

test('TOOL-8: every schema type of the SDK is supported and validated before the body runs', async () => {
  const positive = (value: unknown) =>
    (value as { n?: number }).n === 1
      ? { success: true as const, value: value as { n: number } }
      : { success: false as const, error: new Error('n must be 1') }
  const schemas = {
    zod: z.object({ n: z.literal(1) }),
    ark: type({ n: '1' }),
    json: jsonSchema({ type: 'object', properties: { n: { const: 1 } }, required: ['n'] }),
    checked: jsonSchema({ type: 'object' }, { validate: positive }),
    lazy: () => jsonSchema({ type: 'object' }, { validate: positive }),
    wrapped: zodSchema(z.object({ n: z.literal(1) })),
  }
  const ran: string[] = []
  const existing = Object.fromEntries(
    Object.entries(schemas).map(([name, inputSchema]) => [
      name,
      aiTool({ inputSchema: inputSchema as never, execute: async () => (ran.push(name), 'ran') }),
    ]),
  ) as ToolSet
  const { session } = await watched(pawlTools(existing))
  const names = Object.keys(schemas)
  const calls = names.flatMap((name): [string, string, string][] => [[`${name} good`, name, '{"n":1}'], [`${name} bad`, name, '{"n":2}']]) // prettier-ignore
  const { prompts } = await loops.generateText(scripted(calls), wrapTools(session, existing))
  const shown = new Map(resultsShown(prompts) as [string, { type: string; value: string }][])
  for (const name of names) {
    expect(shown.get(`${name} good`), name).toEqual({ type: 'text', value: 'ran' })
    expect(shown.get(`${name} bad`)?.value, name).toContain(
      `The arguments are not valid:\n- ${name === 'checked' || name === 'lazy' ? 'n must be 1' : 'n: '}`,
    )
  }
  expect(ran.toSorted()).toEqual(names.toSorted())
  expect(fromAiSdk('none', { execute: () => 1 }).input.json).toMatchObject({ type: 'object' })
})

test('TOOL-8: a tool without execute stays with the SDK, and an unknown one is rejected', async () => {
  const existing = {
    client: aiTool({ description: 'In the browser', inputSchema: empty, outputSchema: empty }),
    server: aiTool({ inputSchema: empty, execute: async () => 1 }),
  }
  expect(pawlTools(existing).map(({ name, description }) => [name, description])).toEqual([['server', 'server']])
  const { session } = await watched(pawlTools(existing))
  expect(wrapTools(session, existing).client).toBe(existing.client)
  const { session: other } = await watched([])
  expect(() => wrapTools(other, existing)).toThrow(/no tool 'server'.*pawlTools/)
  expect(() => fromAiSdk('client', existing.client)).toThrow(PawlError)
  expect(() => fromAiSdk('late', { inputSchema: jsonSchema(Promise.resolve({})), execute: () => 1 })).toThrow(
    /'late'.*promise/,
  )
})

test('TOOL-1: overrides become part of the tool definition', () => {
  const existing = { pay: aiTool({ description: () => 'For whom', inputSchema: empty, execute: async () => 1 }) }
  const [pay] = pawlTools(existing, {
    pay: { description: 'Pays', hints: { idempotent: true }, onCrash: 'stop', title: 'Pay' },
  }) as [Tool]
  expect(pay).toMatchObject({
    name: 'pay',
    description: 'Pays',
    title: 'Pay',
    hints: { idempotent: true },
    onCrash: 'stop',
  })
})

test('CALL-2: an id too long to record reaches the tool and the model unchanged', async () => {
  const given: Given[] = []
  const existing = { note: noting(given, empty) }
  const { session } = await watched(pawlTools(existing))
  const id = 'x'.repeat(5000)
  const { prompts } = await loops.generateText(scripted([[id, 'note', ''], ['b', 'note', '']]), wrapTools(session, existing)) // prettier-ignore
  expect(resultsShown(prompts)).toEqual([id, 'b'].map((each) => [each, { type: 'text', value: 'ok' }]))
  expect(given.map(({ options }) => [options.toolCallId, options.messages.length])).toEqual([[id, 1], ['b', 1]]) // prettier-ignore
})

test('CALL-10: the last yield of a generator is its result', async () => {
  const existing = {
    steps: aiTool({
      inputSchema: empty,
      async *execute() {
        yield 'half'
        yield 'whole'
      },
    }),
  }
  const { session } = await watched(pawlTools(existing))
  const { prompts } = await loops.generateText(scripted([['a', 'steps', '']]), wrapTools(session, existing))
  expect(resultsShown(prompts)).toEqual([['a', { type: 'text', value: 'whole' }]])
})

test('CALL-6: concurrent sessions with equal call ids keep their own tool context', async () => {
  const seen: unknown[] = []
  const who = aiTool({
    inputSchema: empty,
    contextSchema: z.object({ user: z.string() }),
    execute: async (_, { context }) => {
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(context.user)
      return context.user
    },
  })
  const existing = { who }
  const tools = pawlTools(existing)
  const [ada, bea] = [await watched(tools, 'memory:', 'ada'), await watched(tools, 'memory:', 'bea')]
  const ask = async (session: typeof ada.session, user: string) =>
    (
      await generateText({
        model: scripted([['a', 'who', '']]),
        prompt: 'Who',
        tools: wrapTools(session, existing),
        toolsContext: { who: { user } },
      })
    ).toolResults[0]?.output
  expect(await Promise.all([ask(ada.session, 'ada'), ask(bea.session, 'bea')])).toEqual(['ada', 'bea'])
  expect(seen).toHaveLength(2)
})

test('CALL-6: a body run without a waiting SDK call gets its id, no messages and a signal', async () => {
  const given: Given[] = []
  const existing = { note: noting(given, empty) }
  const { session } = await watched(pawlTools(existing))
  await session.run([{ id: 'a', name: 'note' }], { batch: 'b' })
  expect(given[0]?.options).toMatchObject({ toolCallId: 'a', messages: [], abortSignal: expect.any(AbortSignal) })
})
