// Opens SQLite files with `node:sqlite`. It is loaded with the first file: programs with another store never load it,
// and neither does a bundle, which would otherwise import it at its start.

import type * as NodeSqlite from 'node:sqlite'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { PawlError } from '../../core/errors.ts'

type Sqlite = typeof NodeSqlite

let connectTo: ((file: string, timeout: number) => DatabaseSync) | undefined

/** Opens a file. `timeout` is how long a statement waits for the lock of another connection, in ms. */
export function connect(file: string, timeout: number): DatabaseSync {
  connectTo ??= connectorFor(loadSqlite())
  return connectTo(file, timeout)
}

function loadSqlite(): Sqlite {
  const { emitWarning } = process
  // Node warns once that SQLite is experimental, while it loads the module. All other warnings pass.
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    const sqlite = process.getBuiltinModule('node:sqlite') as Sqlite | undefined
    if (sqlite) return sqlite
  } finally {
    process.emitWarning = emitWarning
  }
  throw new PawlError('node_unsupported', `This Node ${process.versions.node} was built without SQLite.`)
}

/** Before 22.20 and 24.7 Node does not bind positional values to numbered parameters (`?1`); there they get names. */
function connectorFor({ DatabaseSync: Database }: Sqlite): NonNullable<typeof connectTo> {
  const bindsNumbers = ((): boolean => {
    const db = new Database(':memory:')
    try {
      return db.prepare('SELECT ?1').get(1) !== undefined
    } catch {
      return false
    } finally {
      db.close()
    }
  })()
  if (bindsNumbers) return (file, timeout) => new Database(file, { timeout })
  return (file, timeout) => {
    const db = new Database(file, { timeout })
    const prepare = db.prepare.bind(db)
    db.prepare = (sql) => (/\?\d/.test(sql) ? withNamedNumbers(prepare(sql)) : prepare(sql))
    return db
  }
}

function withNamedNumbers(statement: StatementSync): StatementSync {
  const named = (values: SQLInputValue[]): Record<string, SQLInputValue> =>
    Object.fromEntries(values.map((value, index) => [`?${index + 1}`, value]))
  const { get, all, run } = statement
  return Object.assign(statement, {
    get: (...values: SQLInputValue[]) => get.call(statement, named(values)),
    all: (...values: SQLInputValue[]) => all.call(statement, named(values)),
    run: (...values: SQLInputValue[]) => run.call(statement, named(values)),
  })
}
