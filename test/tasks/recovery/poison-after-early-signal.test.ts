// A task with an early signal is abandoned after as many worker deaths as any other.

import { createRuntime, type Runtime, type RuntimeOptions } from 'pawl'
import { describe, expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { stores } from '../../kit/open-runtime.ts'
import { hang, rerunTask } from '../../kit/simple-tools.ts'

describe.each(stores)('early signals on %s', (_kind, fresh) => {
  for (const early of [false, true])
    test(`DUR-8, TASK-6: a task that kills its worker${early ? ' after an early signal' : ''} is abandoned after three deaths`, async () => {
      const { clock, store } = fresh()
      let runs = 0
      const kill = rerunTask('kill', async (_, ctx) => {
        if (early) await ctx.task?.signal('go')
        runs++
        return hang()
      })
      const door = await createRuntime({ store, clock, logger: quiet, tools: [kill], worker: false })
      const { tasks } = door.session('s')
      await tasks.start({ tool: kill, id: 'x' })
      if (early) await tasks.signal('x', 'go', true)
      const dies = async (options: Partial<RuntimeOptions>): Promise<void> => {
        const { store: own, die } = mortal(store)
        const before = runs
        const runtime: Runtime = await createRuntime({ store: own, clock, logger: quiet, ...options })
        for (let n = 0; n < 20 && runs === before; n++) await clock.advance('10s')
        die()
        await clock.advance('31s')
        void runtime
      }
      for (let n = 0; n < 3; n++) await dies({ tools: [kill] })
      expect(runs).toBe(3)
      const runtime = await createRuntime({ store, clock, logger: quiet, tools: [kill] })
      for (let n = 0; n < 10; n++) await clock.advance('10s')
      const task = await tasks.get('x')
      await runtime.close({ grace: 0 })
      await door.close({ grace: 0 })
      await store.close()
      expect({ state: task?.state, runs }).toEqual({ state: 'abandoned', runs: 3 })
    })
})
