import { agent, createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

function ground() {
  const { clock, store } = freshMemory()
  const shared: Store = { ...store, close: async () => {} }
  let paid = 0
  const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => `paid ${++paid}` })
  return { clock, shared, dying: mortal(shared), pay, paid: () => paid }
}

// docs/guide/turns.md: an agent "is the same agent after a crash"; CALL-7: what was asked is on record, and recovery uses that.
test('SESS-6 SESS-1: an agent whose words were changed by a deploy while it worked is the same agent: its answer is heard', async () => {
  const { clock, shared, dying, pay, paid } = ground()
  const expert = scriptedModel([{ call: { name: 'pay' } }, 'Paid it.'], { name: 'expert' })
  const boss = scriptedModel([{ call: { name: 'ask', input: { task: 'Pay it' } } }, ({ last }) => `It says: ${last}`], { name: 'boss' })
  const ask = (instructions: string) => agent({ name: 'ask', description: 'd', model: expert, instructions, tools: ['pay'] })
  const options = { clock, logger: quiet, models: [boss, expert] }
  const first = await createRuntime({ ...options, store: dying.store, tools: [pay, ask('Be careful.')] })
  first
    .session('s')
    .turn({ model: boss, message: 'Go', id: 't' })
    .outcome.catch(() => {})
  await clock.advance(3_000)
  expect((await first.inbox()).length).toBe(1)
  dying.die()
  await clock.advance('40s')
  const second = await createRuntime({ ...options, store: shared, tools: [pay, ask('Be careful, and brief.')] })
  runtimes.push(second)
  const turn = second.session('s').turn({ model: boss, message: 'Go', id: 't' })
  await clock.advance('1m')
  for (const item of await second.inbox()) await second.decide(item.id, { approve: true, by: 'user:bea' })
  const ended = await after(turn.outcome, clock, 120_000, 1_000)
  expect({ ended, paid: paid() }).toMatchObject({ ended: { value: { status: 'success', value: { text: 'It says: Paid it.' } } }, paid: 1 })
})

// docs/guide/turns.md: "after a crash, ask for the same turn again, in any process: it goes on where it stands"; StartTurn.id: "The same id with the same content is the same turn."
test('SESS-1 CALL-6: a turn that is asked for again in the same words is the same turn, though its frame was changed by a deploy', async () => {
  const { clock, shared, dying, pay, paid } = ground()
  const model = scriptedModel([{ call: { name: 'pay' } }, 'Paid it.'], { name: 'm' })
  const frames = (instructions: string) => [{ name: 'desk', model, instructions }]
  const options = { clock, logger: quiet, models: [model], tools: [pay] }
  const first = await createRuntime({ ...options, store: dying.store, frames: frames('Be careful.') })
  const asked = { frame: 'desk', message: 'Go', id: 't' } as const
  first
    .session('s')
    .turn(asked)
    .outcome.catch(() => {})
  await clock.advance(3_000)
  dying.die()
  await clock.advance('40s')
  const second = await createRuntime({ ...options, store: shared, frames: frames('Be careful, and brief.') })
  runtimes.push(second)
  const turn = second.session('s').turn(asked)
  turn.outcome.catch(() => {})
  await clock.advance('1m')
  for (const item of await second.inbox()) await second.decide(item.id, { approve: true, by: 'user:bea' })
  const ended = await after(turn.outcome, clock, 120_000, 1_000)
  expect({ ended, paid: paid() }).toMatchObject({ ended: { value: { status: 'success', value: { text: 'Paid it.' } } }, paid: 1 })
})
