// The floor: the same rows, the same barriers (N + 1 per call), group commit, and nothing else. Without guards, leases,
// retries and validation it shows what the store allows, not what a product can reach.

import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { step, type Subject } from './workload.ts'

/** A step writes a row when it starts (without a value) and when it ends; a call when it arrives and when it ends. */
type Row =
  | { call: string; args: string }
  | { call: string; step: number; value: string | null }
  | { call: string; done: string }

type Flush = (rows: readonly Row[]) => void | Promise<void>

/** Group commit: one flush at a time; rows added meanwhile go into the next flush. */
class Group {
  #rows: Row[] = []
  #waiting: (() => void)[] = []
  #flushing = false
  flushes = 0
  readonly #flush: Flush

  constructor(flush: Flush) {
    this.#flush = flush
  }

  add(row: Row): void {
    this.#rows.push(row)
  }

  /** Resolves when all added rows are durable. */
  durable(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#flushing) return
      this.#flushing = true
      setImmediate(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    const [rows, woken] = [this.#rows, this.#waiting]
    this.#rows = []
    this.#waiting = []
    this.flushes++
    const flushed = this.#flush(rows)
    if (flushed) await flushed
    for (const wake of woken) wake()
    if (this.#waiting.length > 0) setImmediate(() => void this.#run())
    else this.#flushing = false
  }
}

function bareLoop(flush: Flush): Subject {
  const group = new Group(flush)
  let calls = 0
  let counted = 0
  return {
    async call(steps) {
      const call = (++calls).toString(36).padStart(8, '0')
      group.add({ call, args: `{"steps":${steps}}` })
      for (let index = 0; index < steps; index++) {
        group.add({ call, step: index, value: null })
        await group.durable()
        group.add({ call, step: index, value: JSON.stringify(step()) })
      }
      group.add({ call, done: 'null' })
      await group.durable()
    },
    commits() {
      const since = group.flushes - counted
      counted = group.flushes
      return since
    },
  }
}

export function bareSqlite(file: string, synchronous: 'FULL' | 'NORMAL'): Subject {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE calls (id TEXT PRIMARY KEY, args TEXT NOT NULL, result TEXT) WITHOUT ROWID;
    CREATE TABLE steps (call TEXT NOT NULL, step INTEGER NOT NULL, value TEXT, PRIMARY KEY (call, step)) WITHOUT ROWID`)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const end = db.prepare('COMMIT')
  const arrive = db.prepare('INSERT INTO calls (id, args) VALUES (?, ?)')
  const put = db.prepare(
    'INSERT INTO steps (call, step, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  )
  const finish = db.prepare('UPDATE calls SET result = ? WHERE id = ?')
  return bareLoop((rows) => {
    begin.run()
    for (const row of rows) {
      if ('args' in row) arrive.run(row.call, row.args)
      else if ('done' in row) finish.run(row.done, row.call)
      else put.run(row.call, row.step, row.value)
    }
    end.run()
  })
}

/**
 * One statement per flush on one connection. The barrier before a step keeps its start and its end in different
 * flushes.
 */
export async function barePostgres(url: string): Promise<Subject> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`CREATE TABLE calls (id text PRIMARY KEY, args text NOT NULL, result text);
    CREATE TABLE steps (call text NOT NULL, step int NOT NULL, value text, PRIMARY KEY (call, step))`)
  const text = `WITH arrived AS (INSERT INTO calls (id, args) SELECT * FROM unnest($1::text[], $2::text[])),
    put AS (INSERT INTO steps SELECT * FROM unnest($3::text[], $4::int[], $5::text[])
      ON CONFLICT (call, step) DO UPDATE SET value = excluded.value)
    UPDATE calls SET result = done.result FROM unnest($6::text[], $7::text[]) AS done (id, result) WHERE calls.id = done.id`
  return bareLoop(async (rows) => {
    const arrived: { call: string; args: string }[] = []
    const put: { call: string; step: number; value: string | null }[] = []
    const done: { call: string; done: string }[] = []
    for (const row of rows) {
      if ('args' in row) arrived.push(row)
      else if ('done' in row) done.push(row)
      else put.push(row)
    }
    const values = [
      arrived.map(({ call }) => call),
      arrived.map(({ args }) => args),
      put.map(({ call }) => call),
      put.map(({ step }) => step),
      put.map(({ value }) => value),
      done.map(({ call }) => call),
      done.map(({ done: text }) => text),
    ]
    await client.query({ name: 'flush', text, values })
  })
}
