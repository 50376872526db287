// Nested calls with a key, while one write of the store fails.
import { createRuntime } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/store/store.ts'
import { after, type Faults, faulty, lost, quiet } from '../../kit/stores/fresh-store.ts'
import { rerunTool } from '../../kit/simple-tools.ts'
import { stores } from '../../kit/open-runtime.ts'

for (const [kind, fresh] of stores) {
  describe(kind, () => {
    for (const [what, isIt] of [
      [
        'releases its key while its nested call sleeps',
        (change: Change) => change.releaseSlots !== undefined && change.updateCall === undefined,
      ],
      [
        'reacquires its key when its nested call wakes',
        (change: Change) => change.takeSlots !== undefined && change.updateCall === undefined,
      ],
    ] as const)
      test(`CALL-2 DUR-1: a call ${what} and that write fails once`, async () => {
        const { clock, store } = fresh()
        let failing = 1
        const faults: Faults = { onCommit: (change) => (isIt(change) && failing-- > 0 ? lost() : undefined) }
        const inner = rerunTool('inner', async (_, ctx) => {
          await ctx.sleep('1s')
          return 'in'
        })
        const outer = rerunTool('outer', { concurrency: { key: () => 'k' } }, async (_, ctx) => {
          const outcome = await ctx.call(inner, {})
          return outcome.status === 'failure' ? outcome.failure.code : outcome.status
        })
        const runtime = await createRuntime({
          store: faulty(store, faults),
          clock,
          tools: [inner, outer],
          logger: quiet,
        })
        const ask = () => runtime.session('s').run([{ id: '1', name: 'outer' }])
        let end = await after(ask(), clock)
        expect(failing).toBeLessThan(1)
        if (typeof end === 'object' && 'error' in end) {
          expect(end).toMatchObject({ error: { code: 'store_unavailable' } })
          end = await after(ask(), clock)
        }
        expect(end).toMatchObject({ value: [{ status: 'success', value: 'success' }] }) // not 'store_unavailable'
      })
    test('SCHED-4 CALL-2: a failed step write in a nested keyed call causes no deadlock error later', async () => {
      const { clock, store } = fresh()
      let failing = 1
      const faults: Faults = { onCommit: (change) => (change.steps && failing-- > 0 ? lost() : undefined) }
      const inner = rerunTool('inner', { concurrency: { key: () => 'k' } }, async (_, ctx) => ctx.step('a', () => 'in'))
      const outer = rerunTool('outer', { concurrency: 'parallel' }, async (_, ctx) => {
        const outcome = await ctx.call(inner, {})
        return outcome.status === 'success' ? outcome.value : outcome
      })
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [inner, outer], logger: quiet })
      const ask = () => runtime.session('s').run([{ id: '1', name: 'outer' }])
      expect(await after(ask(), clock)).toMatchObject({ error: { code: 'store_unavailable' } })
      expect(await after(ask(), clock)).toMatchObject({ value: [{ status: 'success', value: 'in' }] })
    })
  })
}
