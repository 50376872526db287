// The PostgreSQL store's thread: renews leases while the event loop is blocked. Connects when it first needs to.
// Started by postgres-store.ts.

import { createRequire } from 'node:module'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type pg from 'pg'
import { startHeartbeat, LeaseHeartbeat } from '../lease-heartbeat.ts'

export interface HeartbeatRequest {
  readonly worker: string
  readonly leaseMs: number
  readonly memory: SharedArrayBuffer
}

/** `from` is the URL of the store's module. The thread has no file of its own from which it could resolve `pg`. */
export interface HeartbeatSetup {
  readonly from: string
  readonly settings: pg.ClientConfig
}

const { from, settings } = workerData as HeartbeatSetup
const { Client } = createRequire(from)('pg') as typeof pg
const port = parentPort as MessagePort
/** Lower limit of the connection and query timeout, which is otherwise one lease: a slow server is not a dead one. */
const minTimeoutMs = 5_000
let connected: Promise<pg.Client> | null = null

async function connect(leaseMs: number): Promise<pg.Client> {
  const timeoutMs = Math.max(leaseMs, minTimeoutMs)
  const client = new Client({ ...settings, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs })
  client.on('error', () => (connected = null))
  await client.connect()
  return client
}

async function renew(worker: string, leaseMs: number): Promise<boolean> {
  let client: pg.Client | undefined
  try {
    connected ??= connect(leaseMs)
    client = await connected
    const renewed = await client.query(
      `UPDATE workers SET until = clock_timestamp() + $2 * interval '1 millisecond' WHERE id = $1`,
      [worker, leaseMs],
    )
    return renewed.rowCount === 1
  } catch (error) {
    connected = null
    void client?.end().catch(() => {})
    throw error
  }
}

port.on('message', ({ id, question: { worker, leaseMs, memory } }: { id: number; question: HeartbeatRequest }) => {
  startHeartbeat(new LeaseHeartbeat(leaseMs, memory), () => renew(worker, leaseMs))
  port.postMessage({ id })
})
port.postMessage('ready')
