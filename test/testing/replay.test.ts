import { createRuntime, fail, type Json, type JsonSchema, type Tool, tool } from 'pawl'
import { record, replay, scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { after, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
const done = { find: 0, refund: 0 }

const refund = (how: { find?: string; note?: string; extra?: boolean; schema?: object; cents?: number } = {}): Tool =>
  tool({
    name: 'refund',
    description: 'Refunds',
    input: (how.schema ?? input) as JsonSchema,
    onCrash: 'rerun',
    async execute({ order }, ctx) {
      const found = (await ctx.step(how.find ?? 'find', () => ({ n: ++done.find, cents: 4200 }))) as { cents: number }
      if (order === 'none') throw fail(`No order${how.note ?? ''}`)
      if (how.extra) await ctx.step('audit', () => 'written')
      await ctx.sleep('1h')
      const again = await ctx.call(look, {})
      return {
        ...(await ctx.step('refund', () => ({ n: ++done.refund }))),
        cents: how.cents ?? found.cents,
        again: again.status,
      }
    },
  })
const look = tool({
  name: 'look',
  description: 'Looks',
  input: { type: 'object' },
  hints: { readOnly: true },
  execute: (): Json => ({ seen: 1 }),
})
const once = tool({ name: 'once', description: 'Once', input: { type: 'object' }, execute: () => 'x' })

async function recorded(): Promise<Awaited<ReturnType<typeof record>>> {
  const { clock, store } = freshSqlite()
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [refund(), look, once] })
  const session = runtime.session('s')
  const model = scriptedModel([
    {
      call: [
        { name: 'refund', input: { order: 'A1' } },
        { name: 'refund', input: { order: 'none' } },
        { name: 'refund', input: {} },
      ],
    },
    { call: [{ name: 'look' }, { name: 'once' }] },
    'Done',
  ])
  await after(session.turn({ model, message: 'Go' }).outcome, clock, 86_400_000, 600_000)
  const recording = await record(session)
  await runtime.close()
  return JSON.parse(JSON.stringify(recording)) as typeof recording
}

test('KIT-3: replay with the same tools shows no difference and repeats no effect', async () => {
  const recording = await recorded()
  const before = { ...done }
  const { same, calls, text } = await replay(recording, { tools: [refund(), look, once] })
  expect(text).toBe('6 calls, no difference.')
  expect(same).toBe(true)
  expect(calls.map(({ tool: name, how }) => `${name} ${how}`)).toEqual([
    'refund run',
    'refund run',
    'refund checked',
    'look skipped',
    'look run',
    'once checked',
  ])
  expect(done).toEqual(before)
})

test('KIT-3: replay reports differences call by call', async () => {
  const recording = await recorded()
  const before = { ...done }
  const seen = async (how: Parameters<typeof refund>[0]): Promise<string> =>
    (await replay(recording, { tools: [refund(how), look, once] })).text
  expect(await seen({ cents: 1 })).toBe('refund (call_1_1)\n  outcome.value.cents was 4200 on record and is 1 now')
  expect(await seen({ note: ' here' })).toMatch(/^refund \(call_1_2\)\n {2}outcome\.failure\.message/)
  expect(await seen({ find: 'search' })).toContain("step 'search' is new, and was not run")
  expect(await seen({ extra: true })).toMatch(/^refund \(call_1_1\)\n {2}step 'audit' is new, and was not run$/)
  expect(
    await seen({
      schema: {
        ...input,
        required: ['order', 'cents'],
        properties: { ...input.properties, cents: { type: 'number' } },
      },
    }),
  ).toContain('arguments')
  expect(await seen({ schema: { type: 'object', properties: { order: { type: 'string' } } } })).toContain(
    'its arguments were invalid and are now valid',
  )
  expect((await replay(recording, { tools: [look, once] })).text).toContain("tool 'refund' no longer exists")
  expect(done).toEqual(before)
})
