// turn({ toolChoice }): whether the model may or must call tools.

import { createRuntime, type Runtime, tool, type ToolChoice } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { readOnlyTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const runtimes = closedAfterEach()
let ran = 0
const lookUp = readOnlyTool('look_up', { description: 'Looks an order up' }, () => ++ran)
const other = readOnlyTool('other', { description: 'Something else' }, () => ++ran)

async function opened(options: Partial<Parameters<typeof createRuntime>[0]> = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory:', tools: [lookUp, other], logger: quiet, ...options })
  runtimes.push(runtime)
  ran = 0
  return runtime
}

const calling = () => scriptedModel([{ call: { name: 'look_up' } }, 'Done.'])

test.for<[ToolChoice, ToolChoice]>([
  ['required', 'auto'],
  [{ tool: 'look_up' }, 'auto'],
  ['none', 'none'],
  ['auto', 'auto'],
])('SESS-12: toolChoice %j is asked of the model first, and %j after the results', async ([first, second]) => {
  const runtime = await opened()
  const model = calling()
  await runtime.session('s').turn({ model, message: 'Go', toolChoice: first }).outcome
  expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([first, second])
})

test('SESS-12: without toolChoice the model decides', async () => {
  const model = calling()
  await (await opened()).session('s').turn({ model, message: 'Go' }).outcome
  expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto'])
})

test("SESS-12: with toolChoice 'none' a call that the model makes all the same is not run", async () => {
  const runtime = await opened()
  const session = runtime.session('s')
  const outcome = await session.turn({ model: calling(), message: 'Go', toolChoice: 'none' }).outcome
  expect(outcome).toMatchObject({ status: 'success', value: { text: 'Done.' } })
  expect(ran).toBe(0)
  expect((await session.messages.list())[2]?.message).toMatchObject({ role: 'tool', results: [{ status: 'failure' }] })
})

test('SESS-12: a required tool is given by its name or its id, and its schema is shown although schemas are deferred', async () => {
  const renamed = tool({
    name: 'find_order',
    id: 'find',
    description: 'd',
    input: { type: 'object' },
    execute: () => 1,
  })
  const runtime = await opened({ tools: [lookUp, renamed], toolSearch: { from: 1 } })
  const model = scriptedModel([{ call: { name: 'find_order' } }, 'Done.'])
  await runtime.session('s').turn({ model, message: 'Go', toolChoice: { tool: 'find' } }).outcome
  expect(model.requests[0]?.toolChoice).toEqual({ tool: 'find_order' })
  expect(model.requests[0]?.tools.find(({ name }) => name === 'find_order')?.parameters).toEqual({ type: 'object' })
  expect(model.requests[0]?.tools.find(({ name }) => name === 'look_up')?.parameters).not.toEqual(lookUp.input.json)
})

test('SESS-12: a name that the session does not have, or that the turn leaves out, is refused by turn()', async () => {
  const session = (await opened()).session('s')
  const model = calling()
  const refused = (toolChoice: ToolChoice, tools?: readonly string[]) => () =>
    session.turn({ model, message: 'Go', toolChoice, ...(tools && { tools }) })
  expect(refused({ tool: 'lookup' })).toThrow(
    "`toolChoice` of turn() names 'lookup', which the session does not have; did you mean 'look_up'?",
  )
  expect(refused({ tool: 'look_up' }, ['other'])).toThrow(
    "`toolChoice` names 'look_up', which is not among the `tools` of the turn.",
  )
  expect(refused('always' as never)).toThrow('toolChoice')
  expect(refused({ tool: 'look_up', name: 'x' } as never)).toThrow('has no option `name`')
})

test('SESS-12: a turn whose model has no tool that it could be required to call fails', async () => {
  const model = calling()
  const outcome = await (
    await opened({ tools: [] })
  )
    .session('s')
    .turn({ model, message: 'Go', toolChoice: 'required' }).outcome
  expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'tool_unavailable' } })
  expect(model.asked).toBe(0)
})

test('SESS-12: the same id with another toolChoice is another request', async () => {
  const session = (await opened()).session('s')
  const model = calling()
  const ask = { model, message: 'Go', id: 't1' }
  await session.turn({ ...ask, toolChoice: 'required' }).outcome
  await session.turn({ ...ask, toolChoice: 'required' }).outcome
  await expect(session.turn(ask).outcome).rejects.toThrow(expect.objectContaining({ code: 'turn_conflict' }))
})
