// The cost of listing tasks depends on the tasks shown or open, not on all past tasks.

import { expect, test } from 'vitest'
import { createRuntime } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { backgroundTool } from '../kit/simple-tools.ts'

const quick = backgroundTool('quick', { hints: { readOnly: true } }, () => 1)
const never = backgroundTool('never', { hints: { readOnly: true } }, () => new Promise(() => {}))

/** Counts store reads and the rows they return. */
function counting(store: Store): { store: Store; counts: { reads: number; rows: number } } {
  const counts = { reads: 0, rows: 0 }
  const counted = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      typeof method !== 'function' || ['onHint', 'write', 'commit', 'renew', 'claim', 'close'].includes(name)
        ? method
        : (...args: never[]) => {
            const given = (method as (...args: never[]) => unknown)(...args)
            counts.reads++
            counts.rows += Array.isArray(given) ? given.length : 1
            return given
          },
    ]),
  ) as unknown as Store
  return { store: counted, counts }
}

test(
  'TASK-8, DUR-10: listing tasks costs the same with 3,000 finished tasks as with 100',
  { timeout: 120_000 },
  async () => {
    const clock = manualClock()
    const { store, counts } = counting(memoryStore({ clock }))
    const runtime = await createRuntime({ store, tools: [quick, never], clock, logger: quiet })
    const session = runtime.session('s')
    const cost = async (look: () => Promise<unknown>): Promise<string> => {
      const before = { ...counts }
      await look()
      return `${counts.reads - before.reads} reads, ${counts.rows - before.rows} rows`
    }
    const looks = async (): Promise<string[]> => [
      await cost(() => session.tasks.list({ limit: 20 })),
      await cost(() => session.tasks.list({ state: 'open' })),
      await cost(() => session.notices.list()),
      await cost(() => session.tasks.get('open')),
    ]
    await session.tasks.start({ tool: never, id: 'open' })
    const finish = async (count: number): Promise<void> => {
      const started = await Promise.all(
        Array.from({ length: count }, () => session.tasks.start({ tool: quick, wake: 'silent' })),
      )
      await Promise.all(started.map(({ id }) => session.tasks.wait(id)))
    }
    await finish(100)
    const few = await looks()
    await finish(2_900)
    expect(await looks()).toEqual(few)
    await runtime.close({ grace: 0 })
    await store.close()
  },
)
