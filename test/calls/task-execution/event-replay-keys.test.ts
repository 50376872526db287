// An event emitted under a key stays, whatever later attempts emit under other keys.

import { createRuntime, retry } from 'pawl'
import { describe, expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { rerunTool } from '../../kit/simple-tools.ts'
import { stores } from '../../kit/open-runtime.ts'

describe.each(stores)('events of a task on %s', (_kind, fresh) => {
  test('TASK-7: a second attempt appends events with new keys to those of the first', async () => {
    const { clock, store } = fresh()
    const pages = rerunTool('pages', { background: { events: { page: {} } } }, async (_, ctx) => {
      // The progress is stored in session values, so the next attempt continues after it.
      const done = Number((await ctx.values.get('done'))?.value ?? 0)
      for (let page = done + 1; page <= 4; page++) {
        await ctx.emit('page', { page }, { key: `page-${page}` })
        await ctx.values.set('done', page)
        if (page === 2 && ctx.attempt === 1) throw retry({ message: 'Busy', after: '5ms' })
      }
      return 'done'
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
