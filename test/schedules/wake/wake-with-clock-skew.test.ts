// Waking does not wait for the clocks of different workers to agree.

import { createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'
import { rerunTask } from '../../kit/simple-tools.ts'

describe.each(stores)('waking with clock skew on %s', (_kind, fresh) => {
  for (const aheadMs of [0, 3_600_000])
    test(`TASK-9: a task that ends on a worker ${aheadMs} ms ahead wakes its session at once`, async () => {
      const { clock, store } = fresh()
      const work = rerunTask('work', () => 'worked')
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
