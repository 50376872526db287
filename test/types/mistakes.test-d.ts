// Mistakes that must be compile errors: a misspelt duration, a missing body, a result that the output schema refuses.

import { type Attachment, duration, type Duration, jsonSchema, result, type StartTurn, tool } from 'pawl'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type } from 'arktype'

const named = { name: 'order', description: 'Places an order' } as const
const input = z.object({ sku: z.string() })

test('TOOL-1: a duration is a number or a number with a unit', () => {
  const all: Duration[] = [250, '250ms', '30s', '1.5h', '5m', '3d', '2w']
  void all
  tool({ ...named, input, timeout: '5m', execute: () => 1 })
  tool({ ...named, input, timeout: { attempt: '30s', total: '1.5h' }, execute: () => 1 })
  // @ts-expect-error the unit is `m`
  tool({ ...named, input, timeout: '5 minutes', execute: () => 1 })
  // @ts-expect-error no unit
  tool({ ...named, input, timeout: { attempt: '30' }, execute: () => 1 })
  // @ts-expect-error no number
  const limits: StartTurn['limits'] = { time: 'soon' }
  void limits
  const fromConfig: string = process.env.TOOL_TIMEOUT ?? '30s'
  // @ts-expect-error a string has to be parsed first
  tool({ ...named, input, timeout: fromConfig, execute: () => 1 })
  tool({ ...named, input, timeout: duration(fromConfig), execute: () => 1 })
})

test('TOOL-1: a tool without execute does not compile, except a client tool', () => {
  // @ts-expect-error `execute` is missing
  tool({ ...named, input })
  // @ts-expect-error `execute` is missing, and the client does not run it
  tool({ ...named, input, client: false })
  // @ts-expect-error `execute` is not a function
  tool({ ...named, input, execute: 'run' })
  const asked = tool({ ...named, input, client: true })
  expectTypeOf(asked.types?.ask).toEqualTypeOf<{ sku: string } | undefined>()
})

test('TOOL-1: a body cannot use its input if the schema accepts no object', () => {
  // @ts-expect-error models send objects
  tool({ ...named, input: z.string(), execute: (text) => text.length })
  // @ts-expect-error models send objects
  tool({ ...named, input: z.string(), execute: (text: string) => text.length })
  // @ts-expect-error models send objects, whatever the schema makes of them
  tool({ ...named, input: z.string().transform((sku) => ({ sku })), execute: ({ sku }) => sku })
  // @ts-expect-error models send objects
  tool({ ...named, input: type('number'), execute: (count: number) => count })
  // @ts-expect-error models send objects
  tool({ ...named, input: jsonSchema<number>({ type: 'number' }), execute: (count) => count + 1 })
})

test('TOOL-1: schemas that may accept an object keep their types', () => {
  const sku = z.object({ sku: z.string() })
  tool({ ...named, input: z.preprocess((given) => given, sku), execute: (order) => order.sku.length })
  tool({ ...named, input: sku.transform((order) => order.sku), execute: (text) => text.length })
  tool({ ...named, input: z.record(z.string(), z.number()), execute: (counts) => (counts.a ?? 0) + 1 })
  tool({ ...named, input: z.union([sku, z.string()]), execute: (x) => (typeof x === 'string' ? x : x.sku) })
  tool({ ...named, input: type({ sku: 'string' }), execute: (order) => order.sku.length })
  const generic = <S extends z.ZodType>(given: S): unknown =>
    tool({ ...named, input: given, execute: (order) => JSON.stringify(order) })
  void generic
})

const output = z.object({
  total: z.number(),
  state: z.enum(['open', 'done']),
  at: z.string(),
  note: z.string().optional(),
})
const done = { total: 1, state: 'done', at: 'now' } as const

test('TOOL-1: execute returns what the output schema accepts', () => {
  const placed = tool({ ...named, input, output, execute: ({ sku }) => ({ total: 1, state: 'open', at: sku }) })
  expectTypeOf(placed.types?.ask).toEqualTypeOf<{ sku: string } | undefined>()
  tool({ ...named, input, output, execute: async ({ sku }) => ({ total: 1, state: 'open', at: sku, note: 'x' }) })
  // A date is recorded as a string.
  tool({ ...named, input, output, execute: () => ({ total: 1, state: 'done', at: new Date() }) })
  tool({ ...named, input, output, execute: () => result({ total: 1, state: 'done', at: 'now' }, { summary: 'Done' }) })
  tool({ ...named, input, output, execute: async () => result(done, { raw: [1] }) })
  tool({ ...named, input, output, execute: (_, ctx) => ctx.later<z.input<typeof output>>() })
  tool({ ...named, input, output, execute: (_, ctx) => ctx.later() })
  tool({
    ...named,
    input,
    output,
    async execute({ sku }, ctx) {
      expectTypeOf(sku).toEqualTypeOf<string>()
      if (sku === '') return ctx.later()
      if (sku === 'x') return result({ ...done, total: 2 })
      return ctx.step('place', () => ({ ...done }))
    },
  })
  tool({
    ...named,
    input,
    output,
    execute: () => {
      throw new Error('not yet')
    },
  })
  tool({ ...named, input, output, execute: () => JSON.parse('{}') })
})

test('TOOL-1: execute that returns something else does not compile', () => {
  // @ts-expect-error a string is not the order
  tool({ ...named, input, output, execute: () => 'done' })
  // @ts-expect-error `total` is a string
  tool({ ...named, input, output, execute: async () => ({ total: '1', state: 'open', at: 'now' }) })
  // @ts-expect-error `at` is missing
  tool({ ...named, input, output, execute: async () => ({ total: 1, state: 'open' }) })
  // @ts-expect-error the value inside result() is checked too
  tool({ ...named, input, output, execute: () => result({ total: 1 }) })
  // @ts-expect-error nothing is returned
  tool({ ...named, input, output, execute: () => {} })
})

test('TOOL-1: output types come from arktype and typed JSON Schema; plain JSON Schema accepts any value', () => {
  tool({ ...named, input, output: type({ total: 'number' }), execute: () => ({ total: 1 }) })
  // @ts-expect-error `total` is a string
  tool({ ...named, input, output: type({ total: 'number' }), execute: () => ({ total: '1' }) })
  const typed = jsonSchema<{ total: number }>({ type: 'object' })
  tool({ ...named, input: typed, output: typed, execute: ({ total }) => ({ total }) })
  // @ts-expect-error `total` is missing
  tool({ ...named, input: typed, output: typed, execute: () => ({}) })
  const plain = tool({ ...named, input, output: { type: 'object' }, execute: () => ({ total: 1 }) })
  expectTypeOf(plain.types?.output).toEqualTypeOf<{ total: number } | undefined>()
})

test('TOOL-1: an attachment fits where the output schema accepts anything', () => {
  const open = z.object({ image: z.custom<Attachment>() })
  tool({
    ...named,
    input,
    output: open,
    async execute(_, ctx) {
      return { image: ctx.attachments.create(new Uint8Array(1), { mediaType: 'image/png' }) }
    },
  })
})
