// DUR-8, TASK-6: a task that had an early signal is given up after as many workers as every other.

import { createRuntime, type Runtime, type RuntimeOptions, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const hang = (): Promise<never> => new Promise(() => {})

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('signals that came early, on %s', (_kind, fresh) => {
  for (const early of [false, true])
    test(`DUR-8 TASK-6: a task whose body ${early ? 'heard a signal that was kept for it and then' : ''} kills its worker is abandoned after three deaths ("until three workers have died over it", background.md)`, async () => {
      const { clock, store } = fresh()
      let runs = 0
      const kill = tool({
        name: 'kill',
        description: 'd',
        input,
        onCrash: 'rerun',
        background: true,
        async execute(_, ctx) {
          if (early) await ctx.task?.signal('go')
          runs++
          return hang()
        },
      })
      const door = await createRuntime({ store, clock, logger: quiet, tools: [kill], worker: false })
      const { tasks } = door.session('s')
      await tasks.start({ tool: kill, id: 'x' })
      if (early) await tasks.signal('x', 'go', true)
      const dies = async (options: Partial<RuntimeOptions>): Promise<void> => {
        const { store: own, die } = mortal(store)
        const before = runs
        const runtime: Runtime = await createRuntime({ store: own, clock, logger: quiet, ...options })
        for (let n = 0; n < 10 && runs === before; n++) await clock.advance('10s')
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
