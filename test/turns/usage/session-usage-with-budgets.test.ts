// Model usage is reported separately from budget counters.

import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

test('SESS-11 POL-8: session.usage() also works for a session with budgets', async () => {
  const { clock, store } = freshMemory()
  const look = tool({ name: 'look', description: 'd', input: { type: 'object' }, execute: () => 'seen' })
  const model = scriptedModel(
    [{ when: /^Go$/, call: { name: 'look', input: {} }, usage: { inputTokens: 5 } }, 'Done'],
    { name: 'm' },
  )
  const budgets = { turn: { calls: 20 }, session: { calls: 5 } }
  const runtime = await createRuntime({ store, clock, tools: [look], models: [model], logger: quiet, budgets })
  const session = runtime.session('s')
  expect(await session.turn({ model: 'm', message: 'Go' }).outcome).toMatchObject({ status: 'success' })
  expect(await session.usage()).toMatchObject({ models: { m: { times: 2 } } })
  await runtime.close()
})
