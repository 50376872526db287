// The store for a fleet: PostgreSQL, many workers, group commit per process, one round trip and one sync per group (schema.ts, plan-group.ts).
//
// The database's clock is the clock of leases. Changes are told with NOTIFY, and looked for by a poll beneath it: a listener whose connection
// breaks connects again, and misses nothing, because every group raises a number that the poll compares.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { PawlError } from '../../core/errors.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { GroupCommit, type Write } from '../group-commit.ts'
import type { Store, Written } from '../store.ts'
import { besides, Thread } from '../worker-thread.ts'
import { Keeper } from './retention.ts'
import { Listener } from './change-listener.ts'
import { claim } from './claim.ts'
import { opened } from './connect.ts'
import { type Plan, planOf } from './plan-group.ts'
import {
  attachmentOf,
  callOf,
  digest,
  eventOf,
  holdOf,
  keptAmong,
  keptOf,
  keptPage,
  keptPlace,
  nameIn,
  nameOut,
  placeOf,
  takeIn,
  stepOf,
  waitOf,
} from './rows.ts'
import { counts } from './schema.ts'
import type { BeatQuestion } from './thread.ts'
import { Together } from './batch-reads.ts'
import { clearly } from './errors.ts'
import { bigintsAsNumbers } from './bigint-parser.ts'

export interface PostgresOptions {
  /**
   * `postgres://user:password@host/database`, what `pg` takes, or a pool of the application's own: then its settings are used. The connections
   * are the store's (six at most: one writes, four read, one listens), because theirs are other settings than the application's queries want.
   */
  readonly connection: string | pg.ClientConfig | pg.Pool
  /** Where the tables are; it is made if it is not there. Default: `pawl`. */
  readonly schema?: string
  /** For timers only: what time it is, PostgreSQL says. */
  readonly clock?: Clock
  /** `power` (default): acknowledged means on the server's disk. `process`: a crash of the server may lose the last moments. */
  readonly commit?: 'power' | 'process'
}

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
  const given = configOf(connection)
  const plain: pg.ClientConfig = {
    ...given,
    options: `${given.options ?? ''} -c search_path=${schema} -c enable_seqscan=off -c synchronous_commit=${commit === 'power' ? 'on' : 'off'}`,
    application_name: given.application_name ?? 'pawl',
    // A server that neither answers nor hangs up must not be waited for without end.
    connectionTimeoutMillis: given.connectionTimeoutMillis ?? 5_000,
    query_timeout: given.query_timeout ?? 20_000,
    keepAlive: true,
  }
  const settings: pg.ClientConfig = { ...plain, types: { getTypeParser: bigintsAsNumbers } }
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
    listener.own(raised)
    return plan.answers(bad, lacking)
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
    written: () =>
      sending.then(
        () => {},
        () => {},
      ),
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

  const by = <Row, T>(of: (row: Row) => T, keyOf: (row: Row) => string, text: string): Together<Row, T> =>
    new Together({ query: (keys) => all((row: Row) => row, text, [keys]), keyOf, of })
  const callsByPlace = by(
    callOf,
    ({ place }) => bytesIn(place.toString('hex')),
    'SELECT * FROM calls WHERE place = ANY($1::bytea[])',
  )
  const callsByUid = by(callOf, ({ uid }) => uid, 'SELECT * FROM calls WHERE uid = ANY($1)')
  const stepsByCall = by(stepOf, ({ call }) => call, 'SELECT * FROM steps WHERE call = ANY($1)')
  const waitsByCall = by(waitOf, ({ call }) => call, 'SELECT * FROM waits WHERE call = ANY($1)')
  const waitsById = by(waitOf, ({ id }) => id, 'SELECT * FROM waits WHERE id = ANY($1)')
  const waitsByKeyHash = by(waitOf, ({ keyHash }) => keyHash, 'SELECT * FROM waits WHERE "keyHash" = ANY($1)')

  let thread: Thread | undefined
  const keepAlive: NonNullable<Store['keepAlive']> = (worker, { leaseMs, memory }) => {
    try {
      thread ??= new Thread(besides(import.meta.url, 'thread'), plain)
      thread.tell({ worker: nameIn(worker), leaseMs, memory } satisfies BeatQuestion)
    } catch {
      // No threads here, or settings with functions in them, which cannot travel: then the lease lives with the event loop.
    }
  }
  const keeper = new Keeper(readers, { listening: () => listener.listening, clock })
  /** Those that use this store object. */
  const workers = new Set<string>()
  let closing: Promise<void> | null = null
  return clearly({
    kind: 'postgres',
    commit: (change) => group.commit(change),
    write: (change, heard, how) => group.write(change, heard, how),
    callAt: (position) => callsByPlace.one(bytesIn(placeOf(position))),
    call: (uid) => callsByUid.one(nameIn(uid)),
    callsOf: ({ tenant, session }, { after, limit }) =>
      all(callOf, `SELECT * FROM calls WHERE scope = decode($1, 'hex') AND uid > $2 ORDER BY uid LIMIT $3`, [
        digest(tenant, session),
        nameIn(after),
        limit,
      ]),
    steps: (call) => stepsByCall.all(nameIn(call)),
    waitsOf: (call) => waitsByCall.all(nameIn(call)),
    wait: (id) => waitsById.one(nameIn(id)),
    waitByKeyHash: (hash) => waitsByKeyHash.one(nameIn(hash)),
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
    document: (name) => one(keptOf, `SELECT * FROM kept WHERE place = decode($1, 'hex')`, [keptPlace(name)]),
    documentsOf: (query) => all(keptOf, ...keptPage(query)),
    keptIn: (of, scope) => all(({ name }: { name: string }) => nameOut(name), ...keptAmong(of, scope)),
    full: (takes) =>
      all(
        ({ full }: { full: boolean }) => full,
        `SELECT EXISTS (SELECT 1 FROM lacking_places(t.holder, t.above, t.places)) AS "full"
           FROM ROWS FROM (json_to_recordset($1) AS (holder text, above text[], places json)) WITH ORDINALITY AS t ORDER BY t.ordinality`,
        [JSON.stringify(takes.map(takeIn))],
      ),
    holds: () =>
      all(holdOf, `SELECT name, holder, worker, ticket FROM holds WHERE ${counts('holds')} ORDER BY name, holder`, []),
    lastPosition: async () =>
      (await one(({ position }: { position: number }) => position, 'SELECT position FROM log', [])) ?? 0,
    renew: async (worker, leaseMs) => {
      const living = await readers.query(
        `WITH passed AS (DELETE FROM holds WHERE until <= clock_timestamp()), renewed AS (INSERT INTO workers VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond') ON CONFLICT (id) DO UPDATE SET until = excluded.until)
         SELECT count(*) AS n FROM workers WHERE until > clock_timestamp() AND id <> $1`,
        [nameIn(worker), leaseMs],
      )
      workers.add(worker)
      group.shared = workers.size > 1
      return (living.rows[0] as { n: number }).n + 1
    },
    claim: (worker, tools, limit) => claim(readers, schema, { worker, tools, limit }).catch(away),
    ...(clock === systemClock ? { keepAlive } : {}),
    erased: (of) => keeper.erased(of),
    unsettled: (page) => keeper.unsettled(page),
    erase: (query) => keeper.erase(query),
    // Dead rows are the server's to reuse; their bytes stay in its files until then.
    scrub: () => false,
    inspect: () => keeper.inspect(),
    leave: async (worker) => {
      workers.delete(worker)
      await asked({ text: 'DELETE FROM workers WHERE id = $1', values: [nameIn(worker)] })
      await asked({ text: 'SELECT pg_notify($1, $2)', values: [channel, self] })
    },
    setting: async (key, ifAbsent) => {
      await asked({
        text: 'INSERT INTO settings VALUES ($1, $2) ON CONFLICT DO NOTHING',
        values: [nameIn(key), nameIn(ifAbsent)],
      })
      const found = await asked({ text: 'SELECT value FROM settings WHERE key = $1', values: [nameIn(key)] })
      return nameOut((found.rows[0] as { value: string }).value)
    },
    settingNow: async (key) => {
      const value = await one((row: { value: string }) => row.value, 'SELECT value FROM settings WHERE key = $1', [
        nameIn(key),
      ])
      return value === undefined ? undefined : nameOut(value)
    },
    // Whoever can read the database could read it there, so PostgreSQL keeps none: the host must give one.
    secret: () => undefined,
    onHint: (listen) => group.onHint(listen),
    close() {
      closing ??= (async () => {
        await group.close()
        await Promise.all([writers.end(), readers.end(), listener.close(), thread?.end()])
      })()
      return closing
    },
  })
}

function configOf(connection: PostgresOptions['connection']): pg.ClientConfig {
  if (typeof connection === 'string') return { connectionString: connection }
  if (!('totalCount' in connection)) return connection
  // A pool hides what must not be printed from whoever copies its options.
  const { password, ssl } = connection.options
  return {
    ...connection.options,
    ...(password === undefined ? {} : { password }),
    ...(ssl === undefined ? {} : { ssl }),
  }
}

/** Hex, as PostgreSQL reads bytes from a text. */
const bytesIn = (hex: string): string => `\\x${hex}`

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
