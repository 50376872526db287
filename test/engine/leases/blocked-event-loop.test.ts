// A tool that computes for long blocks the event loop, and with it the heartbeat of its worker. A thread keeps the lease meanwhile, so that
// another worker does not take the call; but not for ever.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'
import type { Orders, Word } from './child-blocking-worker.ts'

const leaseMs = 800
const kinds = ['sqlite', 'postgres'] as const
let server: Server
let dir: string
const children: ChildProcess[] = []
let tests = 0

beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
})
afterAll(() => server?.stop())

function fresh(kind: (typeof kinds)[number]): Omit<Orders, 'blockMs'> {
  dir = mkdtempSync(join(tmpdir(), 'pawl-blocked-'))
  const place = kind === 'sqlite' ? { file: join(dir, 'a.db') } : { connection: server.connection, schema: `blocked_${++tests}` }
  return { place, leaseMs, ledger: join(dir, 'ledger') }
}

interface Worker {
  readonly pid: number
  /** What it says next. */
  hears(): Promise<Word>
  send(order: 'run' | 'close'): void
  readonly ended: Promise<unknown>
}

async function start(orders: Orders): Promise<Worker> {
  const child = fork(join(import.meta.dirname, 'child-blocking-worker.ts'), {
    env: { ...process.env, PAWL_ORDERS: JSON.stringify(orders) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  children.push(child)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const gone = ended.then(() => Promise.reject(new Error('The worker ended')))
  gone.catch(() => {})
  const hears = (): Promise<Word> => Promise.race([gone, new Promise<Word>((resolve) => child.once('message', resolve))])
  expect(await hears()).toEqual({ says: 'ready' })
  return { pid: child.pid as number, hears, send: (order) => void child.send(order), ended }
}

const linesOf = ({ ledger }: { ledger: string }): string[] => readFileSync(ledger, 'utf8').trim().split('\n')

test.for(kinds)('DUR-7: on %s a tool that blocks the event loop for a few leases keeps its call', { timeout: 60_000 }, async (kind) => {
  const orders = fresh(kind)
  const blocked = await start({ ...orders, blockMs: 2.5 * leaseMs })
  const watching = await start({ ...orders, blockMs: 0 })
  blocked.send('run')
  expect(await blocked.hears()).toEqual({ says: 'done', status: 'success', value: blocked.pid, attempts: 1, stopped: false })
  expect(linesOf(orders)).toEqual([`start ${blocked.pid}`, `awake ${blocked.pid}`, `effect ${blocked.pid}`])
  // Threads are no reason to stay.
  blocked.send('close')
  watching.send('close')
  await Promise.all([blocked.ended, watching.ended])
})

test.for(kinds)(
  'DUR-7: on %s a tool that blocks for too long loses its call, and starts nothing more',
  { timeout: 60_000 },
  async (kind) => {
    const orders = fresh(kind)
    const blocked = await start({ ...orders, blockMs: 7 * leaseMs, untilStopped: true })
    const watching = await start({ ...orders, blockMs: 0 })
    blocked.send('run')
    const done = await blocked.hears()
    // What the other worker made of it is the outcome, here too.
    expect(done).toEqual({ says: 'done', status: 'success', value: watching.pid, attempts: 2, stopped: true })
    const other = [`start ${watching.pid}`, `awake ${watching.pid}`, `effect ${watching.pid}`]
    expect(linesOf(orders)).toEqual([`start ${blocked.pid}`, ...other, `awake ${blocked.pid}`])
    blocked.send('close')
    watching.send('close')
    await Promise.all([blocked.ended, watching.ended])
  },
)
