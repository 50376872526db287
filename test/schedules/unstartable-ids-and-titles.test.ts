// Schedules and subscriptions with an id that cannot name a task folder are rejected at creation. Moved calls get the
// same title as started tasks.

import { createRuntime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { closedAfterEach, stores } from '../kit/open-runtime.ts'
import { backgroundTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

describe.each(stores)('ids and titles on %s', (_kind, fresh) => {
  const world = async () => {
    const { clock, store } = fresh()
    let runs = 0
    const report = tool({
      name: 'report',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: true,
      execute: () => ++runs,
    })
    const runtime = await createRuntime({ store, clock, tools: [report], logger: quiet })
    runtimes.push(runtime)
    return { clock, session: runtime.session('s'), runtime, runs: () => runs }
  }

  test.each(['con', 'NUL', 'aux.daily', 'com1'])(
    'CRON-1: a schedule id that is a device name (%j) is rejected',
    async (id) => {
      const { clock, session, runs } = await world()
      const made = session.schedules.create({ tool: 'report', input: {}, cron: '0 * * * *', id })
      await expect(made).rejects.toMatchObject({ code: 'schedule_invalid' })
      for (let n = 0; n < 61; n++) await clock.advance('1m')
      expect(await session.schedules.list()).toEqual([])
      expect(runs()).toBe(0)
    },
  )

  test.each(['con', 'nul', 'lpt1.x'])(
    'CRON-4: a subscription id that is a device name (%j) is rejected',
    async (id) => {
      const { clock, session, runtime, runs } = await world()
      const made = session.triggers.subscribe({ event: 'paid', tool: 'report', input: {}, id })
      await expect(made).rejects.toMatchObject({ code: 'trigger_invalid' })
      expect(await runtime.emit('paid', 1, { key: 'k' })).toMatchObject({ deliveries: [] })
      await clock.advance('2h')
      expect(runs()).toBe(0)
    },
  )

  test.each([
    ['a lone surrogate', '\ud800'],
    ['a million letters', 'x'.repeat(1_000_000)],
  ])('DUR-11, TASK-8: a moved call with a title of %s gets the title of a started task', async (_, title) => {
    const { clock, store } = fresh()
    const slow = backgroundTool('slow', { timeout: '10h' }, () => new Promise<string>(() => {}))
    const runtime = await createRuntime({ store, clock, tools: [slow], logger: quiet })
    runtimes.push(runtime)
    const { tasks, run } = runtime.session('s')
    const started = await tasks.start({ tool: slow, title })
    const running = run([{ id: 'a', name: 'slow' }])
    await clock.advance(100)
    expect((await tasks.adopt('a', { title }))?.title).toBe(started.title)
    expect(await after(running, clock, 60_000)).toMatchObject({
      value: [{ status: 'success', value: { title: started.title } }],
    })
  })
})
