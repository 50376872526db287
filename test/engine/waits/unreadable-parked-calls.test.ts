// Unreadable rows affect only their own calls, however many there are.
import { DatabaseSync } from 'node:sqlite'
import { createRuntime } from 'pawl'
import { expect, test } from 'vitest'
import { after, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'
import { simpleTool } from '../../kit/simple-tools.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'

test.each([1, 99, 100, 150])(
  'WAIT-2 DUR-12: %i unreadable due calls do not delay the deadline of another wait',
  async (damaged) => {
    const { clock, store, file } = freshSqlite()
    const t = simpleTool('t', async ({ deadline }, ctx) => ctx.later({ deadline: deadline as '1h' }))
    const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet, encrypt: true })
    for (let i = 0; i < damaged; i++)
      ignoreResult(runtime.session('damaged').run([{ id: String(i), name: 't', input: { deadline: '1m' } }]))
    await clock.advance(100)
    await clock.advance(100)
    const other = new DatabaseSync(file)
    const { changes } = other
      .prepare(`UPDATE calls SET input = 'damaged' WHERE session = 'damaged' AND state = 'parked'`)
      .run()
    other.close()
    expect(changes).toBe(damaged)
    const run = runtime.session('healthy').run([{ id: '1', name: 't', input: { deadline: '2m' } }])
    await clock.advance(100)
    expect(await after(run, clock, 3_600_000)).toMatchObject({
      value: [{ status: 'failure', failure: { code: 'wait_timeout' } }],
    })
  },
)
