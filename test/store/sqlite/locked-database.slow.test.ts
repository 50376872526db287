// A database that another connection has locked: the writer waits for the lock until its timeout of five seconds.

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { change, eventRecord } from '../../../src/testing/store-cases/record-builders.ts'
import { freshDir } from '../../kit/stores/fresh-store.ts'

test('DUR-6: a group of three changes waits for the lock once, not once per change', { timeout: 60_000 }, async () => {
  const file = join(freshDir(), 'a.db')
  const store = sqliteStore({ file, clock: systemClock, commit: 'process' })
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  const from = systemClock.monotonic()
  await Promise.allSettled([1, 2, 3].map((at) => store.commit(change({ events: [eventRecord(at)] }))))
  const took = systemClock.monotonic() - from
  other.exec('ROLLBACK')
  other.close()
  await store.close()
  expect(took).toBeLessThan(9_000)
})
