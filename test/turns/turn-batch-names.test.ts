import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'

const runtimes = closedAfterEach()
const input = { type: 'object', properties: { to: { type: 'string' } } } as const

async function world(lines: Parameters<typeof scriptedModel>[0]) {
  const paid: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'd',
    input,
    execute: ({ to }) => (paid.push(to as string), `paid ${paid.length}`),
  })
  const { clock, store } = freshMemory()
  const model = scriptedModel(lines, { name: 'm' })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [pay], models: [model] })
  runtimes.push(runtime)
  return { paid, clock, model, session: runtime.session('s') }
}

// The batch name of a turn must not collide with that of another turn or of a direct call, whatever ids are used.
test('CALL-6 SESS-1: calls of two turns stay distinct if one turn id is a prefix of the other', async () => {
  const { paid, clock, model, session } = await world([
    {
      call: [
        { id: 'call_0', name: 'pay', input: { to: 'ada' } },
        { id: 'call_1', name: 'pay', input: { to: 'bea' } },
      ],
    },
    'ok',
    { call: { id: 'call_1', name: 'pay', input: { to: 'bea' } } },
    'ok',
  ])
  const first = session.turn({ model, message: 'Pay ada and bea', id: 'msg:7', parallel: false })
  expect(await after(first.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  const second = session.turn({ model, message: 'Pay bea once more', id: 'msg:7:1' })
  expect(await after(second.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  expect(paid).toEqual(['ada', 'bea', 'bea'])
})

test('CALL-6 SESS-1: a call of a turn is distinct from a direct call with a similar batch name', async () => {
  const { paid, clock, model, session } = await world([
    { call: { id: 'call_0', name: 'pay', input: { to: 'ada' } } },
    'ok',
  ])
  const refused = await session.run([{ id: 'call_0', name: 'pay', input: { to: 'ada' } }], { batch: 'turn:7:1' }).then(
    () => false,
    () => true,
  )
  const turn = session.turn({ model, message: 'Pay ada', id: '7' })
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  expect(paid).toEqual(refused ? ['ada'] : ['ada', 'ada'])
})
