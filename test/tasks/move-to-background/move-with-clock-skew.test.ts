// TASK-8: the result of a moved call is told once, whatever the clocks of those who wait for it and of those who move it say.

import { createRuntime, type Runtime, tool } from 'pawl'
import { afterEach, expect, test } from 'vitest'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { after, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

for (const behindMs of [0, 5_000])
  test(`TASK-8: a call that a process whose clock is ${behindMs} ms behind moves, and that ends a moment later, is told once: as the result of its run, or in a notice`, async () => {
    const { clock, store, file } = freshSqlite()
    let end = (): void => {}
    const slow = tool({
      name: 'slow',
      description: 'd',
      input,
      background: true,
      timeout: '10h',
      execute: () => new Promise<string>((resolve) => (end = () => resolve('42 rows'))),
    })
    const here = await createRuntime({ store, clock, tools: [slow], logger: quiet })
    const behind = { ...clock, now: () => clock.now() - behindMs }
    const there = await createRuntime({
      store: sqliteStore({ file, clock, commit: 'process' }),
      clock: behind,
      tools: [slow],
      logger: quiet,
      worker: false,
    })
    runtimes.push(here, there)
    const session = here.session('s')
    const run = session.run([{ id: 'a', name: 'slow' }])
    await clock.advance(100)
    await there.session('s').tasks.adopt('a')
    end() // before the one that waits has looked for moves of others, which it does within a second
    const ended = await after(run, clock)
    const value = typeof ended === 'object' && 'value' in ended && ended.value[0]?.status === 'success' ? ended.value[0].value : null
    const told = (await session.notices.list()).length
    expect({ result: value === '42 rows', told }).not.toEqual({ result: true, told: 1 })
  })
