// TASK-7: what was emitted under a key stands, whatever later attempts emit under other keys.

import { createRuntime, retry, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('events of a task, on %s', (_kind, fresh) => {
  test('TASK-7: an attempt that goes on where the one before had come to appends its events: those with other keys stay ("appends an event", "a replay key makes an append idempotent")', async () => {
    const { clock, store } = fresh()
    const pages = tool({
      name: 'pages',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: { events: { page: {} } },
      async execute(_, ctx) {
        // What is done is kept in the session: the next attempt begins after it.
        const done = Number((await ctx.values.get('done'))?.value ?? 0)
        for (let page = done + 1; page <= 4; page++) {
          await ctx.emit('page', { page }, { key: `page-${page}` })
          await ctx.values.set('done', page)
          if (page === 2 && ctx.attempt === 1) throw retry({ message: 'Busy', after: '5ms' })
        }
        return 'done'
      },
    })
    const runtime = await createRuntime({ store, clock, tools: [pages], logger: quiet })
    const { tasks } = runtime.session('s')
    await tasks.start({ tool: pages, id: 'x' })
    for (let n = 0; n < 20; n++) await clock.advance(1_000)
    const task = await tasks.get('x')
    const events = (await tasks.events('x')).map(({ number, payload }) => [number, payload])
    await runtime.close({ grace: 0 })
    await store.close()
    expect({ state: task?.state, attempt: task?.attempt, events }).toEqual({
      state: 'succeeded',
      attempt: 2,
      events: [1, 2, 3, 4].map((page) => [page, { page }]),
    })
  })
})
