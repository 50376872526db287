import { agent, createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { simpleTool } from '../../kit/simple-tools.ts'

const runtimes = closedAfterEach()

// Background work is not superseded by a new user message, neither for tasks nor for their agents.
test('POL-7 SESS-6 TASK-9: supersede() keeps approval requests of background agents', async () => {
  const pay = simpleTool('pay', { hints: { destructive: true } }, () => 'paid')
  const expert = scriptedModel([{ call: { name: 'pay' } }, ({ last }) => `It says: ${last}`], { name: 'expert' })
  const work = agent({ name: 'work', description: 'd', model: expert, tools: ['pay'] })
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [pay, work], models: [expert] })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const { id } = await session.tasks.start({ tool: 'work', input: { task: 'Pay it' } })
  await clock.advance(2_000)
  expect((await runtime.inbox({ tenant: 'default', session: 's' })).length).toBe(1)
  const before = (await session.tasks.get(id))?.state
  const calledOff = await session.supersede()
  await clock.advance(2_000)
  const { state } = (await session.tasks.get(id)) ?? {}
  expect({ calledOff, asks: (await runtime.inbox({ tenant: 'default', session: 's' })).length, state }).toEqual({
    calledOff: 0,
    asks: 1,
    state: before,
  })
})
