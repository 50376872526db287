import { createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'

const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})
const input = { type: 'object', properties: { to: { type: 'string' } } } as const

async function world(lines: Parameters<typeof scriptedModel>[0]) {
  const paid: string[] = []
  const pay = tool({ name: 'pay', description: 'd', input, execute: ({ to }) => (paid.push(to as string), `paid ${paid.length}`) })
  const { clock, store } = freshMemory()
  const model = scriptedModel(lines, { name: 'm' })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [pay], models: [model] })
  runtimes.push(runtime)
  return { paid, clock, model, session: runtime.session('s') }
}

// SPEC CALL-6: "A call is (tenant, session, batch, id, occurrence) … Turns and adapters supply the batch". turns.md: "The same id with the same content is the same turn": other ids are others.
test('CALL-6 SESS-1: the calls of two turns are two, whatever the turns are called', async () => {
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

test('CALL-6 SESS-1: a call of a turn is none that the program made, whatever its batch is called', async () => {
  const { paid, clock, model, session } = await world([{ call: { id: 'call_0', name: 'pay', input: { to: 'ada' } } }, 'ok'])
  const refused = await session.run([{ id: 'call_0', name: 'pay', input: { to: 'ada' } }], { batch: 'turn:7:1' }).then(
    () => false,
    () => true,
  )
  const turn = session.turn({ model, message: 'Pay ada', id: '7' })
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  expect(paid).toEqual(refused ? ['ada'] : ['ada', 'ada'])
})
