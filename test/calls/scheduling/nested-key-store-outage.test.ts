// A nested call with a key, while the store is away for one write.
import { createRuntime, PawlError, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/store/store.ts'
import { type Faults, after, faulty, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const lost = (): never => {
  throw new PawlError('store_unavailable', 'planted')
}

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(kind, () => {
    for (const [what, isIt] of [
      ['gives its key back because all it called sleeps', (change: Change) => change.give !== undefined && change.updateCall === undefined],
      ['takes its key again when what it called wakes', (change: Change) => change.take !== undefined && change.updateCall === undefined],
    ] as const)
      test(`CALL-2 DUR-1: a call ${what}, and that write fails once: losing the store is no outcome of the call under it`, async () => {
        const { clock, store } = fresh()
        let failing = 1
        const faults: Faults = { onCommit: (change) => (isIt(change) && failing-- > 0 ? lost() : undefined) }
        const inner = tool({
          name: 'inner',
          description: 'd',
          input,
          onCrash: 'rerun',
          async execute(_, ctx) {
            await ctx.sleep('1s')
            return 'in'
          },
        })
        const outer = tool({
          name: 'outer',
          description: 'd',
          input,
          onCrash: 'rerun',
          concurrency: { key: () => 'k' },
          async execute(_, ctx) {
            const outcome = await ctx.call(inner, {})
            return outcome.status === 'failure' ? outcome.failure.code : outcome.status
          },
        })
        const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [inner, outer], logger: quiet })
        const ask = () => runtime.session('s').run([{ id: '1', name: 'outer' }])
        let end = await after(ask(), clock)
        expect(failing).toBeLessThan(1)
        if (typeof end === 'object' && 'error' in end) {
          expect(end).toMatchObject({ error: { code: 'store_unavailable' } })
          end = await after(ask(), clock)
        }
        expect(end).toMatchObject({ value: [{ status: 'success', value: 'success' }] }) // and not 'store_unavailable', on record for ever
      })
    test('SCHED-4 CALL-2: a step of a nested, keyed call cannot be written once: taken up again, nothing is refused as a deadlock', async () => {
      const { clock, store } = fresh()
      let failing = 1
      const faults: Faults = { onCommit: (change) => (change.steps && failing-- > 0 ? lost() : undefined) }
      const inner = tool({
        name: 'inner',
        description: 'd',
        input,
        onCrash: 'rerun',
        concurrency: { key: () => 'k' },
        execute: async (_, ctx) => ctx.step('a', () => 'in'),
      })
      const outer = tool({
        name: 'outer',
        description: 'd',
        input,
        onCrash: 'rerun',
        concurrency: 'parallel',
        async execute(_, ctx) {
          const outcome = await ctx.call(inner, {})
          return outcome.status === 'success' ? outcome.value : outcome
        },
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [inner, outer], logger: quiet })
      const ask = () => runtime.session('s').run([{ id: '1', name: 'outer' }])
      expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
      expect(await after(ask(), clock)).toMatchObject({ value: [{ status: 'success', value: 'in' }] })
    })
  })
}
