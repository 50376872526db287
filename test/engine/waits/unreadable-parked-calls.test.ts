// Rows that cannot be opened concern their own calls (docs/decisions/0015), however many there are.
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, tool } from 'pawl'
import { expect, test } from 'vitest'
import { after, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const

test.each([1, 99, 100, 150])(
  'WAIT-2 DUR-12: %i parked calls cannot be opened and are due: another wait still ends by the clock',
  async (damaged) => {
    const { clock, store, file } = freshSqlite()
    const t = tool({
      name: 't',
      description: 'd',
      input,
      execute: async ({ deadline }, ctx) => ctx.later({ deadline: deadline as string }),
    })
    const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet, encrypt: true })
    for (let i = 0; i < damaged; i++)
      runtime
        .session('damaged')
        .run([{ id: String(i), name: 't', input: { deadline: '1m' } }])
        .catch(() => {})
    await clock.advance(100)
    await clock.advance(100)
    const other = new DatabaseSync(file)
    const { changes } = other.prepare(`UPDATE calls SET input = 'damaged' WHERE session = 'damaged' AND state = 'parked'`).run()
    other.close()
    expect(changes).toBe(damaged)
    const run = runtime.session('healthy').run([{ id: '1', name: 't', input: { deadline: '2m' } }])
    await clock.advance(100)
    expect(await after(run, clock, 3_600_000)).toMatchObject({ value: [{ status: 'failure', failure: { code: 'wait_timeout' } }] })
  },
)
