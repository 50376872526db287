import { createRuntime, tool } from 'pawl'
import { expect, test } from 'vitest'
import { after, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  test(`DUR-1: a step that reconcile recorded does not run again in the rerun it asked for (${kind})`, async () => {
    const { clock, store } = fresh()
    let finds = 0
    const charge = tool({
      name: 'charge',
      description: 'd',
      input,
      reconcile: async (_, ctx) => {
        await ctx.step('find', () => ++finds)
        return { rerun: true } as const
      },
      execute: async (_, ctx) => {
        if (ctx.attempt === 1) await new Promise(() => {})
        return ctx.step('find', () => ++finds)
      },
    })
    const one = await createRuntime({ store, clock, tools: [charge], logger: quiet })
    one
      .session('s')
      .run([{ id: '1', name: 'charge' }])
      .catch(() => {})
    await clock.advance(100)
    const closing = one.close({ grace: 0 })
    await clock.advance(100)
    await closing
    const two = await createRuntime({ store, clock, tools: [charge], logger: quiet })
    expect(await after(two.session('s').run([{ id: '1', name: 'charge' }]), clock)).toMatchObject({
      value: [{ status: 'success', value: 1 }],
    })
    expect(finds).toBe(1)
  })
}
