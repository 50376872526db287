// TASK-10, TASK-8: two runtimes of one process, each with a store of its own (a database for each customer, say), and tasks of the same name in both: neither hears of the other.

import type * as pawl from 'pawl'
import { createRuntime, tool } from 'pawl'
import { expect, test, vi } from 'vitest'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const

test('TASK-10: what a tool that a task calls starts belongs to that task, and ends with it, also where another runtime of the process runs a task of the same session and id', async () => {
  const clock = manualClock()
  const definition = { description: 'd', input, onCrash: 'rerun', background: true, timeout: '1h' } as const
  const open = async () => {
    const child = tool({ name: 'child', ...definition, execute: async (_, ctx) => (await ctx.sleep('1h'), 'slept') })
    const starts = tool({
      name: 'starts',
      ...definition,
      execute: async (_, ctx) => (await ctx.tasks.start({ tool: 'child', id: 'c' })).id,
    })
    const parent = tool({
      name: 'parent',
      ...definition,
      async execute(_, ctx) {
        await ctx.task?.signal('begin')
        const started = await ctx.call(starts, {})
        await ctx.task?.signal('end')
        return started.status
      },
    })
    const store = memoryStore({ clock })
    const runtime = await createRuntime({ store, clock, tools: [child, starts, parent], logger: quiet })
    return { runtime, tasks: runtime.session('s').tasks }
  }
  const one = await open()
  const other = await open()
  for (const { tasks } of [one, other]) {
    await tasks.start({ tool: 'parent', id: 'nightly.1' })
    await clock.advance(1_000)
  }
  // Only the first goes on.
  await one.tasks.signal('nightly.1', 'begin')
  await clock.advance(2_000)
  expect((await one.tasks.get('c'))?.state).toBe('running')
  await one.tasks.signal('nightly.1', 'end')
  for (let n = 0; n < 10; n++) await clock.advance(1_000)
  const states = { parent: (await one.tasks.get('nightly.1'))?.state, child: (await one.tasks.get('c'))?.state }
  for (const { runtime } of [one, other]) await runtime.close({ grace: 0 })
  expect(states).toEqual({ parent: 'succeeded', child: 'cancelled' })
})

/** A copy of the program, as another process has it: what a module remembers is its own. */
const another = async (): Promise<typeof pawl> => {
  vi.resetModules()
  return import('../../../src/index.ts')
}

test('TASK-10: what a tool that a task calls starts ends with the task, also where another worker than the one that has the task runs the tool ("A task that a task started belongs to it", background.md)', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const definition = { description: 'd', input, onCrash: 'rerun', background: true, timeout: '1h' } as const
  const toolsOf = ({ tool: make }: { tool: typeof tool }) => {
    const child = make({ name: 'child', ...definition, execute: async (_, ctx) => (await ctx.sleep('10h'), 'slept') })
    const starts = make({
      name: 'starts',
      ...definition,
      async execute(_, ctx) {
        await ctx.sleep('5s')
        return (await ctx.tasks.start({ tool: 'child', id: 'c' })).id
      },
    })
    const parent = make({ name: 'parent', ...definition, execute: async (_, ctx) => (await ctx.call(starts, {})).status })
    return { child, starts, parent }
  }
  const first = mortal(store)
  const a = await createRuntime({ store: first.store, clock, tools: Object.values(toolsOf({ tool })), logger: quiet })
  await a.session('s').tasks.start({ tool: 'parent', id: 'p' })
  await clock.advance(2_000)
  first.die()
  // One that does not have the tool of the task takes up what that had called.
  const second = await another()
  const { child, starts } = toolsOf(second)
  const b = await second.createRuntime({ store, clock, tools: [child, starts], logger: quiet })
  for (let n = 0; n < 60; n++) await clock.advance(1_000)
  const { tasks } = b.session('s')
  expect(await tasks.get('c')).toMatchObject({ state: 'running', parent: 'p' })
  const third = await another()
  const c = await third.createRuntime({ store, clock, tools: Object.values(toolsOf(third)), logger: quiet })
  for (let n = 0; n < 60; n++) await clock.advance(1_000)
  const states = { parent: (await tasks.get('p'))?.state, child: (await tasks.get('c'))?.state }
  for (const runtime of [b, c]) await runtime.close({ grace: 0 })
  expect(states).toEqual({ parent: 'succeeded', child: 'cancelled' })
})
