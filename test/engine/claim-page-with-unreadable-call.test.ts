import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { expect, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { freshDir, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

test('DUR-13: close() may be called twice concurrently', async () => {
  const runtime = await createRuntime({ store: `sqlite:${join(freshDir(), 'a.db')}`, logger: quiet })
  await expect(Promise.all([runtime.close(), runtime.close()])).resolves.toBeDefined()
})

test.each([false, true])(
  'DUR-3 DUR-12: one unreadable call among 600 does not delay the recovery of the rest (%s)',
  async (damaged) => {
    const { clock, store, file } = freshSqlite()
    let did = 0
    const t = rerunTool('t', { concurrency: 'parallel' }, () => void did++)
    const front = await createRuntime({
      store: { ...store, close: async () => {} },
      clock,
      tools: [t],
      logger: quiet,
      worker: false,
      encrypt: true,
      limits: { perSession: 2000, perWorker: 2000 },
    })
    ignoreResult(front.session('s').run(Array.from({ length: 600 }, (_, i) => ({ id: String(i), name: 't' }))))
    await clock.advance(100)
    await clock.advance(100)
    const closing = front.close({ grace: 0 })
    await clock.advance(100)
    await closing
    const other = new DatabaseSync(file)
    if (damaged)
      expect(
        other.prepare(`UPDATE calls SET input = 'damaged' WHERE uid = (SELECT min(uid) FROM calls)`).run().changes,
      ).toBe(1)
    other.close()
    await createRuntime({
      store: sqliteStore({ file, clock, commit: 'process' }),
      clock,
      tools: [t],
      logger: quiet,
      encrypt: true,
      limits: { perSession: 2000, perWorker: 2000 },
    })
    for (let i = 0; i < 50; i++) await clock.advance(100) // five seconds; the next heartbeat comes after ten
    expect(did).toBeGreaterThanOrEqual(599)
  },
)
