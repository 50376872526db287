// What a model reads when it uses a task tool wrongly: what is wrong, and what to do.

import { testRuntime } from 'pawl/testing'
import { expect, test } from 'vitest'
import { tool } from 'pawl'

const slow = tool({
  name: 'slow',
  description: 'd',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  background: true,
  execute: () => 1,
})

test('TASK-1: the task tools refuse wrong arguments and unknown ids in whole sentences', async () => {
  const { runtime, session } = await testRuntime({ tools: [slow] })
  const read = async (name: string, input: object): Promise<string> => {
    const [outcome] = await session.run([{ id: name, name, input }], { batch: JSON.stringify(input) })
    return (outcome?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
  }
  expect(await read('spawn_background', { tool: 'slow', args: {} })).toBe(
    "[Tool execution failed]\nThe arguments of 'slow' are not valid: n: expected number (got nothing, but it is required). Fix them and call again.",
  )
  expect(await read('move_to_background', { call_id: 'x' })).toBe(
    '[Tool execution failed]\nThe session has no call with the id "x". Use the id of a call that is still running.',
  )
  expect(await read('list_tasks', { after: 'x' })).toBe(
    '[Tool execution failed]\nThe session has no task with the id "x". List its tasks to see their ids.',
  )
  await runtime.close()
})
