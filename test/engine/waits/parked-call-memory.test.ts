// Parked calls and tasks cost no memory after their runtime is closed.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createRuntime } from 'pawl'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { argumentTool } from '../../kit/simple-tools.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const heap = async (): Promise<number> => {
  for (let n = 0; n < 5; n++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
const many = 30
const bytes = 500_000

for (const background of [false, true])
  test(
    `WAIT-1: ${many} parked ${background ? 'tasks' : 'calls'} use no memory after close()`,
    { timeout: 120_000 },
    async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'adv-leak-')), 'a.db')
      const parks = argumentTool(
        'parks',
        { type: 'object', properties: { text: { type: 'string' } } },
        { onCrash: 'rerun', background: true },
        (_, ctx) => ctx.later() as never,
      )
      const cycle = async (count: number): Promise<void> => {
        const store = sqliteStore({ file, clock: systemClock, commit: 'process' })
        const runtime = await createRuntime({ store, tools: [parks], logger: quiet })
        const session = runtime.session(`s${count}`)
        for (let n = 0; n < count; n++) {
          const input = { text: `${n}`.repeat(10).padEnd(bytes, 'x') }
          if (background) await session.tasks.start({ tool: parks, input })
          else await session.run([{ id: `c${n}`, name: 'parks', input }], { until: 'waiting' })
        }
        await vi.waitUntil(
          async () => {
            const open = await store.unsettled({
              of: { tenant: 'default', session: `s${count}` },
              after: '',
              limit: 200,
            })
            return open.length === count && open.every(({ state }) => state === 'parked')
          },
          { timeout: 60_000, interval: 20 },
        )
        await runtime.close()
        await store.close()
      }
      await cycle(5) // warm up one-time allocations
      const before = await heap()
      await cycle(many)
      const grown = (await heap()) - before
      expect(grown).toBeLessThan((many * bytes) / 2)
    },
  )
