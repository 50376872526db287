// DUR-13, TASK-2, TASK-3, TASK-10: a worker closes in the moment in which a task of its ends. What belongs to the end is on record with the end, or not at all: whoever
// takes the task up ends it, and what it started is not ended before it.

import { createRuntime, type Runtime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const passes = async (clock: ManualClock, seconds: number): Promise<void> => {
  for (let n = 0; n < seconds; n++) await clock.advance(1_000)
}

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('a task that is handed back as it ends, on %s', (_kind, fresh) => {
  /** The parent starts a child that waits for a signal, and returns. `returns` is told just before. */
  const toolsOf = (returns: (attempt: number) => void) => {
    const definition = { description: 'd', input, onCrash: 'rerun', background: true } as const
    const child = tool({ name: 'child', ...definition, execute: async (_, ctx) => (await ctx.task?.signal('go'), 'heard') })
    const parent = tool({
      name: 'parent',
      ...definition,
      async execute(_, ctx) {
        await ctx.tasks.start({ tool: 'child', id: 'c' })
        if (ctx.attempt > 1) await ctx.task?.signal('end')
        returns(ctx.attempt)
        return 'done'
      },
    })
    return [parent, child]
  }
  const follows = async (clock: ManualClock, store: Store, tools: ReturnType<typeof toolsOf>) => {
    const next = await createRuntime({ store, clock, tools, logger: quiet })
    const { tasks } = next.session('s')
    await passes(clock, 10)
    const before = { parent: (await tasks.get('p'))?.state, child: (await tasks.get('c'))?.state }
    if (before.parent === 'running') await tasks.signal('p', 'end')
    await passes(clock, 60)
    const states = { before, parent: (await tasks.get('p'))?.state, child: (await tasks.get('c'))?.state }
    await next.close({ grace: 0 })
    await store.close()
    return states
  }

  test('DUR-13 TASK-10: close() at any moment after the body has returned: the task ends on the next worker, and its children with it and not before', async () => {
    const bad: unknown[] = []
    for (let moment = 0; moment < 30; moment++) {
      const { clock, store } = fresh()
      let first: Runtime
      const closing = Promise.withResolvers<void>()
      const tools = toolsOf((attempt) => {
        if (attempt > 1) return
        void (async () => {
          for (let turn = 0; turn < moment; turn++) await Promise.resolve()
          closing.resolve(first.close({ grace: 0 }))
        })()
      })
      first = await createRuntime({ store, clock, tools, logger: quiet })
      await first.session('s').tasks.start({ tool: 'parent', id: 'p' })
      await passes(clock, 2)
      await closing.promise
      const { before, parent, child } = await follows(clock, store, tools)
      const isRight = parent === 'succeeded' && child === 'cancelled' && (before.parent === 'succeeded' || before.child !== 'cancelled')
      if (!isRight) bad.push({ moment, before, parent, child })
    }
    expect(bad).toEqual([])
  })

  test('DUR-13 TASK-10 POL-8: close() while what the task took is charged to a budget', async () => {
    const { clock, store } = fresh()
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    let charging = false
    // The disk is slow with the charge.
    const slow: Store = {
      ...store,
      write(change, heard, how) {
        if (!change.steps?.some(({ key }) => key === 'budget:settled')) return store.write(change, heard, how)
        charging = true
        void held.then(() => store.write(change, heard, how))
      },
    }
    const tools = toolsOf(() => {})
    const first = await createRuntime({ store: slow, clock, tools, logger: quiet, budgets: { session: { repeats: 100 } } })
    await first.session('s').tasks.start({ tool: 'parent', id: 'p' })
    await passes(clock, 1)
    expect(charging).toBe(true)
    const closed = first.close({ grace: 0 })
    await passes(clock, 1)
    release()
    await closed
    const { before, parent, child } = await follows(clock, store, tools)
    expect({ before, parent, child }).toEqual({ before: { parent: 'running', child: 'running' }, parent: 'succeeded', child: 'cancelled' })
  })

  test('TASK-2 TASK-8: a task that was handed back as it ended, and runs again, can still ask its session', async () => {
    const { clock, store } = fresh()
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const slow: Store = {
      ...store,
      write(change, heard, how) {
        if (!change.steps?.some(({ key }) => key === 'budget:settled')) return store.write(change, heard, how)
        void held.then(() => store.write(change, heard, how))
      },
    }
    const asks = tool({
      name: 'asks',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: true,
      async execute(_, ctx) {
        ctx.task?.status('At work')
        if (ctx.attempt === 1) return 'done'
        return (await ctx.task?.request('Which?'))?.text ?? ''
      },
    })
    const first = await createRuntime({ store: slow, clock, tools: [asks], logger: quiet, budgets: { session: { repeats: 100 } } })
    await first.session('s').tasks.start({ tool: 'asks', id: 'a' })
    await passes(clock, 1)
    const closed = first.close({ grace: 0 })
    await passes(clock, 1)
    release()
    await closed
    const next = await createRuntime({ store, clock, tools: [asks], logger: quiet })
    const { tasks } = next.session('s')
    await passes(clock, 10)
    const asked = await tasks.get('a')
    await next.close({ grace: 0 })
    await store.close()
    expect({ state: asked?.state, prompt: asked?.inputRequest?.prompt }).toEqual({ state: 'awaiting_input', prompt: 'Which?' })
  })
})
