// The store port on PostgreSQL: the store cases, and two worker processes on one database.

import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import type { Store } from '../../../src/store/store.ts'
import { storeCases, titleOf } from '../../../src/testing/store-cases/store-cases.ts'
import { type ClockedDatabase, clockedDatabase } from '../../kit/stores/clocked-postgres.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import type { Order, WorkerSettings, Word } from './child-worker.ts'

let server: Server
let clocked: ClockedDatabase
let schemas = 0
const opened: Store[] = []
const children: ChildProcess[] = []
const folder = mkdtempSync(join(tmpdir(), 'pawl-postgres-test-'))

beforeAll(async () => {
  server = await startServer()
  clocked = await clockedDatabase(server.connection)
}, 60_000)

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const store of opened.splice(0)) await store.close()
})

afterAll(async () => {
  await clocked?.close()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function handle(schema: string, clock = systemClock, connection = server.connection): Promise<Store> {
  const store = await postgresStore({ connection, schema, clock })
  opened.push(store)
  return store
}

describe('store cases', () => {
  for (const each of storeCases) {
    test(titleOf(each), async () => {
      await each.run(async (clock) => {
        const schema = `case_${++schemas}`
        // Only the cases that move the lease clock need the server with a simulated clock.
        const open = async (): Promise<Store> =>
          each.needs === 'given clock'
            ? clocked.under(await handle(schema, clock, clocked.connection), clock)
            : handle(schema, clock)
        return { store: await open(), again: open }
      })
    })
  }
})

/** A worker process and its messages so far. */
class Worker {
  readonly heard: Word[] = []
  readonly child: ChildProcess

  constructor(settings: WorkerSettings) {
    this.child = fork(join(import.meta.dirname, 'child-worker.ts'), {
      execArgv: ['--conditions=@pawl/source'],
      env: { ...process.env, PAWL_WORKER: JSON.stringify(settings) },
    })
    children.push(this.child)
    this.child.on('message', (word: Word) => this.heard.push(word))
  }

  tell(order: Order): void {
    this.child.send(order)
  }

  /** Waits for the first message of a kind and removes it. */
  async hear<S extends Word['says']>(says: S): Promise<Extract<Word, { says: S }>> {
    const found = await vi.waitFor(
      () => this.heard.find((word) => word.says === says) ?? Promise.reject(new Error(`no '${says}' yet`)),
      patience,
    )
    this.heard.splice(this.heard.indexOf(found), 1)
    return found as Extract<Word, { says: S }>
  }
}

const patience = { timeout: 15_000, interval: 20 }

describe('two worker processes on one database', () => {
  const place = (): Omit<WorkerSettings, 'hangIn'> => {
    const schema = `workers_${++schemas}`
    const ledger = join(folder, schema)
    writeFileSync(ledger, '')
    return { connection: server.connection, schema, secret: randomBytes(32).toString('hex'), ledger }
  }

  test('DUR-1, DUR-3, DUR-7: a takeover after a kill repeats no recorded step and settles each call once', async () => {
    const settings = place()
    const doomed = new Worker({ ...settings, hangIn: 's2' })
    const other = new Worker(settings)
    await Promise.all([doomed.hear('ready'), other.hear('ready')])
    const ids = ['a', 'b', 'c', 'd']
    const calls = ids.map((id) => ({ id, name: 'three_steps' }))
    const effects = (): string[] => readFileSync(settings.ledger, 'utf8').trim().split('\n')
    doomed.tell({ do: 'run', session: 's', calls })
    await vi.waitFor(() => expect(effects().filter((line) => line.includes(' s2 '))).toHaveLength(ids.length), patience)
    doomed.child.kill('SIGKILL')

    other.tell({ do: 'run', session: 's', calls })
    const { outcomes } = await other.hear('done')
    expect(outcomes).toEqual(
      ids.map((id) => ({
        status: 'success',
        attempts: 2,
        value: ['s1', 's2', 's3'].map((step) => `${step} of ${id}`),
      })),
    )
    const [first, second] = [doomed.child.pid, other.child.pid]
    const expected = ids.flatMap((id) => [
      `${id} s1 ${first}`,
      `${id} s2 ${first}`,
      `${id} s2 ${second}`,
      `${id} s3 ${second}`,
    ])
    expect(effects().toSorted()).toEqual(expected.toSorted())
    const store = await handle(settings.schema)
    const settled = (await store.events({ after: 0, limit: 1_000 })).filter((event) => event.type === 'call.settled')
    expect(new Set(settled.map((event) => event.call)).size).toBe(ids.length)
    expect(settled).toHaveLength(ids.length)
  })

  test('WAIT-1, WAIT-2: a wait of one worker is resolved through the other, parked or in the body', async () => {
    const settings = place()
    const asking = new Worker(settings)
    const answering = new Worker(settings)
    await Promise.all([asking.hear('ready'), answering.hear('ready')])
    for (const [name, value] of [['parks', 'yes'] as const, ['waits', 'heard yes'] as const]) {
      asking.tell({ do: 'run', session: 's', calls: [{ id: name, name }] })
      const { key } = await asking.hear('key')
      answering.tell({ do: 'resolve', key, value: 'yes' })
      expect(await answering.hear('resolved')).toMatchObject({ answer: 'accepted' })
      expect((await asking.hear('done')).outcomes).toEqual([{ status: 'success', attempts: 1, value }])
      asking.tell({ do: 'resolve', key, value: 'no' })
      expect(await asking.hear('resolved')).toMatchObject({ answer: 'already_resolved' })
    }
    for (const worker of [asking, answering]) {
      const gone = new Promise((resolve) => worker.child.once('exit', resolve))
      worker.tell({ do: 'close' })
      expect(await gone).toBe(0)
    }
  })
})
