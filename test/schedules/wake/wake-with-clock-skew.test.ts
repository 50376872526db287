// TASK-9: a session is woken when there is something to tell, not when the clocks of those who end its tasks and of those who speak for it agree.

import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('waking, on %s', (_kind, fresh) => {
  for (const aheadMs of [0, 3_600_000])
    test(`TASK-9: a task that ends on a worker whose clock is ${aheadMs} ms ahead, and which does not know the model, wakes its session now (as an event from such a process is delivered now)`, async () => {
      const { clock, store } = fresh()
      const work = tool({ name: 'work', description: 'd', input, onCrash: 'rerun', background: true, execute: () => 'worked' })
      const model = scriptedModel([{ when: /./, say: 'Said' }], { name: 'm' })
      const options = { store, logger: quiet, wake: true }
      const speaks = await createRuntime({ ...options, clock, models: [model] })
      const ahead = { ...clock, now: () => clock.now() + aheadMs }
      const works = await createRuntime({ ...options, clock: ahead, tools: [work] })
      const session = works.session('s')
      const turn = speaks.session('s').turn({ model: 'm', message: 'Hi' })
      for (let n = 0; n < 5; n++) await clock.advance(1_000)
      expect(await turn.outcome).toMatchObject({ status: 'success' })
      await session.tasks.start({ tool: work, id: 'x' })
      for (let n = 0; n < 120; n++) await clock.advance(1_000)
      const state = (await session.tasks.get('x'))?.state
      const said = await speaks.session('s').messages.list()
      const heard = said.filter(({ message }) => message.role === 'notice').length
      for (const runtime of [works, speaks]) await runtime.close({ grace: 0 })
      await store.close()
      expect({ state, heard }).toEqual({ state: 'succeeded', heard: 1 })
    })
})
