// The driver of the kill tests: runs workers on one SQLite file or PostgreSQL database, kills them, starts new ones,
// and compares the record with the ledger. All choices come from a seed, so that a failure can be repeated.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { dropSchemas } from '../../src/store/postgres/drop-schemas.ts'
import type { Server } from '../kit/stores/postgres-server.ts'
import { readLedger, startsByEffect } from './effect-ledger.ts'
import { seeded } from '../kit/seeded-random.ts'

export type Fault =
  | 'kill at a random moment'
  | 'kill at a write'
  | 'stop in an effect'
  | 'the server crashes'
  | 'connections are cut'

export interface Round {
  readonly seed: number
  readonly fault: Fault
  readonly kills: number
  readonly plant?: string
  /** A PostgreSQL server instead of a SQLite file. Two workers at a time use it. */
  readonly on?: Server
}

const faults: readonly Fault[] = [
  'kill at a random moment',
  'kill at a write',
  'stop in an effect',
  'the server crashes',
  'connections are cut',
]

export interface Report {
  readonly kills: number
  /** Faults that hit a worker while effects were running. */
  readonly hits: number
  readonly violations: readonly string[]
}

const worker = join(import.meta.dirname, 'child-call-worker.ts')
const compiled = join(tmpdir(), 'pawl-chaos-compiled')
const kinds = ['steps', 'body', 'once', 'waits', 'parks'] as const
const effectsOf: Readonly<Record<string, readonly string[]>> = {
  steps: ['first', 'left', 'right', 'last'],
  body: ['body'],
  once: ['before', 'only', 'after'],
  waits: ['ask', 'thank'],
  parks: ['send'],
}
/** The start of an effect proves that these earlier effects of its call are on record. */
const beforeIt: Readonly<Record<string, readonly string[]>> = {
  left: ['first'],
  right: ['first'],
  last: ['first', 'left', 'right'],
  only: ['before'],
  after: ['before', 'only'],
  thank: ['ask'],
}
const mayBeUnknown = new Set(['body', 'once'])
const atMostOnce = (effect: string): boolean => /\/(body|only)$/.test(effect)
const childDeadlineMs = 20_000
const callsPerWorker = 8

interface Outcome {
  readonly callId: string
  readonly status: string
  readonly value?: unknown
}

interface Ended {
  readonly outcomes: readonly Outcome[] | null
  readonly said: string
}

export async function runRound(round: Round): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-chaos-'))
  const random = seeded(round.seed)
  // Every worker gets all earlier calls and some new ones, so that it has both recovery work and new work.
  const calls = Array.from({ length: (round.kills + 1) * callsPerWorker }, (_, n) => {
    const kind = kinds[Math.floor(random() * kinds.length)] as string
    return { id: `${kind}-${n}`, name: kind, input: { n } }
  })
  const files = { db: join(dir, 'agent.db'), ledger: join(dir, 'ledger') }
  // Every third round commits only in the writer thread.
  const writer = round.seed % 3 === 2 ? 'thread' : 'adaptive'
  const postgres = round.on && {
    connection: round.on.connection,
    schema: `chaos_${process.pid}_${round.seed}_${faults.indexOf(round.fault)}`,
  }
  const orders = {
    ...files,
    lease: 400,
    writer,
    ...(postgres ? { postgres } : {}),
    ...(round.plant ? { plant: round.plant } : {}),
  }
  const width = round.on ? 2 : 1
  const children: ChildProcess[] = []
  let upTo = 0
  /** Parallel workers get different calls: a call submitted to two workers at once may begin on both. */
  const start = (extra: object, lane: number | null = null): Child => {
    const asked = calls.slice(0, upTo).filter((_, index) => lane === null || index % width === lane)
    const child = new Child({ ...orders, calls: asked, ...extra })
    children.push(child.process)
    return child
  }
  const check = new Check(files, postgres)
  let hits = 0
  try {
    for (let kill = 0; kill < round.kills; kill += round.fault.startsWith('kill') ? width : 1) {
      upTo += callsPerWorker
      const before = readLedger(files.ledger).length
      const some = (extra: () => object): Child[] => Array.from({ length: width }, (_, lane) => start(extra(), lane))
      if (round.fault === 'kill at a random moment') {
        const early = random() < 0.2
        await Promise.all(
          some(() => ({})).map(async (child) => {
            const ms = random() * 25
            await child.ready
            // Mostly kill while effects are running, at any machine speed; sometimes while the worker opens and
            // recovers.
            if (!early) await child.working
            await child.endedWithin(ms)
            child.process.kill('SIGKILL')
            await child.ended
          }),
        )
      } else if (round.fault === 'kill at a write') {
        const moment = (): object => ({
          killAt: { write: 1 + Math.floor(random() * 60), when: random() < 0.5 ? 'before' : 'after' },
        })
        await Promise.all(some(moment).map((child) => child.ended))
      } else if (round.fault === 'stop in an effect') {
        await pausedAndTakenOver(start, pick(calls.slice(upTo - callsPerWorker, upTo), random), files.ledger)
      } else {
        const both = some(() => ({}))
        await Promise.all(both.map((child) => child.working))
        await both[0]?.endedWithin(random() * 25)
        if (round.fault === 'the server crashes')
          await (round.on as Server).restart(random() < 0.5 ? 'SIGQUIT' : 'SIGKILL')
        else await cutConnections(round.on as Server, random() < 0.5 ? 'listeners' : 'all')
        // The workers continue by themselves as soon as the database is back.
        for (const child of both) {
          const { outcomes, said } = await child.ended
          if (!outcomes)
            check.violations.push(`a worker did not outlive it; open: ${await check.open()}; it said: ${said}`)
        }
      }
      if (readLedger(files.ledger).length > before) hits++
      await check.afterFault()
    }
    upTo = calls.length
    const last = await start({}).ended
    const expected = new Map(calls.map((call) => [call.id, call.name]))
    const atTheEnd = await check.atTheEnd(last, expected)
    return { kills: round.kills, hits, violations: [...check.violations, ...atTheEnd] }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    if (postgres) await dropSchemas(postgres.connection, [postgres.schema]).catch(() => {})
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * Chooses the effect to freeze in. It is never the first effect of its call: the calls of the batch must be on record,
 * so that the other worker finds them. Mostly it is the last one: the frozen worker would settle next, and must be
 * fenced.
 */
function pick(calls: readonly { id: string; name: string }[], random: () => number): string {
  const effects = calls.flatMap(({ id, name }) => {
    const own = (effectsOf[name] as readonly string[]).filter((effect) => effect in beforeIt || name === 'body')
    return own.map((effect, index) => ({ effect: `${id}/${effect}`, last: index === own.length - 1 }))
  })
  const wanted = random() < 0.7
  const chosen = effects.filter(({ last }) => last === wanted)
  const from = chosen.length > 0 ? chosen : effects
  return (from[Math.floor(random() * from.length)] as { effect: string }).effect
}

/**
 * One worker freezes inside an effect; another takes over its calls after the lease expired and finishes them; then the
 * first one wakes.
 */
async function pausedAndTakenOver(start: (extra: object) => Child, stopIn: string, ledger: string): Promise<void> {
  const frozen = start({ stopIn })
  const reached = (): boolean =>
    readLedger(ledger).some(({ effect, pid }) => effect === stopIn && pid === frozen.process.pid)
  while (!reached() && frozen.process.exitCode === null) await frozen.endedWithin(5)
  await start({}).ended
  frozen.process.kill('SIGCONT')
  await frozen.ended
}

/** Terminates Pawl's connections on the server: the listeners, or all of them. */
async function cutConnections({ connection }: Server, which: 'listeners' | 'all'): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'pawl' AND pid <> pg_backend_pid() ${which === 'listeners' ? `AND query LIKE 'LISTEN%'` : ''}`)
  } finally {
    await client.end()
  }
}

/** A worker process and its result. */
class Child {
  readonly process: ChildProcess
  readonly ready: Promise<void>
  /** Resolves when the first effect has begun. */
  readonly working: Promise<void>
  readonly ended: Promise<Ended>

  constructor(orders: object) {
    this.process = fork(worker, {
      execArgv: ['--conditions=@pawl/source'],
      // Hundreds of processes start: share the compile cache.
      env: { NODE_COMPILE_CACHE: compiled, ...process.env, PAWL_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let said = ''
    this.process.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
    let outcomes: readonly Outcome[] | null = null
    const ready = Promise.withResolvers<void>()
    const working = Promise.withResolvers<void>()
    this.process.on('message', (message) => {
      if (message === 'ready') ready.resolve()
      else if (message === 'working') working.resolve()
      else outcomes = message as readonly Outcome[]
    })
    const deadline = setTimeout(() => {
      said += '\nThe worker did not end in time and was killed by the driver.'
      this.process.kill('SIGKILL')
    }, childDeadlineMs)
    this.ended = new Promise((end) =>
      this.process.once('close', () => {
        clearTimeout(deadline)
        end({ outcomes, said })
      }),
    )
    const over = this.ended.then(() => {})
    this.ready = Promise.race([ready.promise, over])
    this.working = Promise.race([working.promise, over])
  }

  /** Waits in real time, because the moment of the fault is random. */
  async endedWithin(ms: number): Promise<void> {
    await Promise.race([this.ended, new Promise((resolve) => setTimeout(resolve, ms))])
  }
}

/** Compares the record with the ledger; reads the database by plain SQL. */
class Check {
  readonly violations: string[] = []
  readonly #files: { db: string; ledger: string }
  readonly #postgres: { connection: object; schema: string } | undefined
  /** Effects known to be recorded, with the number of their starts at that time. */
  readonly #recorded = new Map<string, number>()
  readonly #outcomes = new Map<string, string>()

  constructor(files: { db: string; ledger: string }, postgres: { connection: object; schema: string } | undefined) {
    this.#files = files
    this.#postgres = postgres
  }

  async afterFault(): Promise<void> {
    const starts = startsByEffect(readLedger(this.#files.ledger))
    for (const [effect, seen] of this.#recorded) {
      if ((starts.get(effect) ?? 0) > seen) this.violations.push(`${effect} was on record and ran again`)
    }
    this.#causes()
    for (const [effect, count] of starts) {
      if (atMostOnce(effect) && count > 1)
        this.violations.push(`${effect} must not be repeated and started ${count} times`)
    }
    for (const row of await this.#read(`SELECT c.id || '/' || substr(s.key, 6) AS effect FROM steps s JOIN calls c ON c.uid = s.call
        WHERE s.state = 'done' AND s.key LIKE 'step:%'`)) {
      const effect = row.effect as string
      if (!this.#recorded.has(effect)) this.#recorded.set(effect, starts.get(effect) ?? 0)
    }
    for (const { id, outcome } of await this.#read(`SELECT id, outcome FROM calls WHERE state = 'settled'`)) {
      const known = this.#outcomes.get(id as string)
      if (known !== undefined && known !== outcome)
        this.violations.push(`${id}: the outcome changed from ${known} to ${outcome}`)
      this.#outcomes.set(id as string, outcome as string)
    }
  }

  /** Lists the unsettled calls for a failure message. */
  async open(): Promise<string> {
    const rows =
      await this.#read(`SELECT c.id, c.state, c.owner, c.attempt, c.fence, w.resolution FROM calls c LEFT JOIN waits w ON w.call = c.uid
      WHERE c.state <> 'settled'`)
    return JSON.stringify(rows)
  }

  /** Checks that no effect starts again after a later effect of its call has started. */
  #causes(): void {
    const passed = new Set<string>()
    for (const { effect, phase } of readLedger(this.#files.ledger)) {
      if (phase !== 'start') continue
      const [call, step] = effect.split('/') as [string, string]
      if (passed.has(effect)) this.violations.push(`${effect} started again after what follows it had started`)
      for (const earlier of beforeIt[step] ?? []) passed.add(`${call}/${earlier}`)
    }
  }

  async atTheEnd({ outcomes, said }: Ended, expected: ReadonlyMap<string, string>): Promise<string[]> {
    await this.afterFault()
    const wrong: string[] = []
    if (!outcomes) return [`the last worker gave no outcomes: ${said}`]
    const starts = startsByEffect(readLedger(this.#files.ledger))
    for (const [id, kind] of expected) {
      const outcome = outcomes.find(({ callId }) => callId === id)
      const status = outcome?.status
      if (status === 'success') {
        for (const effect of effectsOf[kind] as readonly string[]) {
          if (!starts.has(`${id}/${effect}`)) wrong.push(`${id} succeeded without its effect '${effect}'`)
        }
      } else if (!(status === 'unknown' && mayBeUnknown.has(kind)))
        wrong.push(`${id} ended as ${status} (${JSON.stringify(outcome?.value)}): ${said}`)
    }
    for (const row of await this.#read(`SELECT c.id, count(e.position) AS n FROM calls c LEFT JOIN events e ON e.call = c.uid
        AND e.type = 'call.settled' GROUP BY c.uid, c.id HAVING count(e.position) <> 1`)) {
      wrong.push(`${row.id} was settled ${row.n} times`)
    }
    // Every call is settled, and none has an owner.
    for (const row of await this.#read(
      `SELECT id, state, owner FROM calls WHERE state <> 'settled' OR owner IS NOT NULL`,
    )) {
      wrong.push(`${String(row.id)} is ${String(row.state)}, owned by ${String(row.owner)}`)
    }
    if (this.#postgres) return wrong
    const [{ integrity_check: integrity } = {}] = await this.#read('PRAGMA integrity_check')
    if (integrity !== 'ok') wrong.push(`the database is damaged: ${integrity}`)
    return wrong
  }

  async #read(sql: string): Promise<Record<string, unknown>[]> {
    if (this.#postgres) {
      const { connection, schema } = this.#postgres
      const client = new pg.Client({ ...connection, options: `-c search_path=${schema}` })
      await client.connect()
      try {
        const there = await client.query(`SELECT to_regclass('calls') AS calls`)
        return (there.rows[0] as { calls: unknown }).calls === null
          ? []
          : ((await client.query(sql)).rows as Record<string, unknown>[])
      } finally {
        await client.end()
      }
    }
    const db = new DatabaseSync(this.#files.db, { timeout: 5_000 })
    try {
      const empty = db.prepare(`SELECT count(*) AS n FROM sqlite_schema WHERE name = 'calls'`).get()?.n === 0
      return empty ? [] : db.prepare(sql).all()
    } finally {
      db.close()
    }
  }
}
