// A process that opens a store and prints its version, or kills itself in the middle of the migration.

import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { systemClock } from '../../src/core/clock.ts'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

export interface Opening {
  readonly file?: string
  readonly connection?: pg.ClientConfig
  readonly schema?: string
  /** Kill the process after this many migration statements. */
  readonly dieAfter?: number
}

const { file, connection, schema, dieAfter } = JSON.parse(process.env.PAWL_OPEN as string) as Opening
let left = dieAfter ?? Number.POSITIVE_INFINITY
const count = (): void => {
  if (--left < 0) process.kill(process.pid, 'SIGKILL')
}

if (dieAfter !== undefined) {
  const exec = DatabaseSync.prototype.exec
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
    // Runs each statement separately. Our SQL has no semicolons in comments.
    for (const each of sql.split(';').filter((part) => part.trim() !== '')) {
      count()
      exec.call(this, each)
    }
  }
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const result = query.apply(this, args) as Promise<unknown> | undefined
    return result?.then((answer) => (count(), answer))
  } as never
}

// All processes wait here, so that none gains a head start from process start-up time.
if (process.send) await new Promise((resolve) => (process.once('message', resolve), process.send?.('ready')))
const store =
  file === undefined
    ? await postgresStore({ connection: connection as pg.ClientConfig, schema: schema as string })
    : sqliteStore({ file, clock: systemClock, commit: 'power' })
const { schema: version } = await store.inspect()
const events = await store.events({ after: 0, limit: 1000 })
await store.close()
process.stdout.write(`${version} ${events.length}`)
process.exit()
