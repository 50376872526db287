// A store of version 1 recorded no attachment uses; the migration derives them from the records of calls.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime } from 'pawl'
import pg from 'pg'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { secret } from '../golden/journal-tools.ts'
import { startServer } from '../kit/stores/postgres-server.ts'

const golden = (name: string): string => readFileSync(join(import.meta.dirname, '../golden', name), 'utf8')
const attachment = 'att_8W_3DJyoUzzg8g9uTvokTTMkfvw0ArL2BaefAK14S9s'
const reference = `{"$pawl":"attachment","ref":{"id":"${attachment}","mediaType":"application/x","bytes":4}}`
/** Moves the attachment from the outcome that names it to the answer of a wait in session 'cancelled'. */
const onlyInAnswer = `
  UPDATE calls SET outcome = '{"status":"success","value":"none"}' WHERE outcome LIKE '%${attachment}%';
  UPDATE waits SET resolution = '{"value":${reference}}' WHERE id = 'golden000012';
`

async function erasesWithItsAnswer(store: Store): Promise<void> {
  const runtime = await createRuntime({ store, worker: false, logger: quiet, keys: { secret } })
  try {
    expect(await runtime.erase({ session: 'settled' })).toMatchObject({ attachments: 0 })
    expect(await runtime.erase({ session: 'cancelled' })).toMatchObject({ attachments: 1 })
  } finally {
    await runtime.close({ grace: 0 })
    await store.close()
  }
}

test('DUR-9: a SQLite migration finds an attachment named only by a wait answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-migrated-'))
  try {
    const file = join(folder, 'agent.db')
    const db = new DatabaseSync(file)
    db.exec(
      golden('1.sqlite.dump').replace(
        /^INSERT INTO sqlite_sequence .*$/m,
        (line) => `DELETE FROM sqlite_sequence; ${line}`,
      ),
    )
    db.exec(onlyInAnswer)
    db.close()
    await erasesWithItsAnswer(sqliteStore({ file, clock: systemClock, commit: 'process' }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('DUR-9: a PostgreSQL migration finds an attachment named only by a wait answer', { timeout: 60_000 }, async () => {
  const server = await startServer()
  try {
    const admin = new pg.Client(server.connection)
    await admin.connect()
    await admin.query('CREATE SCHEMA old; SET search_path TO old')
    await admin.query(golden('1.postgres.dump'))
    await admin.query(onlyInAnswer)
    await admin.end()
    await erasesWithItsAnswer(await postgresStore({ connection: server.connection, schema: 'old' }))
  } finally {
    await server.stop()
  }
})
