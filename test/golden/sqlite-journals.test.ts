// Golden journals on SQLite: stores left by older versions are migrated and continue. postgres-journals.test.ts covers
// PostgreSQL.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime } from 'pawl'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { openAndDie, openAtOnce } from './migration-processes.ts'
import { goesOn, type Recorded } from './continue-journal.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-golden-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const kept = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.sqlite.dump'))
const textOf = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8')

function restored(name: string, as: string): string {
  const file = join(folder, as)
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = WAL')
  // Creating the table with AUTOINCREMENT already adds its counter row.
  db.exec(textOf(name).replace(/^INSERT INTO sqlite_sequence .*$/m, (line) => `DELETE FROM sqlite_sequence; ${line}`))
  db.close()
  return file
}

const shapeOf = (file: string): unknown[] => {
  const db = new DatabaseSync(file)
  const shape = db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all()
  db.close()
  return shape.map((row) => ({ ...row }))
}

test.each(kept)(
  'DUR-9: %s is migrated, keeps its outcomes and continues',
  async (name) => {
    const file = restored(name, name)
    const recorded = JSON.parse(textOf(name.replace(/dump$/, 'json'))) as Recorded
    await goesOn(recorded, async (clock) => sqliteStore({ file, clock, commit: 'power' }))
  },
  60_000,
)

test('DUR-9: the newest golden journal has the current schema (test/golden/make-journal.ts)', async () => {
  const fresh = join(folder, 'fresh.db')
  await sqliteStore({ file: fresh, clock: systemClock, commit: 'power' }).close()
  const db = new DatabaseSync(fresh)
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  db.close()
  expect(kept).toContain(`${version}.sqlite.dump`)
  expect(shapeOf(restored(`${version}.sqlite.dump`, 'newest.db'))).toEqual(shapeOf(fresh))
})

test.each(kept)('DUR-9: %s has the schema of a new store after its migration', async (name) => {
  const file = restored(name, `shape of ${name}`)
  const fresh = join(folder, `fresh ${name}`)
  for (const each of [file, fresh]) await sqliteStore({ file: each, clock: systemClock, commit: 'power' }).close()
  expect(shapeOf(file)).toEqual(shapeOf(fresh))
})

const current = kept.length

test(
  'DUR-9: eight processes that open an old or new file at once all find it migrated',
  { timeout: 60_000 },
  async () => {
    const recorded = JSON.parse(textOf('1.sqlite.json')) as Recorded
    await openAtOnce(
      { file: restored('1.sqlite.dump', 'eight.db') },
      { many: 8, says: `${current} ${recorded.events.length}` },
    )
    await openAtOnce({ file: join(folder, 'eight new.db') }, { many: 8, says: `${current} 0` })
  },
)

test(
  'DUR-9: a crash during the migration leaves the old schema, and the next process migrates',
  { timeout: 120_000 },
  async () => {
    const file = restored('1.sqlite.dump', 'dies.db')
    const old = shapeOf(file)
    const fresh = join(folder, 'fresh for dies.db')
    await sqliteStore({ file: fresh, clock: systemClock, commit: 'power' }).close()
    const today = shapeOf(fresh)
    let deaths = 0
    for (let dieAfter = 0; await openAndDie({ file, dieAfter }); dieAfter += 3) {
      // The schema is either the old or the new one, and the old one until the commit.
      const now = shapeOf(file)
      if (deaths++ < 4) expect(now).toEqual(old)
      else expect([old, today]).toContainEqual(now)
    }
    expect(deaths).toBeGreaterThan(4)
    expect(shapeOf(file)).toEqual(today)
    const recorded = JSON.parse(textOf('1.sqlite.json')) as Recorded
    await openAtOnce({ file }, { many: 1, says: `${current} ${recorded.events.length}` })
  },
)

test('DUR-9: a newer schema or format is rejected and the file left unchanged', async () => {
  const file = restored('1.sqlite.dump', 'newer.db')
  const db = new DatabaseSync(file)
  db.exec('PRAGMA user_version = 999; PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const before = readFileSync(file)
  expect(() => sqliteStore({ file, clock: systemClock, commit: 'power' })).toThrow(
    expect.objectContaining({
      code: 'store_newer',
      message: expect.stringMatching(/schema 999; this version of Pawl supports up to \d.*Upgrade Pawl/),
    }),
  )
  expect(readFileSync(file)).toEqual(before)
  const other = join(folder, 'newer format.db')
  const store = sqliteStore({ file: other, clock: systemClock, commit: 'power' })
  await store.setting('format', '2')
  await expect(createRuntime({ store })).rejects.toMatchObject({
    code: 'store_newer',
    message: expect.stringMatching(/format is 2/),
  })
  await store.close()
})
