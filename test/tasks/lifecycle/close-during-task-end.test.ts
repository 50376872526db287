// close() at the moment a task ends: the end is recorded completely or not at all. The next worker ends the task, and
// its children end with it, not before.

import { createRuntime, type Runtime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store, Change } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'
import { rerunTask } from '../../kit/simple-tools.ts'
import { holdWrites } from '../../kit/stores/failing-writes.ts'

const input = { type: 'object' } as const
const passes = async (clock: ManualClock, seconds: number): Promise<void> => {
  for (let n = 0; n < seconds; n++) await clock.advance(1_000)
}

describe.each(stores)('close during the end of a task on %s', (_kind, fresh) => {
  /** The parent starts a child that waits for a signal, and returns. `returns` is called just before. */
  const toolsOf = (returns: (attempt: number) => void) => {
    const definition = { description: 'd', input, onCrash: 'rerun', background: true } as const
    const child = tool({
      name: 'child',
      ...definition,
      execute: async (_, ctx) => (await ctx.task?.signal('go'), 'heard'),
    })
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

  test('DUR-13, TASK-10: close() at any moment after the body returned ends parent before child', async () => {
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
      const isRight =
        parent === 'succeeded' &&
        child === 'cancelled' &&
        (before.parent === 'succeeded' || before.child !== 'cancelled')
      if (!isRight) bad.push({ moment, before, parent, child })
    }
    expect(bad).toEqual([])
  })

  /** The write that charges the task to its budget. */
  const isCharge = ({ steps }: Change): boolean => steps?.some(({ key }) => key === 'budget:settled') === true

  test('DUR-13, TASK-10, POL-8: close() during the budget charge keeps parent and child open', async () => {
    const { clock, store } = fresh()
    const slow = holdWrites(store, isCharge)
    const tools = toolsOf(() => {})
    const first = await createRuntime({
      store: slow.store,
      clock,
      tools,
      logger: quiet,
      budgets: { session: { repeats: 100 } },
    })
    await first.session('s').tasks.start({ tool: 'parent', id: 'p' })
    await passes(clock, 1)
    expect(slow.held()).toBe(1)
    const closed = first.close({ grace: 0 })
    await passes(clock, 1)
    slow.release()
    await closed
    const { before, parent, child } = await follows(clock, store, tools)
    expect({ before, parent, child }).toEqual({
      before: { parent: 'running', child: 'running' },
      parent: 'succeeded',
      child: 'cancelled',
    })
  })

  test('TASK-2, TASK-8: a task released as it ended can still send a request when it reruns', async () => {
    const { clock, store } = fresh()
    const slow = holdWrites(store, isCharge)
    const asks = rerunTask('asks', async (_, ctx) => {
      ctx.task?.status('At work')
      if (ctx.attempt === 1) return 'done'
      return (await ctx.task?.request('Which?'))?.text ?? ''
    })
    const first = await createRuntime({
      store: slow.store,
      clock,
      tools: [asks],
      logger: quiet,
      budgets: { session: { repeats: 100 } },
    })
    await first.session('s').tasks.start({ tool: 'asks', id: 'a' })
    await passes(clock, 1)
    const closed = first.close({ grace: 0 })
    await passes(clock, 1)
    slow.release()
    await closed
    const next = await createRuntime({ store, clock, tools: [asks], logger: quiet })
    const { tasks } = next.session('s')
    await passes(clock, 10)
    const asked = await tasks.get('a')
    await next.close({ grace: 0 })
    await store.close()
    expect({ state: asked?.state, prompt: asked?.inputRequest?.prompt }).toEqual({
      state: 'awaiting_input',
      prompt: 'Which?',
    })
  })
})
