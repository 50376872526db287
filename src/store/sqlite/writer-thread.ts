// The SQLite store's thread, with its own connection: writes groups of changes, checkpoints the WAL after answering,
// and renews leases while the event loop is blocked. Started by group-writer.ts.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import { startHeartbeat, LeaseHeartbeat } from '../lease-heartbeat.ts'
import type { Written } from '../store.ts'
import { connect } from './connect.ts'
import {
  busyTimeoutMs,
  isLong,
  type ThreadRequest,
  type Setup,
  type SerializedError,
  type WalState,
  type WriteAnswer,
} from './thread-protocol.ts'
import { Transactions } from './transaction.ts'

const { file, synchronous } = workerData as Setup
const port = parentPort as MessagePort
const db = connect(file, busyTimeoutMs)
db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = 0`)
/** When the current group was sent. */
let now = 0
const transactions = new Transactions(db, () => now)
const renew = db.prepare('UPDATE workers SET issued = ?, until = ? WHERE id = ?')
const dataVersion = db.prepare('PRAGMA data_version')
let seen: unknown
let wal: WalState = { log: 0, checkpointed: 0 }

function handle(question: ThreadRequest): unknown {
  switch (question.do) {
    case 'write': {
      now = question.now
      const answers = transactions.write(question.changes)
      const { commitMs } = transactions
      wal = transactions.wal()
      return {
        answers: answers.every(isCommitted) ? null : answers.map(serializeResult),
        commitMs,
        wal,
      } satisfies WriteAnswer
    }
    case 'news': {
      const before = seen
      seen = dataVersion.get()?.data_version
      return seen !== before
    }
    case 'checkpoint':
      return transactions.checkpoint()
    case 'beat': {
      const { worker, leaseMs, memory } = question
      startHeartbeat(new LeaseHeartbeat(leaseMs, memory), () => {
        const from = systemClock.monotonic()
        return renew.run(from, from + leaseMs, worker).changes === 1
      })
      return undefined
    }
  }
}

const isCommitted = (answer: Written): boolean => 'ok' in answer && answer.ok

/** Cloning drops the extra properties of errors, so they are copied explicitly. */
const serializeError = (error: unknown): SerializedError => {
  const { message, code, errcode } = error as Error & SerializedError['sqliteError']
  return { sqliteError: { message, code, errcode } }
}
const serializeResult = (answer: Written): Written =>
  'failed' in answer ? { failed: serializeError(answer.failed) } : answer

port.on('message', ({ id, question }: { id: number; question: ThreadRequest }) => {
  try {
    port.postMessage({ id, answer: handle(question) })
  } catch (error) {
    port.postMessage({ id, threw: serializeError(error) })
  }
  // The answer has been sent: at most the next group waits for the checkpoint.
  if (question.do === 'write' && isLong(wal)) transactions.checkpoint()
})
port.postMessage('ready')
