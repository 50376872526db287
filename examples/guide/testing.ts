// The code of docs/guide/testing.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { fail, tool, type Tool } from 'pawl'
import {
  failingTool,
  flakyTool,
  hangingTool,
  manualClock,
  record,
  replay,
  scriptedModel,
  slowTool,
  testRuntime,
} from 'pawl/testing'
import { z } from 'zod'

const mail = { send: async (to: string) => `sent to ${to}` }

// #region tool
const remind = tool({
  name: 'remind',
  description: 'Sends a mail, and another one after a week without an answer',
  input: z.object({ to: z.string() }),
  onCrash: 'rerun',
  async execute({ to }, ctx) {
    if (!to.includes('@')) throw fail(`${to} is not an address`)
    const answer = await ctx.later<string>({ deadline: '7d' })
    await ctx.step('first', () => mail.send(to))
    try {
      return await answer.value
    } catch {
      return ctx.step('second', () => mail.send(to))
    }
  },
})
// #endregion

{
  // #region runtime
  const { runtime, clock, session, logged } = await testRuntime({ tools: [remind] })
  const call = session.call(remind, { to: 'ada@example.org' })
  await clock.advance('7d') // a week, in no time
  assert.partialDeepStrictEqual(await call.outcome, {
    status: 'success',
    value: 'sent to ada@example.org',
    attempts: 1,
  })
  assert.deepEqual(logged, []) // nothing was worth a line
  await runtime.close()
  // #endregion
}

{
  // #region tools
  const clock = manualClock()
  const tools = [
    failingTool({ message: 'No such order', code: 'not_found' }),
    hangingTool({ timeout: '30s' }),
    flakyTool({ failures: 2, after: '1s' }),
    slowTool({ takes: '20s', clock }),
  ]
  const { runtime, session } = await testRuntime({ tools, clock })
  const run = session.run(tools.map(({ name }) => ({ id: name, name })))
  await clock.advance('1m')
  const [failing, hanging, flaky, slow] = await run
  assert.partialDeepStrictEqual(failing, { failure: { code: 'not_found' } })
  assert.partialDeepStrictEqual(hanging, { failure: { code: 'attempt_timeout', mayStillRun: true } })
  assert.partialDeepStrictEqual(flaky, { value: 'done', attempts: 3 })
  assert.partialDeepStrictEqual(slow, { value: 'done' })
  // #endregion
  await runtime.close()
}

const price = (cents: number): Tool =>
  tool({
    name: 'price',
    description: 'The price of an order',
    input: z.object({ order: z.string() }),
    hints: { readOnly: true },
    execute: async ({ order }, ctx) => ({ order, cents: (await ctx.step('look', () => 4200)) - cents }),
  })

{
  // #region turn
  const model = scriptedModel([{ call: { name: 'price', input: { order: 'A1' } } }, ({ last }) => `It says ${last}`])
  const { runtime, session } = await testRuntime({ tools: [price(0)], models: [model] })
  const outcome = await session.turn({ model: 'scripted', message: 'How much was A1?' }).outcome
  assert.equal(outcome.status === 'success' && outcome.value.text, 'It says {"order":"A1","cents":4200}')
  assert.equal(model.asked, 2) // what it was given is in model.requests
  // #endregion

  // #region replay
  const recording = await record(session) // plain JSON: keep it beside the test
  assert.equal((await replay(recording, { tools: [price(0)] })).text, '1 call, no difference.')

  const changed = await replay(recording, { tools: [price(100)] })
  assert.equal(changed.same, false)
  assert.equal(changed.text, 'price (call_1_1)\n  outcome.value.cents was 4200 on record and is 4100 now')
  // #endregion
  await runtime.close()
}
