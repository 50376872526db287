// The store for several machines: PostgreSQL, with group commit per process and one round trip and one disk sync per
// group (schema.ts, plan-group-commit.ts).
//
// Leases use the database's clock. Changes are announced with NOTIFY and also found by polling: a listener whose
// connection breaks reconnects and misses nothing, because every group increments a number that the poll compares.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { PawlError } from '../../core/errors.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { GroupCommit, type Write } from '../group-commit.ts'
import { TableLiveChannel } from '../live-channel.ts'
import type { Store, Written } from '../store.ts'
import { Thread, threadProgram } from '../worker-thread.ts'
import { Retention } from './retention.ts'
import { ChangeListener } from './change-listener.ts'
import { claim } from './claim.ts'
import { listSessions, type StepRow } from './list-sessions.ts'
import { postgresLiveTable } from './live-table.ts'
import { prepareSchema } from './connect.ts'
import { loadPg } from './load-pg.ts'
import { type Plan, planGroup } from './plan-group-commit.ts'
import {
  attachmentOf,
  callOf,
  digest,
  eventOf,
  holdOf,
  nonEmptyCollectionsQuery,
  documentOf,
  documentPageQuery,
  documentDigest,
  escapeName,
  unescapeName,
  positionDigest,
  takeRow,
  stepOf,
  waitOf,
} from './rows.ts'
import { counts } from './schema.ts'
import type { HeartbeatRequest, HeartbeatSetup } from './heartbeat-thread.ts'
import { BatchReader } from './batch-reads.ts'
import { wrapErrors } from './errors.ts'
import { bigintsAsNumbers } from './bigint-parser.ts'
import { recentCallsOf } from '../recent-calls.ts'

/** The options of postgresStore(). */
export interface PostgresOptions {
  /**
   * `postgres://user:password@host/database`, a `pg` client configuration, or the application's pool, whose settings
   * are then used. The store opens its own connections (at most six: one writes, four read, one listens), because
   * they need other settings than the application's queries.
   */
  readonly connection: string | pg.ClientConfig | pg.Pool
  /** Schema of the tables; created if missing. Default: `pawl`. */
  readonly schema?: string
  /** For timers only; the current time comes from PostgreSQL. Default: the system clock. */
  readonly clock?: Clock
  /**
   * `power` (default): a commit is acknowledged once it is on the server's disk. `process`: a server crash may lose the
   * latest commits.
   */
  readonly commit?: 'power' | 'process'
}

const postgresOptions = {
  connection: option.required(option.hidden(option.either(option.string, option.object))),
  schema: option.string,
  clock: option.object,
  commit: option.oneOf('power', 'process'),
} satisfies OptionTable<PostgresOptions>

/**
 * Opens a store on PostgreSQL. `createRuntime({ store: 'postgres://…' })` does the same; use this for its own options.
 *
 * @example
 * const store = await postgresStore({ connection: 'postgres://localhost/agent', schema: 'pawl' })
 * const runtime = await createRuntime({ store })
 */
export async function postgresStore(options: PostgresOptions): Promise<Store> {
  checkRequiredOptions(options, postgresOptions, 'postgresStore()')
  const { connection, schema = 'pawl', clock = systemClock, commit = 'power' } = options
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) {
    throw new PawlError(
      'config_invalid',
      `\`schema\` is ${JSON.stringify(schema)}; it must be up to 41 of a-z, 0-9 and _, not starting with a digit.`,
    )
  }
  const config = configOf(connection)
  const plain: pg.ClientConfig = {
    ...config,
    options: `${config.options ?? ''} -c search_path=${schema} -c enable_seqscan=off -c synchronous_commit=${commit === 'power' ? 'on' : 'off'}`,
    application_name: config.application_name ?? 'pawl',
    // A server that neither answers nor disconnects must not block forever.
    connectionTimeoutMillis: config.connectionTimeoutMillis ?? 5_000,
    query_timeout: config.query_timeout ?? 20_000,
    keepAlive: true,
  }
  const driver = await loadPg()
  const settings: pg.ClientConfig = { ...plain, types: { getTypeParser: bigintsAsNumbers(driver) } }
  await prepareSchema(driver, settings, schema)
  const readers = new driver.Pool({ ...settings, max: 4 })
  // There is one write queue per process, so one connection is enough.
  const writers = new driver.Pool({ ...settings, max: 1 })
  // A connection that breaks while idle is replaced; a query on a broken connection reports the error itself.
  for (const pool of [readers, writers]) {
    pool.on('error', () => {})
    // Attached on connect: while the pool hands a connection to a query, an error has no other listener and would end
    // the process.
    pool.on('connect', (client) => client.on('error', () => {}))
  }

  const self = randomUUID()
  const channel = `pawl_${schema}`
  let sending: Promise<unknown> = Promise.resolve()
  const send = (plan: Plan): Promise<Written[]> => {
    const sent = sendNow(plan)
    sending = sent
    return sent
  }
  const sendNow = async (plan: Plan): Promise<Written[]> => {
    const { rows: done } = await writers.query({
      name: 'write',
      text: 'SELECT * FROM write_group_3($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
      values: [...plan.values, channel, self],
    })
    const { bad, raised, lacking } = done[0] as { bad: number[]; raised: number; lacking: Record<number, string> }
    listener.recordOwnWrite(raised)
    return plan.answers(bad, lacking)
  }
  /**
   * If a change makes its group fail, each change is retried alone. After any other failure the group may have been
   * committed, so it is not retried.
   */
  const write: Write = async (changes) => {
    const answers: Written[] = []
    while (answers.length < changes.length) {
      const rest = changes.slice(answers.length)
      const plan = planGroup(rest)
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
  const listener = await ChangeListener.open({
    connect: () => new driver.Client(settings),
    version: async () => (await one(({ version }: { version: number }) => version, 'SELECT version FROM log', [])) ?? 0,
    pendingWrite: () =>
      sending.then(
        () => {},
        () => {},
      ),
    onChange: () => group.hint({ wakes: true, outside: true }),
    clock,
    channel,
    liveChannel: `${channel}_live`,
    self,
  })
  const liveTable = postgresLiveTable({
    pool: readers,
    channel: `${channel}_live`,
    onNotify: (heard) => listener.onLive(heard),
    self,
  })
  const live = new TableLiveChannel(liveTable, clock, self)

  async function query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    return readers.query(query).catch(unavailable)
  }
  async function all<Row, T>(of: (row: Row) => T, text: string, values: readonly unknown[]): Promise<T[]> {
    // Named, so that the server plans each statement once per connection.
    return (await query({ name: statementName(text), text, values: values as unknown[] })).rows.map((row) =>
      of(row as Row),
    )
  }
  async function one<Row, T>(of: (row: Row) => T, text: string, values: readonly unknown[]): Promise<T | undefined> {
    return (await all(of, text, values))[0]
  }

  const batchBy = <Row, T>(of: (row: Row) => T, keyOf: (row: Row) => string, text: string): BatchReader<Row, T> =>
    new BatchReader({ query: (keys) => all((row: Row) => row, text, [keys]), keyOf, toRecord: of })
  const callsByPlace = batchBy(
    callOf,
    ({ place }) => byteaLiteral(place.toString('hex')),
    'SELECT * FROM calls WHERE place = ANY($1::bytea[])',
  )
  const callsByUid = batchBy(callOf, ({ uid }) => uid, 'SELECT * FROM calls WHERE uid = ANY($1)')
  const stepsByCall = batchBy(stepOf, ({ call }) => call, 'SELECT * FROM steps WHERE call = ANY($1)')
  const waitsByCall = batchBy(waitOf, ({ call }) => call, 'SELECT * FROM waits WHERE call = ANY($1)')
  const waitsById = batchBy(waitOf, ({ id }) => id, 'SELECT * FROM waits WHERE id = ANY($1)')
  const waitsByKeyHash = batchBy(waitOf, ({ keyHash }) => keyHash, 'SELECT * FROM waits WHERE "keyHash" = ANY($1)')

  let thread: Thread | undefined
  const keepAlive: NonNullable<Store['keepAlive']> = (worker, { leaseMs, memory }) => {
    try {
      const setup: HeartbeatSetup = { from: import.meta.url, settings: plain }
      thread ??= new Thread(threadProgram(import.meta.url, 'heartbeat-thread'), setup)
      thread.tell({ worker: escapeName(worker), leaseMs, memory } satisfies HeartbeatRequest)
    } catch {
      // Threads are unavailable, or the settings contain functions, which cannot be cloned: then only the event loop
      // renews.
    }
  }
  const retention = new Retention(readers, { listening: () => listener.listening, clock })
  /** The workers that use this store object. */
  const workers = new Set<string>()
  let closing: Promise<void> | null = null
  return wrapErrors({
    kind: 'postgres',
    commit: (change) => group.commit(change),
    write: (change, onResult, how) => group.write(change, onResult, how),
    callAt: (position) => callsByPlace.one(byteaLiteral(positionDigest(position))),
    call: (uid) => callsByUid.one(escapeName(uid)),
    callsOf: ({ tenant, session }, { after, limit }) =>
      all(callOf, `SELECT * FROM calls WHERE scope = decode($1, 'hex') AND uid > $2 ORDER BY uid LIMIT $3`, [
        digest(tenant, session),
        escapeName(after),
        limit,
      ]),
    recentCalls: async (query) => {
      const { before, scan } = query
      const window =
        before === null
          ? await all(callOf, 'SELECT * FROM calls ORDER BY uid DESC LIMIT $1', [scan])
          : await all(callOf, 'SELECT * FROM calls WHERE uid < $1 ORDER BY uid DESC LIMIT $2', [
              escapeName(before),
              scan,
            ])
      return recentCallsOf(window, query)
    },
    sessions: (page) => listSessions((text, values) => all((row: StepRow) => row, text, values), page),
    steps: (call) => stepsByCall.all(escapeName(call)),
    waitsOf: (call) => waitsByCall.all(escapeName(call)),
    wait: (id) => waitsById.one(escapeName(id)),
    waitByKeyHash: (hash) => waitsByKeyHash.one(escapeName(hash)),
    dueWaits: (now, limit) =>
      all(waitOf, 'SELECT * FROM waits WHERE resolution IS NULL AND deadline <= $1 ORDER BY deadline, id LIMIT $2', [
        now,
        limit,
      ]),
    nextDeadline: () =>
      one(
        ({ deadline }: { deadline: number }) => deadline,
        'SELECT deadline FROM waits WHERE resolution IS NULL ORDER BY deadline LIMIT 1',
        [],
      ),
    attachment: (tenant, id) =>
      one(attachmentOf, `SELECT * FROM attachments WHERE place = decode($1, 'hex')`, [digest(tenant, id)]),
    events: ({ after, limit, of }) =>
      of
        ? all(
            eventOf,
            `SELECT * FROM events WHERE scope = decode($1, 'hex') AND position > $2 ORDER BY position LIMIT $3`,
            [digest(of.tenant, of.session), after, limit],
          )
        : all(eventOf, 'SELECT * FROM events WHERE position > $1 ORDER BY position LIMIT $2', [after, limit]),
    document: (name) => one(documentOf, `SELECT * FROM kept WHERE place = decode($1, 'hex')`, [documentDigest(name)]),
    documentsOf: (query) => all(documentOf, ...documentPageQuery(query)),
    nonEmptyCollections: (of, scope) =>
      all(({ name }: { name: string }) => unescapeName(name), ...nonEmptyCollectionsQuery(of, scope)),
    full: (takes) =>
      all(
        ({ full }: { full: boolean }) => full,
        `SELECT EXISTS (SELECT 1 FROM lacking_places(t.holder, t.above, t.places)) AS "full"
           FROM ROWS FROM (json_to_recordset($1) AS (holder text, above text[], places json)) WITH ORDINALITY AS t ORDER BY t.ordinality`,
        [JSON.stringify(takes.map(takeRow))],
      ),
    holds: () =>
      all(holdOf, `SELECT name, holder, worker, ticket FROM holds WHERE ${counts('holds')} ORDER BY name, holder`, []),
    lastPosition: async () =>
      (await one(({ position }: { position: number }) => position, 'SELECT position FROM log', [])) ?? 0,
    renew: async (worker, leaseMs) => {
      const living = await readers.query(
        `WITH passed AS (DELETE FROM holds WHERE until <= clock_timestamp()), renewed AS (INSERT INTO workers VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond') ON CONFLICT (id) DO UPDATE SET until = excluded.until)
         SELECT count(*) AS n FROM workers WHERE until > clock_timestamp() AND id <> $1`,
        [escapeName(worker), leaseMs],
      )
      workers.add(worker)
      group.shared = workers.size > 1
      return (living.rows[0] as { n: number }).n + 1
    },
    claim: (worker, tools, limit) => claim(readers, schema, { worker, tools, limit }).catch(unavailable),
    ...(clock === systemClock ? { keepAlive } : {}),
    erased: (of) => retention.erased(of),
    unsettled: (page) => retention.unsettled(page),
    erase: async (query) => {
      await liveTable.erase(query.of ?? null)
      return retention.erase(query)
    },
    // Deleted rows stay in the server's files until it reuses their space.
    scrub: () => false,
    inspect: () => retention.inspect(),
    leave: async (worker) => {
      workers.delete(worker)
      await query({ text: 'DELETE FROM workers WHERE id = $1', values: [escapeName(worker)] })
      await query({ text: 'SELECT pg_notify($1, $2)', values: [channel, self] })
    },
    setting: async (key, ifAbsent) => {
      await query({
        text: 'INSERT INTO settings VALUES ($1, $2) ON CONFLICT DO NOTHING',
        values: [escapeName(key), escapeName(ifAbsent)],
      })
      const found = await query({ text: 'SELECT value FROM settings WHERE key = $1', values: [escapeName(key)] })
      return unescapeName((found.rows[0] as { value: string }).value)
    },
    settingNow: async (key) => {
      const value = await one((row: { value: string }) => row.value, 'SELECT value FROM settings WHERE key = $1', [
        escapeName(key),
      ])
      return value === undefined ? undefined : unescapeName(value)
    },
    // A secret in the database would be readable by anyone who can read the database, so the host must provide one.
    secret: () => undefined,
    onHint: (listen) => group.onHint(listen),
    live,
    close() {
      closing ??= (async () => {
        await group.close()
        await live.close()
        await Promise.all([writers.end(), readers.end(), listener.close(), thread?.end()])
      })()
      return closing
    },
  })
}

function configOf(connection: PostgresOptions['connection']): pg.ClientConfig {
  if (typeof connection === 'string') return { connectionString: connection }
  if (!('totalCount' in connection)) return connection
  // These options of a pool are not enumerable, so they must be copied explicitly.
  const { password, ssl } = connection.options
  return {
    ...connection.options,
    ...(password === undefined ? {} : { password }),
    ...(ssl === undefined ? {} : { ssl }),
  }
}

/** A bytea value in hex input syntax. */
const byteaLiteral = (hex: string): string => `\\x${hex}`

const names = new Map<string, string>()
function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) names.set(text, (name = `pawl_${names.size}`))
  return name
}

/** Reports a failed read; the caller may retry. */
function unavailable(cause: unknown): never {
  if (cause instanceof PawlError) throw cause
  const { code, message } = cause as Error & { code?: string }
  throw new PawlError('store_unavailable', `PostgreSQL did not answer: ${message || code}.`, { cause })
}

/**
 * SQLSTATE classes 22 and 23 (bad data, constraint violation): the server rejected the group, so nothing was
 * committed.
 */
const isOwnFault = (error: unknown): boolean => /^2[23]/.test((error as { code?: string }).code ?? '')
