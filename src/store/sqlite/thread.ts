// The SQLite store's thread, with a connection of its own: writes groups of changes, checkpoints the WAL after it has answered, and renews
// leases while the event loop is blocked. Started by group-writer.ts.

import { DatabaseSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import { beat, Heart } from '../lease-heartbeat.ts'
import type { Written } from '../store.ts'
import {
  busyTimeoutMs,
  isLong,
  type Question,
  type Setup,
  type Told,
  type Wal,
  type WriteAnswer,
} from './thread-protocol.ts'
import { Transactions } from './transaction.ts'

const { file, synchronous } = workerData as Setup
const port = parentPort as MessagePort
const db = new DatabaseSync(file, { timeout: busyTimeoutMs })
db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = 0`)
/** When the group that is written was sent. */
let now = 0
const transactions = new Transactions(db, () => now)
const renew = db.prepare('UPDATE workers SET issued = ?, until = ? WHERE id = ?')
const dataVersion = db.prepare('PRAGMA data_version')
let seen: unknown
let wal: Wal = { log: 0, checkpointed: 0 }

function answerTo(question: Question): unknown {
  switch (question.do) {
    case 'write': {
      now = question.now
      const answers = transactions.write(question.changes)
      const { commitMs } = transactions
      wal = transactions.wal()
      return { answers: answers.every(isDone) ? null : answers.map(told), commitMs, wal } satisfies WriteAnswer
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
      beat(new Heart(leaseMs, memory), () => {
        const from = systemClock.monotonic()
        return renew.run(from, from + leaseMs, worker).changes === 1
      })
      return undefined
    }
  }
}

const isDone = (answer: Written): boolean => 'ok' in answer && answer.ok

/** Errors lose what they carry on their way, so it is told beside them. */
const fault = (error: unknown): Told => {
  const { message, code, errcode } = error as Error & Told['told']
  return { told: { message, code, errcode } }
}
const told = (answer: Written): Written => ('failed' in answer ? { failed: fault(answer.failed) } : answer)

port.on('message', ({ id, question }: { id: number; question: Question }) => {
  try {
    port.postMessage({ id, answer: answerTo(question) })
  } catch (error) {
    port.postMessage({ id, threw: fault(error) })
  }
  // Whoever asked has the answer: what the checkpoint takes, the next group waits for at most.
  if (question.do === 'write' && isLong(wal)) transactions.checkpoint()
})
port.postMessage('ready')
