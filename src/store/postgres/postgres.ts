// The store for a fleet: PostgreSQL, many workers, group commit per process, one round trip and one sync per group (schema.ts, plan.ts).
//
// The database's clock is the clock of leases. Changes are told with NOTIFY, and looked for by a poll beneath it: a listener whose connection
// breaks connects again, and misses nothing, because every group raises a number that the poll compares.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { PawlError } from '../../kernel/errors.ts'
import { type Clock, systemClock } from '../../kernel/time.ts'
import { GroupCommit, type Write } from '../group.ts'
import type { Store, Written } from '../store.ts'
import { Listener } from './listener.ts'
import { type Plan, planOf } from './plan.ts'
import { attachmentOf, callOf, digest, eventOf, nameIn, nameOut, placeOf, stepOf, waitOf } from './rows.ts'
import { migrate } from './schema.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host/database`, or what `pg` takes. */
  readonly connection: string | pg.ClientConfig
  /** Where the tables are; it is made if it is not there. Default: `pawl`. */
  readonly schema?: string
  /** For timers only: what time it is, PostgreSQL says. */
  readonly clock?: Clock
  /** `power` (default): acknowledged means on the server's disk. `process`: a crash of the server may lose the last moments. */
  readonly commit?: 'power' | 'process'
}

/** What a claim may take: calls that want a worker and whose owner is neither the claimer ($1) nor alive. */
const claimable = `state IN ('received', 'queued', 'running') AND (owner IS NULL OR owner <> $1
  AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = calls.owner AND until > clock_timestamp()))`

export async function postgresStore({
  connection,
  schema = 'pawl',
  clock = systemClock,
  commit = 'power',
}: PostgresOptions): Promise<Store> {
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) {
    throw new PawlError(
      'config_invalid',
      `The schema is ${JSON.stringify(schema)}; use up to 41 of a-z, 0-9 and _, not starting with a digit.`,
    )
  }
  const given = typeof connection === 'string' ? { connectionString: connection } : connection
  const settings: pg.ClientConfig = {
    ...given,
    options: `${given.options ?? ''} -c search_path=${schema} -c synchronous_commit=${commit === 'power' ? 'on' : 'off'}`,
    types: { getTypeParser: bigintsAsNumbers },
    application_name: given.application_name ?? 'pawl',
  }
  await opened(settings, schema)
  const readers = new pg.Pool({ ...settings, max: 4 })
  // One write queue per process is one connection.
  const writers = new pg.Pool({ ...settings, max: 1 })
  // A connection that breaks while nobody uses it is replaced; whoever uses one hears of it from the query.
  for (const pool of [readers, writers]) {
    pool.on('error', () => {})
    // From the first moment: one that breaks as it is handed over has nobody else to listen, and would end the process.
    pool.on('connect', (client) => client.on('error', () => {}))
  }

  const self = randomUUID()
  const channel = `pawl_${schema}`
  const send = async (plan: Plan): Promise<Written[]> => {
    const { rows: done } = await writers.query({
      name: 'write',
      text: 'SELECT * FROM write_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
      values: [...plan.values, channel, self],
    })
    const { bad, raised } = done[0] as { bad: number[]; raised: number }
    listener.own(raised)
    return plan.answers(bad)
  }
  /** Should a change break its group by its own fault, each is tried alone. Any other failure may have been a commit: not tried again. */
  const write: Write = async (changes) => {
    const answers: Written[] = []
    while (answers.length < changes.length) {
      const rest = changes.slice(answers.length)
      const plan = planOf(rest)
      try {
        answers.push(...(await send(plan)))
      } catch (failed) {
        if (!isOwnFault(failed)) throw failed
        if (plan.taken === 1) answers.push({ failed })
        else for (const change of rest.slice(0, plan.taken)) answers.push(...(await write([change])))
      }
    }
    return answers
  }
  const group = new GroupCommit(clock, write)
  const listener = await Listener.open({
    connect: () => new pg.Client(settings),
    version: async () => (await one(({ version }: { version: number }) => version, 'SELECT version FROM log', [])) ?? 0,
    heard: () => group.hint({ wakes: true, outside: true }),
    clock,
    channel,
    self,
  })

  async function asked(query: pg.QueryConfig): Promise<pg.QueryResult> {
    return readers.query(query).catch(away)
  }
  async function all<Row, T>(of: (row: Row) => T, text: string, values: readonly unknown[]): Promise<T[]> {
    // Named, so that the server plans each once per connection.
    return (await asked({ name: nameFor(text), text, values: values as unknown[] })).rows.map((row) => of(row as Row))
  }
  async function one<Row, T>(of: (row: Row) => T, text: string, values: readonly unknown[]): Promise<T | undefined> {
    return (await all(of, text, values))[0]
  }

  let closing: Promise<void> | null = null
  return {
    kind: 'postgres',
    commit: (change) => group.commit(change),
    write: (change, heard, how) => group.write(change, heard, how),
    callAt: (position) => one(callOf, `SELECT * FROM calls WHERE place = decode($1, 'hex')`, [placeOf(position)]),
    call: (uid) => one(callOf, 'SELECT * FROM calls WHERE uid = $1', [nameIn(uid)]),
    callsOf: ({ tenant, session }, { after, limit }) =>
      all(callOf, `SELECT * FROM calls WHERE scope = decode($1, 'hex') AND uid > $2 ORDER BY uid LIMIT $3`, [
        digest(tenant, session),
        nameIn(after),
        limit,
      ]),
    steps: (call) => all(stepOf, 'SELECT * FROM steps WHERE call = $1', [nameIn(call)]),
    waitsOf: (call) => all(waitOf, 'SELECT * FROM waits WHERE call = $1', [nameIn(call)]),
    wait: (id) => one(waitOf, 'SELECT * FROM waits WHERE id = $1', [nameIn(id)]),
    waitByKeyHash: (hash) => one(waitOf, 'SELECT * FROM waits WHERE "keyHash" = $1', [nameIn(hash)]),
    dueWaits: (now, limit) =>
      all(waitOf, 'SELECT * FROM waits WHERE resolution IS NULL AND deadline <= $1 ORDER BY deadline, id LIMIT $2', [now, limit]),
    nextDeadline: () =>
      one(
        ({ deadline }: { deadline: number }) => deadline,
        'SELECT deadline FROM waits WHERE resolution IS NULL ORDER BY deadline LIMIT 1',
        [],
      ),
    attachment: (tenant, id) => one(attachmentOf, `SELECT * FROM attachments WHERE place = decode($1, 'hex')`, [digest(tenant, id)]),
    events: ({ after, limit, of }) =>
      of
        ? all(eventOf, `SELECT * FROM events WHERE scope = decode($1, 'hex') AND position > $2 ORDER BY position LIMIT $3`, [
            digest(of.tenant, of.session),
            after,
            limit,
          ])
        : all(eventOf, 'SELECT * FROM events WHERE position > $1 ORDER BY position LIMIT $2', [after, limit]),
    renew: async (worker, leaseMs) => {
      await asked({
        text: `INSERT INTO workers VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond') ON CONFLICT (id) DO UPDATE SET until = excluded.until`,
        values: [nameIn(worker), leaseMs],
      })
    },
    // Two statements, because the second must look again: while the first waited its turn, another may have claimed the row for a
    // worker whose lease is too young for the first one's snapshot, and which therefore looks dead to it.
    claim: async (worker, tools, limit) => {
      const client = await readers.connect().catch(away)
      let broken: Error | undefined
      const breaks = (error: Error): void => void (broken = error)
      client.on('error', breaks)
      try {
        await client.query('BEGIN')
        const open = await client.query(
          `SELECT uid FROM calls WHERE ${claimable} AND tool = ANY($2) ORDER BY "createdAt", uid LIMIT $3 FOR UPDATE SKIP LOCKED`,
          [nameIn(worker), tools.map(nameIn), limit],
        )
        const uids = open.rows.map(({ uid }: { uid: string }) => uid)
        const claimed = await client.query(
          `UPDATE calls SET owner = $1, fence = fence + 1 WHERE uid = ANY($2) AND ${claimable} RETURNING *`,
          [nameIn(worker), uids],
        )
        await client.query('COMMIT')
        const calls = claimed.rows.map((each) => callOf(each as Parameters<typeof callOf>[0]))
        return calls.toSorted((a, b) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1))
      } catch (error) {
        await client.query('ROLLBACK').catch(breaks)
        return away(error)
      } finally {
        client.off('error', breaks)
        client.release(broken)
      }
    },
    leave: async (worker) => {
      await asked({ text: 'DELETE FROM workers WHERE id = $1', values: [nameIn(worker)] })
      await asked({ text: 'SELECT pg_notify($1, $2)', values: [channel, self] })
    },
    setting: async (key, ifAbsent) => {
      await asked({ text: 'INSERT INTO settings VALUES ($1, $2) ON CONFLICT DO NOTHING', values: [nameIn(key), nameIn(ifAbsent)] })
      const found = await asked({ text: 'SELECT value FROM settings WHERE key = $1', values: [nameIn(key)] })
      return nameOut((found.rows[0] as { value: string }).value)
    },
    // Whoever can read the database could read it there, so PostgreSQL keeps none: the host must give one.
    secret: () => undefined,
    onHint: (listen) => group.onHint(listen),
    close() {
      closing ??= (async () => {
        await group.close()
        await Promise.all([writers.end(), readers.end(), listener.close()])
      })()
      return closing
    },
  }
}

/** Connects once, to make the tables and to say clearly what is wrong if that fails. */
async function opened(settings: pg.ClientConfig, schema: string): Promise<void> {
  const client = new pg.Client(settings)
  client.on('error', () => {}) // told by the query that meets it
  try {
    await client.connect()
    await migrate(client, schema)
  } catch (cause) {
    if (cause instanceof PawlError) throw cause
    const { code, message } = cause as Error & { code?: string }
    const where = `PostgreSQL at ${client.host}:${client.port}`
    if (code === '28P01' || code === '28000')
      throw new PawlError('store_unavailable', `${where} refused the user or the password.`, { cause })
    if (code === '3D000')
      throw new PawlError('store_unavailable', `${where} has no database '${client.database}': create it first.`, { cause })
    if (code === '42501')
      throw new PawlError('store_unavailable', `The user may not make schema '${schema}' or its tables: ${message}.`, { cause })
    throw new PawlError('store_unavailable', `${where} cannot be reached: ${message || code}.`, { cause })
  } finally {
    await client.end().catch(() => {})
  }
}

const names = new Map<string, string>()
function nameFor(text: string): string {
  let name = names.get(text)
  if (name === undefined) names.set(text, (name = `pawl_${names.size}`))
  return name
}

/** What was asked has no answer, and the program may ask again. */
function away(cause: unknown): never {
  if (cause instanceof PawlError) throw cause
  const { code, message } = cause as Error & { code?: string }
  throw new PawlError('store_unavailable', `PostgreSQL did not answer: ${message || code}.`, { cause })
}

/** SQLSTATE classes 22 and 23: bad data, broken constraint. The server refused it, so surely nothing of it was committed. */
const isOwnFault = (error: unknown): boolean => /^2[23]/.test((error as { code?: string }).code ?? '')

/** int8 as a number: positions and instants stay below 2^53. */
const bigintsAsNumbers = ((oid: typeof pg.types.builtins.INT8, format: 'text') =>
  oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser
