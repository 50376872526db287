// Two runtimes in one process, each with its own store, run tasks of the same session and id without affecting each
// other.

import type * as pawl from 'pawl'
import { createRuntime, tool } from 'pawl'
import { expect, test, vi } from 'vitest'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const

test('TASK-10: a nested start belongs to its own task, even if another runtime has the same id', async () => {
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
  // Only the first runtime continues.
  await one.tasks.signal('nightly.1', 'begin')
  await clock.advance(2_000)
  expect((await one.tasks.get('c'))?.state).toBe('running')
  await one.tasks.signal('nightly.1', 'end')
  for (let n = 0; n < 10; n++) await clock.advance(1_000)
  const states = { parent: (await one.tasks.get('nightly.1'))?.state, child: (await one.tasks.get('c'))?.state }
  for (const { runtime } of [one, other]) await runtime.close({ grace: 0 })
  expect(states).toEqual({ parent: 'succeeded', child: 'cancelled' })
})

/** A fresh copy of the modules, with module state of its own, like another process. */
const another = async (): Promise<typeof pawl> => {
  vi.resetModules()
  return import('../../../src/index.ts')
}

test('TASK-10: a task started by a nested call on another worker ends with its parent task', async () => {
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
    const parent = make({
      name: 'parent',
      ...definition,
      execute: async (_, ctx) => (await ctx.call(starts, {})).status,
    })
    return { child, starts, parent }
  }
  const first = mortal(store)
  const a = await createRuntime({ store: first.store, clock, tools: Object.values(toolsOf({ tool })), logger: quiet })
  await a.session('s').tasks.start({ tool: 'parent', id: 'p' })
  await clock.advance(2_000)
  first.die()
  // A worker without the parent's tool claims the nested call.
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
