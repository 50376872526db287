import { createRuntime } from 'pawl'
import { expect, test } from 'vitest'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { simpleTool } from '../../kit/simple-tools.ts'
import { closeDuringCall } from '../../kit/interrupted-calls.ts'
import { stores } from '../../kit/open-runtime.ts'

for (const [kind, fresh] of stores) {
  test(`DUR-1: a step recorded by reconcile does not run again in the rerun (${kind})`, async () => {
    const { clock, store } = fresh()
    let finds = 0
    const charge = simpleTool(
      'charge',
      {
        reconcile: async (_, ctx) => {
          await ctx.step('find', () => ++finds)
          return { rerun: true } as const
        },
      },
      async (_, ctx) => {
        if (ctx.attempt === 1) await new Promise(() => {})
        return ctx.step('find', () => ++finds)
      },
    )
    const one = await createRuntime({ store, clock, tools: [charge], logger: quiet })
    await closeDuringCall(one, clock, { id: '1', name: 'charge' })
    const two = await createRuntime({ store, clock, tools: [charge], logger: quiet })
    expect(await after(two.session('s').run([{ id: '1', name: 'charge' }]), clock)).toMatchObject({
      value: [{ status: 'success', value: 1 }],
    })
    expect(finds).toBe(1)
  })
}
