import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { expect, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { freshDir, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'

test('DUR-13: close() twice at once', async () => {
  const runtime = await createRuntime({ store: `sqlite:${join(freshDir(), 'a.db')}`, logger: quiet })
  await expect(Promise.all([runtime.close(), runtime.close()])).resolves.toBeDefined()
})

test.each([false, true])(
  'DUR-3 DUR-12: one of 600 calls that a dead worker left cannot be opened (%s): the others are taken up at once, not a page per heartbeat',
  async (damaged) => {
    const { clock, store, file } = freshSqlite()
    let did = 0
    const t = tool({
      name: 't',
      description: 'd',
      input: { type: 'object' },
      onCrash: 'rerun',
      concurrency: 'parallel',
      execute: () => void did++,
    })
    const front = await createRuntime({
      store: { ...store, close: async () => {} },
      clock,
      tools: [t],
      logger: quiet,
      worker: false,
      encrypt: true,
      limits: { perSession: 2000, perWorker: 2000 },
    })
    void front
      .session('s')
      .run(Array.from({ length: 600 }, (_, i) => ({ id: String(i), name: 't' })))
      .catch(() => {})
    await clock.advance(100)
    await clock.advance(100)
    const closing = front.close({ grace: 0 })
    await clock.advance(100)
    await closing
    const other = new DatabaseSync(file)
    if (damaged) expect(other.prepare(`UPDATE calls SET input = 'damaged' WHERE uid = (SELECT min(uid) FROM calls)`).run().changes).toBe(1)
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
