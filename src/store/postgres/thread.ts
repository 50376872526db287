// The PostgreSQL store's thread: renews leases while the event loop is blocked, on a connection of its own that it makes when it first
// needs one. Started by postgres-store.ts.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { beat, Heart } from '../lease-heartbeat.ts'

export interface BeatQuestion {
  readonly worker: string
  readonly leaseMs: number
  readonly memory: SharedArrayBuffer
}

const settings = workerData as pg.ClientConfig
const port = parentPort as MessagePort
/** A connection that does not answer is given up after a lease, but a slow server is no dead one. */
const leastPatienceMs = 5_000
let connected: Promise<pg.Client> | null = null

async function connect(leaseMs: number): Promise<pg.Client> {
  const patienceMs = Math.max(leaseMs, leastPatienceMs)
  const client = new pg.Client({ ...settings, connectionTimeoutMillis: patienceMs, query_timeout: patienceMs })
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

port.on('message', ({ id, question: { worker, leaseMs, memory } }: { id: number; question: BeatQuestion }) => {
  beat(new Heart(leaseMs, memory), () => renew(worker, leaseMs))
  port.postMessage({ id })
})
port.postMessage('ready')
