// CRON-1, CRON-2, CRON-4: a schedule or subscription whose runs can never start is refused when it is made.
// DUR-11: what a task that began as a call is called.

import { createRuntime, type Runtime, tool } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { after, freshMemory, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('names, on %s', (_kind, fresh) => {
  const world = async () => {
    const { clock, store } = fresh()
    let runs = 0
    const report = tool({ name: 'report', description: 'd', input, onCrash: 'rerun', background: true, execute: () => ++runs })
    const runtime = await createRuntime({ store, clock, tools: [report], logger: quiet })
    runtimes.push(runtime)
    return { clock, session: runtime.session('s'), runtime, runs: () => runs }
  }

  test.each(['con', 'NUL', 'aux.daily', 'com1'])(
    'CRON-1 CRON-2: a schedule with the id %j starts its runs, or is refused as schedule_invalid ("What could never run is refused here", schedules.md)',
    async (id) => {
      const { clock, session, runs } = await world()
      const made = await session.schedules.create({ tool: 'report', input: {}, cron: '0 * * * *', id }).then(
        () => 'made',
        (error: { code: string }) => error.code,
      )
      if (made === 'schedule_invalid') return
      for (let n = 0; n < 61; n++) await clock.advance('1m')
      const history = await session.schedules.history(id)
      expect({ made, runs: runs(), outcome: history.map(({ outcome, why }) => [outcome, why]) }).toEqual({
        made: 'made',
        runs: 1,
        outcome: [['started', undefined]],
      })
    },
  )

  test.each(['con', 'nul', 'lpt1.x'])(
    'CRON-4: a subscription with the id %j starts its task once, or is refused as trigger_invalid',
    async (id) => {
      const { clock, session, runtime, runs } = await world()
      const made = await session.triggers.subscribe({ event: 'paid', tool: 'report', input: {}, id }).then(
        () => 'made',
        (error: { code: string }) => error.code,
      )
      if (made === 'trigger_invalid') return
      await runtime.emit('paid', 1, { key: 'k' })
      for (let n = 0; n < 120; n++) await clock.advance('1m')
      expect({ made, runs: runs() }).toEqual({ made: 'made', runs: 1 })
    },
  )

  test.each([
    ['half a character', '\ud800'],
    ['a million letters', 'x'.repeat(1_000_000)],
  ])('DUR-11 TASK-8: a call that is moved with a title of %s is called as a task that is started with it is', async (_, title) => {
    const { clock, store } = fresh()
    const slow = tool({
      name: 'slow',
      description: 'd',
      input,
      background: true,
      timeout: '10h',
      execute: () => new Promise<string>(() => {}),
    })
    const runtime = await createRuntime({ store, clock, tools: [slow], logger: quiet })
    runtimes.push(runtime)
    const { tasks, run } = runtime.session('s')
    const started = await tasks.start({ tool: slow, title })
    const running = run([{ id: 'a', name: 'slow' }])
    await clock.advance(100)
    const moved = await tasks.adopt('a', { title }).then(
      (task) => task?.title.length ?? 0,
      (error: { code: string }) => error.code,
    )
    if (moved === 'task_invalid') return
    const ended = await after(running, clock, 60_000)
    const shown = typeof ended === 'object' && 'value' in ended && ended.value[0]?.status === 'success' ? ended.value[0].value : null
    expect((shown as { title?: string } | null)?.title?.slice(0, 300)).toBe(started.title)
  })
})
