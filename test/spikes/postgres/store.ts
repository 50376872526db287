// SPIKE: the store port on PostgreSQL, to learn whether the port fits a database that others use too. Right, small, not yet fast.
//
// Who waits for whom. Every group of changes first locks the one row of `log`, so groups of all processes follow one another:
// positions are given out in the order in which they become visible, sequences have no gap, and no two groups can deadlock.
// Claims, renewals and reads take no part in that. A claim skips rows that a group has locked; a group waits for rows that a
// claim has locked, and claims wait for nobody.

import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../src/kernel/time.ts'
import { GroupCommit, type Write } from '../../../src/store/group.ts'
import type { Store, Written } from '../../../src/store/store.ts'
import { attachmentOf, callOf, digest, eventOf, GroupWriter, nameIn, nameOut, placeOf, stepOf, waitOf } from './rows.ts'
import { Client, Pool, type PoolClient, types } from 'pg'
import { migrate } from './schema.ts'
import type { Connection } from './server.ts'

export interface PostgresOptions {
  readonly connection: Connection
  /** Where the tables are; also names the channel of the hints. */
  readonly schema: string
  /** For timers only: what time it is, PostgreSQL says. */
  readonly clock: Clock
}

/** How often to look for what a lost notification would have said. */
const pollMs = 500

/** What a claim may take: calls that want a worker and whose owner is neither the claimer ($1) nor alive. */
const claimable = `state IN ('received', 'queued', 'running') AND (owner IS NULL OR owner <> $1
  AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = calls.owner AND until > clock_timestamp()))`

export async function postgresStore({ connection, schema, clock }: PostgresOptions): Promise<Store> {
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) throw new Error(`The schema name ${JSON.stringify(schema)} would need quoting.`)
  const settings = { ...connection, options: `-c search_path=${schema}`, types: { getTypeParser: bigintsAsNumbers } }
  const listener = new Client(settings)
  await listener.connect()
  await migrate(listener, schema)
  const readers = new Pool({ ...settings, max: 4 })
  // One write queue per process is one connection.
  const writers = new Pool({ ...settings, max: 1 })
  // A connection that breaks while nobody uses it is replaced; whoever uses one hears of it from the query.
  for (const pool of [readers, writers]) pool.on('error', () => {})
  listener.on('error', () => {})

  const self = randomUUID()
  const channel = `pawl_${schema}`
  const inTransaction = async <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> => {
    const client = await pool.connect()
    let broken: Error | undefined
    try {
      await client.query('BEGIN')
      const result = await work(client)
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch((failed: Error) => void (broken = failed))
      throw error
    } finally {
      client.release(broken)
    }
  }

  let seen = 0
  const writeOnce = async (changes: Parameters<Write>[0]): Promise<Written[]> => {
    let version = 0
    const written = await inTransaction(writers, async (client) => {
      const log = (await client.query('SELECT position, version FROM log FOR UPDATE')).rows[0] as { position: number; version: number }
      const writer = new GroupWriter(client, log.position)
      const answers: Written[] = []
      for (const change of changes) answers.push(await writer.apply(change))
      version = log.version + 1
      await client.query('UPDATE log SET position = $1, version = $2', [writer.position, version])
      await client.query('SELECT pg_notify($1, $2)', [channel, `${self} ${version}`])
      return answers
    })
    // Only if nothing of others lies between: else the poll has something to find.
    if (seen === version - 1) seen = version
    return written
  }
  /** Should a change break the group by its own fault, each is tried alone. Any other failure may have been a commit: not tried again. */
  const write: Write = async (changes) => {
    try {
      return await writeOnce(changes)
    } catch (failed) {
      if (!isOwnFault(failed)) throw failed
      if (changes.length === 1) return [{ failed }]
      const alone: Written[] = []
      for (const change of changes) alone.push(...(await write([change])))
      return alone
    }
  }
  const group = new GroupCommit(clock, write)

  const rows = async <Row, T>(of: (row: Row) => T, sql: string, values: readonly unknown[]): Promise<T[]> =>
    (await readers.query(sql, values as unknown[])).rows.map((row) => of(row as Row))
  const row = async <Row, T>(of: (row: Row) => T, sql: string, values: readonly unknown[]): Promise<T | undefined> =>
    (await rows(of, sql, values))[0]

  listener.on('notification', ({ payload = '' }) => {
    const [from, version] = payload.split(' ')
    if (from === self) return
    seen = Math.max(seen, Number(version ?? 0))
    group.hint({ wakes: true, outside: true })
  })
  await listener.query(`LISTEN ${channel}`)
  const versionNow = async (): Promise<number> =>
    (await row(({ version }: { version: number }) => version, 'SELECT version FROM log', [])) ?? 0
  seen = await versionNow()

  let closing: Promise<void> | null = null
  const look = async (): Promise<void> => {
    const version = await versionNow()
    if (version > seen) group.hint({ wakes: true, outside: true })
    seen = Math.max(seen, version)
  }
  // One that fails is made up for by the next.
  const callOffPoll = clock.every(pollMs, () => void look().catch(() => {}))

  return {
    kind: 'postgres',
    commit: (change) => group.commit(change),
    write: (change, heard, how) => group.write(change, heard, how),
    callAt: (position) => row(callOf, 'SELECT * FROM calls WHERE place = $1', [placeOf(position)]),
    call: (uid) => row(callOf, 'SELECT * FROM calls WHERE uid = $1', [nameIn(uid)]),
    callsOf: ({ tenant, session }, { after, limit }) =>
      rows(callOf, 'SELECT * FROM calls WHERE tenant = $1 AND session = $2 AND uid > $3 ORDER BY uid LIMIT $4', [
        nameIn(tenant),
        nameIn(session),
        nameIn(after),
        limit,
      ]),
    steps: (call) => rows(stepOf, 'SELECT * FROM steps WHERE call = $1', [nameIn(call)]),
    waitsOf: (call) => rows(waitOf, 'SELECT * FROM waits WHERE call = $1', [nameIn(call)]),
    wait: (id) => row(waitOf, 'SELECT * FROM waits WHERE id = $1', [nameIn(id)]),
    waitByKeyHash: (hash) => row(waitOf, 'SELECT * FROM waits WHERE "keyHash" = $1', [nameIn(hash)]),
    dueWaits: (now, limit) =>
      rows(waitOf, 'SELECT * FROM waits WHERE resolution IS NULL AND deadline <= $1 ORDER BY deadline, id LIMIT $2', [now, limit]),
    nextDeadline: () =>
      row(
        ({ deadline }: { deadline: number }) => deadline,
        'SELECT deadline FROM waits WHERE resolution IS NULL ORDER BY deadline LIMIT 1',
        [],
      ),
    attachment: (tenant, id) => row(attachmentOf, 'SELECT * FROM attachments WHERE place = $1', [digest(tenant, id)]),
    events: ({ after, limit, of }) =>
      of
        ? rows(eventOf, 'SELECT * FROM events WHERE scope = $1 AND position > $2 ORDER BY position LIMIT $3', [
            digest(of.tenant, of.session),
            after,
            limit,
          ])
        : rows(eventOf, 'SELECT * FROM events WHERE position > $1 ORDER BY position LIMIT $2', [after, limit]),
    renew: async (worker, leaseMs) => {
      await readers.query(
        `INSERT INTO workers VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond') ON CONFLICT (id) DO UPDATE SET until = excluded.until`,
        [nameIn(worker), leaseMs],
      )
    },
    // Two statements, because the second must look again: while the first waited its turn, another may have claimed the row for a
    // worker whose lease is too young for the first one's snapshot, and which therefore looks dead to it.
    claim: (worker, tools, limit) =>
      inTransaction(readers, async (client) => {
        const open = await client.query(
          `SELECT uid FROM calls WHERE ${claimable} AND tool = ANY($2) ORDER BY "createdAt", uid LIMIT $3 FOR UPDATE SKIP LOCKED`,
          [nameIn(worker), tools.map(nameIn), limit],
        )
        if (open.rowCount === 0) return []
        const claimed = await client.query(
          `UPDATE calls SET owner = $1, fence = fence + 1 WHERE uid = ANY($2) AND ${claimable} RETURNING *`,
          [nameIn(worker), open.rows.map(({ uid }: { uid: string }) => uid)],
        )
        const calls = claimed.rows.map((each) => callOf(each as Parameters<typeof callOf>[0]))
        return calls.toSorted((a, b) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
      }),
    leave: async (worker) => {
      await readers.query('DELETE FROM workers WHERE id = $1', [nameIn(worker)])
      await readers.query('SELECT pg_notify($1, $2)', [channel, self])
    },
    setting: async (key, ifAbsent) => {
      await readers.query('INSERT INTO settings VALUES ($1, $2) ON CONFLICT DO NOTHING', [nameIn(key), nameIn(ifAbsent)])
      const found = await readers.query('SELECT value FROM settings WHERE key = $1', [nameIn(key)])
      return nameOut((found.rows[0] as { value: string }).value)
    },
    // Whoever can read the database could read it there, so PostgreSQL keeps none: the host must give one.
    secret: () => undefined,
    onHint: (listen) => group.onHint(listen),
    close() {
      closing ??= (async () => {
        callOffPoll()
        await group.close()
        await Promise.all([writers.end(), readers.end(), listener.end()])
      })()
      return closing
    },
  }
}

/** SQLSTATE classes 22 and 23: bad data, broken constraint. The server refused it, so surely nothing of it was committed. */
const isOwnFault = (error: unknown): boolean => /^2[23]/.test((error as { code?: string }).code ?? '')

/** int8 as a number: positions and instants stay below 2^53. */
const bigintsAsNumbers = ((oid: typeof types.builtins.INT8, format: 'text') =>
  oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser
