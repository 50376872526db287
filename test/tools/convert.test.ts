// Conversion of tools to and from provider formats: the definitions a provider gets, and the values a body accepts.

import { PawlError, type Tool, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openaiTools } from 'pawl/openai'
import { withoutNulls } from '../../src/adapters/openai/strict-schema.ts'
import {
  fromAnthropic,
  fromMcp,
  fromOpenAI,
  toAnthropic,
  toMcp,
  toOpenAI,
} from '../../src/tools/convert-tool-formats.ts'

const noop = (): null => null

const order = tool({
  name: 'order',
  title: 'Order',
  description: 'Order things',
  input: z.object({
    sku: z.string().min(2).describe('What to order'),
    count: z.number().int().default(1),
    note: z.string().optional(),
    kind: z.enum(['a', 'b']).optional(),
    to: z.object({ city: z.string(), zip: z.string().optional() }).optional(),
    lines: z.array(z.object({ at: z.iso.datetime(), tag: z.string().nullable().optional() })),
  }),
  output: z.object({ id: z.string() }),
  hints: { destructive: true, idempotent: false },
  examples: [{ sku: 'A1', lines: [] }],
  execute: () => ({ id: 'o1' }),
})
const clock = tool({
  name: 'clock',
  description: 'The time',
  input: z.object({}),
  hints: { readOnly: true },
  execute: noop,
})
const open = tool({
  name: 'open',
  description: 'Takes anything',
  input: z.record(z.string(), z.number()),
  execute: noop,
})
const hidden = tool({ name: 'hidden', description: 'For the host', input: z.object({}), internal: true, execute: noop })
const tools = [order, open, hidden, clock]

const problems = async (of: Tool, value: unknown): Promise<string[]> => {
  const checked = await of.input.check(value as never)
  return checked.ok ? [] : checked.problems.map(({ path }) => path)
}

describe('to provider formats', () => {
  test('TOOL-8: output is sorted by name, omits internal tools and ignores the input order', () => {
    for (const list of [tools, tools.toReversed()]) {
      expect(toOpenAI(list, { api: 'responses' }).map(({ name }) => name)).toEqual(['clock', 'open', 'order'])
      expect(JSON.stringify(openaiTools(list, { api: 'chat', strict: true }))).toBe(
        JSON.stringify(openaiTools(tools, { api: 'chat', strict: true })),
      )
      expect(JSON.stringify(toAnthropic(list))).toBe(JSON.stringify(toAnthropic(tools)))
      expect(JSON.stringify(toMcp(list))).toBe(JSON.stringify(toMcp(tools)))
    }
    expect(toOpenAI([], { api: 'chat' })).toEqual([])
    expect(toAnthropic([])).toEqual([])
    expect(toMcp([])).toEqual([])
  })

  test('TOOL-8: both OpenAI formats are supported and are not strict by default', () => {
    const [chat] = toOpenAI([order], { api: 'chat' })
    const [responses] = toOpenAI([order], { api: 'responses' })
    expect(chat).toEqual({
      type: 'function',
      function: { name: 'order', description: 'Order things', parameters: expect.any(Object), strict: false },
    })
    expect(responses).toEqual({ type: 'function', ...chat?.function })
    expect(chat?.function.parameters).toMatchObject({ type: 'object', required: ['sku', 'lines'] })
  })

  test('TOOL-8: $schema and the pattern of a known format are stripped, lookalikes are kept', () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          $schema: { type: 'string' },
          pattern: { type: 'string', format: 'email', pattern: '@acme\\.com$' },
          format: { type: 'string', default: { $schema: 'kept', format: 'date', pattern: 'x'.repeat(100) } },
          ['__proto__']: { type: 'string' },
          code: { type: 'string', pattern: `^(${'a|'.repeat(50)}b)$` },
        },
      },
      execute: noop,
    })
    const [shown] = toAnthropic([odd])
    const { $schema: _, ...rest } = odd.input.json
    expect(shown?.input_schema).toStrictEqual(rest)
    expect(Object.keys(shown?.input_schema.properties as object)).toContain('__proto__')
    const at = { type: 'string', format: 'date-time' }
    expect(toAnthropic([order])[0]?.input_schema).toHaveProperty('properties.lines.items.properties.at', at)
    expect(JSON.stringify(order.input.json)).toContain('"pattern"') // the tool itself is unchanged
  })

  test('TOOL-8: strict mode closes objects and turns optional properties into nullable ones', () => {
    const [strict] = openaiTools([order], { api: 'responses', strict: true })
    expect(strict?.strict).toBe(true)
    expect(strict?.parameters).toEqual({
      type: 'object',
      properties: {
        sku: { type: 'string', minLength: 2, description: 'What to order' },
        count: { type: ['integer', 'null'], minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
        note: { type: ['string', 'null'] },
        kind: { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] },
        to: {
          type: ['object', 'null'],
          properties: { city: { type: 'string' }, zip: { type: ['string', 'null'] } },
          required: ['city', 'zip'],
          additionalProperties: false,
        },
        lines: {
          type: 'array',
          items: {
            type: 'object',
            properties: { at: { type: 'string', format: 'date-time' }, tag: { type: ['string', 'null'] } },
            required: ['at', 'tag'],
            additionalProperties: false,
          },
        },
      },
      required: ['sku', 'count', 'note', 'kind', 'to', 'lines'],
      additionalProperties: false,
    })
  })

  test('TOOL-8: a schema that strict mode cannot express is sent unchanged and not strict', () => {
    const schemas = [
      z.record(z.string(), z.number()),
      z.object({ any: z.record(z.string(), z.string()) }),
      z.object({ loose: z.looseObject({}) }),
      z.object({ both: z.email().regex(/@acme/) }),
      z.object({ pair: z.tuple([z.string(), z.number()]) }),
      z.object({ what: z.unknown() }),
      z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    ]
    for (const input of schemas) {
      const one = tool({ name: 'one', description: 'One', input, execute: noop })
      const [shown] = openaiTools([one], { api: 'responses', strict: true })
      expect(shown?.strict, JSON.stringify(shown)).toBe(false)
      expect(shown?.parameters).toEqual(toOpenAI([one], { api: 'responses' })[0]?.parameters)
    }
    const choice = z.discriminatedUnion('k', [
      z.object({ k: z.literal('a'), n: z.number().optional() }),
      z.object({ k: z.literal('b') }),
    ])
    const [union] = openaiTools(
      [tool({ name: 'u', description: 'U', input: z.object({ choice, site: z.url() }), execute: noop })],
      {
        api: 'responses',
        strict: true,
      },
    )
    expect(union?.strict).toBe(true)
    expect(JSON.stringify(union?.parameters)).not.toMatch(/oneOf|format/) // not accepted by the API
  })

  test("TOOL-8: nulls added by strict mode are removed where the tool's schema allows no null", async () => {
    const value = {
      sku: 'A1',
      count: null,
      note: null,
      kind: null,
      to: { city: 'X', zip: null },
      lines: [{ at: '2026-01-01T00:00:00Z', tag: null }],
    }
    const undone = withoutNulls(order.input.json, value)
    expect(undone).toEqual({ sku: 'A1', to: { city: 'X' }, lines: [{ at: '2026-01-01T00:00:00Z', tag: null }] })
    expect(await problems(order, value)).not.toEqual([])
    expect(await problems(order, undone)).toEqual([])
    // A null for a required property is the model's mistake and stays, and so do unknown keys.
    // References and branches are followed, and recursive schemas terminate.
    expect(withoutNulls(order.input.json, { sku: null, other: null })).toEqual({ sku: null, other: null })
    const tree = z.object({ name: z.string().optional(), get left() { return tree.optional() }, either: z.union([z.object({ a: z.string().optional() }), z.object({ a: z.null() })]) }) // prettier-ignore
    const json = tool({ name: 't', description: 'T', input: tree, execute: noop }).input.json
    expect(
      withoutNulls(json, { name: null, left: { name: null, left: null, either: { a: null } }, either: null }),
    ).toEqual({
      left: { either: { a: null } },
      either: null,
    })
    expect(withoutNulls({ $ref: '#' }, { a: null })).toEqual({ a: null })
  })

  test('TOOL-8: Anthropic gets an object schema and the examples', () => {
    expect(toAnthropic([order, open])).toEqual([
      {
        name: 'open',
        description: 'Takes anything',
        input_schema: expect.objectContaining({ type: 'object', additionalProperties: { type: 'number' } }),
      },
      {
        name: 'order',
        description: 'Order things',
        input_schema: expect.objectContaining({ type: 'object' }),
        input_examples: [{ sku: 'A1', lines: [] }],
      },
    ])
    const union = tool({
      name: 'u',
      description: 'U',
      input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      execute: noop,
    })
    expect(toAnthropic([union])[0]?.input_schema).toMatchObject({ type: 'object', anyOf: [{}, {}] })
  })

  test('TOOL-8: MCP gets unchanged schemas, the title, and the hints as annotations', () => {
    const [first, , last] = toMcp(tools)
    expect(first).toEqual({
      name: 'clock',
      description: 'The time',
      inputSchema: clock.input.json,
      annotations: { readOnlyHint: true },
    })
    expect(last).toEqual({
      name: 'order',
      title: 'Order',
      description: 'Order things',
      inputSchema: order.input.json,
      outputSchema: order.output?.json,
      annotations: { title: 'Order', destructiveHint: true, idempotentHint: false },
    })
  })
})

describe('from provider formats', () => {
  const good = { sku: 'A1', lines: [{ at: '2026-01-01T00:00:00Z' }], to: { city: 'X' } }
  const bad = { sku: 'A', lines: [{ at: 1 }], to: { city: 2 } }

  test('TOOL-8: a converted tool converts back with the same name, description and validation', async () => {
    const [chat] = toOpenAI([order], { api: 'chat' })
    const [responses] = toOpenAI([order], { api: 'responses' })
    const [anthropic] = toAnthropic([order])
    const [mcp] = toMcp([order])
    if (!chat || !responses || !anthropic || !mcp) throw new Error('nothing came out')
    const back = [
      fromOpenAI(chat, noop),
      fromOpenAI(responses, noop),
      fromAnthropic(anthropic, noop),
      fromMcp(mcp, noop),
    ]
    const sent = [chat.function.parameters, responses.parameters, anthropic.input_schema, mcp.inputSchema]
    for (const [index, each] of back.entries()) {
      expect([each.name, each.description]).toEqual(['order', 'Order things'])
      expect(each.input.json).toEqual(sent[index])
      expect(await problems(each, good)).toEqual([])
      expect(await problems(each, bad)).toEqual(expect.arrayContaining(['sku', 'lines[0].at', 'to.city']))
    }
    expect(toOpenAI([fromOpenAI(chat, noop)], { api: 'chat' })).toEqual([chat])
    expect(toAnthropic([fromAnthropic(anthropic, noop)])).toEqual([anthropic])
    expect(toMcp([fromMcp(mcp, noop, { trust: true })])[0]).toEqual({
      ...mcp,
      annotations: { ...mcp.annotations, readOnlyHint: false, openWorldHint: true },
    })
  })

  test('TOOL-8: a missing description gets a default, an unusable definition is rejected by name', () => {
    expect(fromOpenAI({ type: 'function', name: 'bare' }, noop)).toMatchObject({
      description: 'bare',
      input: { json: { type: 'object', properties: {} } },
    })
    expect(
      fromMcp({ name: 'bare', inputSchema: { type: 'object' }, annotations: { title: 'Bare' } }, noop),
    ).toMatchObject({
      title: 'Bare',
      description: 'Bare',
    })
    expect(fromOpenAI({ name: 'mine' }, noop, { description: 'Mine', onCrash: 'rerun' })).toMatchObject({
      description: 'Mine',
      onCrash: 'rerun',
    })
    expect(() => fromMcp({ name: 'a.b', inputSchema: {} }, noop)).toThrow(PawlError)
    expect(() => fromMcp({ name: 'out', inputSchema: { $ref: 'https://example.com/s' } }, noop)).toThrow(
      /points outside/,
    )
  })

  test("TOOL-2: a remote server's hints do not lower the risk unless the server is trusted", () => {
    const remote = (annotations?: object) => ({
      name: 'r',
      inputSchema: { type: 'object' },
      ...(annotations ? { annotations } : {}),
    })
    const kind = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
    for (const said of [undefined, kind])
      expect(fromMcp(remote(said), noop).hints).toEqual({ destructive: true, openWorld: true })
    expect(fromMcp(remote(kind), noop, { trust: true }).hints).toEqual({
      readOnly: true,
      destructive: false,
      idempotent: true,
      openWorld: false,
    })
    expect(fromMcp(remote(), noop, { trust: true }).hints).toEqual({
      readOnly: false,
      destructive: true,
      idempotent: false,
      openWorld: true,
    })
    expect(fromMcp(remote(kind), noop, { hints: { readOnly: true } }).hints).toEqual({ readOnly: true })
  })
})
