// The result of a moved call is delivered once, even if the clocks of the waiting and the moving process differ.

import { createRuntime } from 'pawl'
import { expect, test } from 'vitest'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { after, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { backgroundTool } from '../../kit/simple-tools.ts'

const runtimes = closedAfterEach()

for (const behindMs of [0, 5_000])
  test(`TASK-8: a call moved by a process whose clock is ${behindMs} ms behind is delivered once`, async () => {
    const { clock, store, file } = freshSqlite()
    let end = (): void => {}
    const slow = backgroundTool(
      'slow',
      { timeout: '10h' },
      () => new Promise<string>((resolve) => (end = () => resolve('42 rows'))),
    )
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
    end() // before the waiting run polls for foreign moves, which it does within a second
    const ended = await after(run, clock)
    const value =
      typeof ended === 'object' && 'value' in ended && ended.value[0]?.status === 'success'
        ? ended.value[0].value
        : null
    const told = (await session.notices.list()).length
    expect({ result: value === '42 rows', told }).not.toEqual({ result: true, told: 1 })
  })
