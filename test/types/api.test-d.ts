// Types flow from schemas into bodies and from bodies into outcomes.

import {
  type CallOutcome,
  createRuntime,
  type Json,
  jsonSchema,
  type OpenCall,
  type StartTurn,
  tool,
  type Turn,
} from 'pawl'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type } from 'arktype'

const runtime = await createRuntime({ store: 'memory:' })
const session = runtime.session('s')

const dated = tool({
  name: 'dated',
  description: 'Knows its input and output',
  input: z.object({
    order: z.string(),
    on: z.string().transform((text) => new Date(text)),
    note: z.string().optional(),
    many: z.number().default(1),
  }),
  async execute(input, ctx) {
    // The body sees the recorded form: a Date becomes a string.
    expectTypeOf(input.order).toEqualTypeOf<string>()
    expectTypeOf(input.on).toEqualTypeOf<string>()
    expectTypeOf(input.note).toEqualTypeOf<string | undefined>()
    expectTypeOf(input.many).toEqualTypeOf<number>()
    const found = await ctx.step('find', () => ({
      at: new Date(),
      skip: undefined,
      call: () => 1,
      list: [1, undefined] as const,
    }))
    expectTypeOf(found.at).toEqualTypeOf<string>()
    expectTypeOf(found.list).toEqualTypeOf<[1, null]>()
    expectTypeOf(found).not.toHaveProperty('call')
    expectTypeOf(await ctx.step('void', () => {})).toEqualTypeOf<null>()
    expectTypeOf(await ctx.step('in', { n: new Date() }, (given) => given.n)).toEqualTypeOf<string>()
    return { order: input.order, at: new Date() }
  },
})

const parks = tool({
  name: 'parks',
  description: 'Parks',
  input: type({ document: 'string' }),
  onCrash: 'rerun',
  execute: (input, ctx) => {
    expectTypeOf(input.document).toEqualTypeOf<string>()
    return ctx.later<{ signed: boolean }>()
  },
})

const plain = tool({
  name: 'plain',
  description: 'Plain JSON Schema',
  input: { type: 'object' },
  execute(input) {
    expectTypeOf(input).toEqualTypeOf<{ [key: string]: Json }>()
  },
})

test('outcomes have the unwrapped and recorded type of the value that execute returns', async () => {
  const outcome = await session.call(dated, { order: 'A1', on: '2026-01-01' }).outcome
  if (outcome.status === 'success') expectTypeOf(outcome.value).toEqualTypeOf<{ order: string; at: string }>()
  const signed = await session.call(parks, { document: 'nda.pdf' }).outcome
  if (signed.status === 'success') expectTypeOf(signed.value).toEqualTypeOf<{ signed: boolean }>()
  const nothing = await session.call(plain, { any: 1 }).outcome
  if (nothing.status === 'success') expectTypeOf(nothing.value).toEqualTypeOf<null>()
})

test('a caller passes the input type of the schema', () => {
  // @ts-expect-error order is missing
  void session.call(dated, { on: '2026-01-01' })
  // @ts-expect-error the input of `on` is a string, not a Date
  void session.call(dated, { order: 'A1', on: new Date() })
})

test('only a run with an early return includes open calls in its type', async () => {
  expectTypeOf(session.run([])).resolves.toEqualTypeOf<CallOutcome[]>()
  expectTypeOf(session.run([], { batch: 'm' })).resolves.toEqualTypeOf<CallOutcome[]>()
  expectTypeOf(session.run([], { until: 'settled' })).resolves.toEqualTypeOf<CallOutcome[]>()
  expectTypeOf(session.run([], { until: 'waiting' })).resolves.toEqualTypeOf<(CallOutcome | OpenCall)[]>()
  expectTypeOf(session.run([], { until: 500 })).resolves.toEqualTypeOf<(CallOutcome | OpenCall)[]>()
})

test('SESS-12: the output of a turn has the type that its schema returns', async () => {
  const schema = z.object({ day: z.string().transform((text) => new Date(text)), many: z.number().default(1) })
  const zod = await session.turn({ message: 'Go', output: schema }).outcome
  if (zod.status === 'success') expectTypeOf(zod.value.output).toEqualTypeOf<{ day: Date; many: number } | null>()
  const ark = await session.turn({ message: 'Go', output: type({ n: 'number' }) }).outcome
  if (ark.status === 'success') expectTypeOf(ark.value.output).toEqualTypeOf<{ n: number } | null>()
  const typed = await session.turn({ message: 'Go', output: jsonSchema<{ n: 1 }>({ type: 'object' }) }).outcome
  if (typed.status === 'success') expectTypeOf(typed.value.output).toEqualTypeOf<{ n: 1 } | null>()
  const plain = await session.turn({ message: 'Go', output: { type: 'object' } }).outcome
  if (plain.status === 'success') expectTypeOf(plain.value.output).toEqualTypeOf<Json>()
  const none = await session.turn({ message: 'Go' }).outcome
  if (none.status === 'success') expectTypeOf(none.value.output).toEqualTypeOf<null>()
  const ask: StartTurn = { message: 'Go' }
  expectTypeOf(session.turn(ask)).toExtend<Turn>()
  // @ts-expect-error a text is no schema
  void session.turn({ message: 'Go', output: 'text' })
})
