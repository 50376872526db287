// Blocks the event loop of a worker process, and with it the heartbeat. A thread renews the lease meanwhile, for a limited
// time, so that no other worker takes over the call.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect } from 'vitest'
import { serverForFile } from '../../kit/stores/postgres-for-file.ts'
import type { Connection } from '../../kit/stores/postgres-server.ts'
import type { Orders, Word } from './child-blocking-worker.ts'

const leaseMs = 800
type Kind = 'sqlite' | 'postgres'
let dir: string
const children: ChildProcess[] = []
let tests = 0

/** The connection, while the tests of the file run. */
let server: { readonly connection: Connection }
export function blockedWorkers(): void {
  server = serverForFile()
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  })
}

function fresh(kind: Kind): Omit<Orders, 'blockMs'> {
  dir = mkdtempSync(join(tmpdir(), 'pawl-blocked-'))
  const place =
    kind === 'sqlite' ? { file: join(dir, 'a.db') } : { connection: server.connection, schema: `blocked_${++tests}` }
  return { place, leaseMs, ledger: join(dir, 'ledger') }
}

interface Worker {
  readonly pid: number
  /** Resolves with the next message of the worker. */
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
  const hears = (): Promise<Word> =>
    Promise.race([gone, new Promise<Word>((resolve) => child.once('message', resolve))])
  expect(await hears()).toEqual({ says: 'ready' })
  return { pid: child.pid as number, hears, send: (order) => void child.send(order), ended }
}

const linesOf = ({ ledger }: { ledger: string }): string[] => readFileSync(ledger, 'utf8').trim().split('\n')

/** A tool that blocks the event loop for a few leases keeps its call. */
export async function blocksForAFewLeases(kind: Kind): Promise<void> {
  const orders = fresh(kind)
  const blocked = await start({ ...orders, blockMs: 2.5 * leaseMs })
  const watching = await start({ ...orders, blockMs: 0 })
  blocked.send('run')
  expect(await blocked.hears()).toEqual({
    says: 'done',
    status: 'success',
    value: blocked.pid,
    attempts: 1,
    stopped: false,
  })
  expect(linesOf(orders)).toEqual([`start ${blocked.pid}`, `awake ${blocked.pid}`, `effect ${blocked.pid}`])
  // The threads must not keep the processes alive.
  blocked.send('close')
  watching.send('close')
  await Promise.all([blocked.ended, watching.ended])
}

/** A tool that blocks for too long loses its call and starts nothing more. */
export async function blocksForTooLong(kind: Kind): Promise<void> {
  const orders = fresh(kind)
  const blocked = await start({ ...orders, blockMs: 7 * leaseMs, untilStopped: true })
  const watching = await start({ ...orders, blockMs: 0 })
  blocked.send('run')
  const done = await blocked.hears()
  // The outcome comes from the other worker, here too.
  expect(done).toEqual({ says: 'done', status: 'success', value: watching.pid, attempts: 2, stopped: true })
  const other = [`start ${watching.pid}`, `awake ${watching.pid}`, `effect ${watching.pid}`]
  expect(linesOf(orders)).toEqual([`start ${blocked.pid}`, ...other, `awake ${blocked.pid}`])
  blocked.send('close')
  watching.send('close')
  await Promise.all([blocked.ended, watching.ended])
}
