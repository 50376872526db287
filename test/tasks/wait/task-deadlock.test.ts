// Deadlock detection among waiting tasks, also if one of them waits for several.

import { createRuntime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'

const input = { type: 'object' } as const

describe.each(stores)('task deadlocks on %s', (_kind, fresh) => {
  for (const order of [
    ['y', 'z'],
    ['z', 'y'],
  ])
    test(`TASK-8: x waits for ${order.join(' and ')}, y waits for x: the deadlock is resolved`, async () => {
      const { clock, store } = fresh()
      let begun = false
      const definition = { description: 'd', input, onCrash: 'rerun', background: true } as const
      const x = tool({
        name: 'x',
        ...definition,
        async execute(_, ctx) {
          begun = true
          const ends = await Promise.allSettled(order.map((id) => ctx.tasks.wait(id)))
          return ends.map(({ status }) => status)
        },
      })
      const y = tool({
        name: 'y',
        ...definition,
        async execute(_, ctx) {
          await ctx.task?.signal('go')
          return (await ctx.tasks.wait('x')).state
        },
      })
      const z = tool({ name: 'z', ...definition, execute: async (_, ctx) => (await ctx.sleep('1h'), 'slept') })
      const runtime = await createRuntime({ store, clock, tools: [x, y, z], logger: quiet })
      const { tasks } = runtime.session('s')
      for (const id of ['y', 'z', 'x']) await tasks.start({ tool: id, id })
      for (let n = 0; n < 20; n++) await clock.advance(100)
      expect(begun).toBe(true)
      await tasks.signal('y', 'go')
      for (let n = 0; n < 100; n++) await clock.advance('1m')
      const states = Object.fromEntries(
        await Promise.all(['x', 'y', 'z'].map(async (id) => [id, (await tasks.get(id))?.state])),
      )
      await runtime.close({ grace: 0 })
      await store.close()
      expect(states).toMatchObject({ x: 'succeeded', y: expect.stringMatching(/^(failed|succeeded)$/), z: 'succeeded' })
    })
})
