import { agent, createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach, replaceWorker } from '../../kit/open-runtime.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'
import { simpleTool } from '../../kit/simple-tools.ts'

const runtimes = closedAfterEach()

function ground() {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  let paid = 0
  const pay = simpleTool('pay', { hints: { destructive: true } }, () => `paid ${++paid}`)
  return { clock, shared, dying: mortal(shared), pay, paid: () => paid }
}

// An agent keeps its identity and its recorded instructions across a crash and a deploy.
test('SESS-6 SESS-1: an agent continues although a deploy changed its instructions', async () => {
  const { clock, shared, dying, pay, paid } = ground()
  const expert = scriptedModel([{ call: { name: 'pay' } }, 'Paid it.'], { name: 'expert' })
  const boss = scriptedModel([{ call: { name: 'ask', input: { task: 'Pay it' } } }, ({ last }) => `It says: ${last}`], {
    name: 'boss',
  })
  const ask = (instructions: string) =>
    agent({ name: 'ask', description: 'd', model: expert, instructions, tools: ['pay'] })
  const options = { clock, logger: quiet, models: [boss, expert] }
  const first = await createRuntime({ ...options, store: dying.store, tools: [pay, ask('Be careful.')] })
  ignoreOutcome(first.session('s').turn({ model: boss, message: 'Go', id: 't' }))
  await clock.advance(3_000)
  expect((await first.inbox()).length).toBe(1)
  const second = await replaceWorker(
    dying,
    clock,
    { ...options, store: shared, tools: [pay, ask('Be careful, and brief.')] },
    runtimes,
  )
  const turn = second.session('s').turn({ model: boss, message: 'Go', id: 't' })
  await clock.advance('1m')
  for (const item of await second.inbox()) await second.decide(item.id, { approve: true, by: 'user:bea' })
  const ended = await after(turn.outcome, clock, 120_000, 1_000)
  expect({ ended, paid: paid() }).toMatchObject({
    ended: { value: { status: 'success', value: { text: 'It says: Paid it.' } } },
    paid: 1,
  })
})

// A turn is identified by its id and its request, not by the frame definition.
test('SESS-1 CALL-6: a repeated turn continues although a deploy changed its frame', async () => {
  const { clock, shared, dying, pay, paid } = ground()
  const model = scriptedModel([{ call: { name: 'pay' } }, 'Paid it.'], { name: 'm' })
  const frames = (instructions: string) => [{ name: 'desk', model, instructions }]
  const options = { clock, logger: quiet, models: [model], tools: [pay] }
  const first = await createRuntime({ ...options, store: dying.store, frames: frames('Be careful.') })
  const asked = { frame: 'desk', message: 'Go', id: 't' } as const
  ignoreOutcome(first.session('s').turn(asked))
  await clock.advance(3_000)
  const second = await replaceWorker(
    dying,
    clock,
    { ...options, store: shared, frames: frames('Be careful, and brief.') },
    runtimes,
  )
  const turn = second.session('s').turn(asked)
  turn.outcome.catch(() => {})
  await clock.advance('1m')
  for (const item of await second.inbox()) await second.decide(item.id, { approve: true, by: 'user:bea' })
  const ended = await after(turn.outcome, clock, 120_000, 1_000)
  expect({ ended, paid: paid() }).toMatchObject({
    ended: { value: { status: 'success', value: { text: 'Paid it.' } } },
    paid: 1,
  })
})
