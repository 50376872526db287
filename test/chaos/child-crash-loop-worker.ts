// A worker process for the crash-loop test: 50 turns, 50 tasks and 50 calls share it. With `poison`, one of the calls
// kills the process shortly after its start is on record.

import { DatabaseSync } from 'node:sqlite'
import { tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { openRuntime } from '../../src/runtime.ts'
import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

export interface CrashLoopOrders {
  readonly db: string
  readonly poison: boolean
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Kills the process once its start is on record, as another connection sees it. */
async function kill(file: string, attempt: number): Promise<never> {
  const db = new DatabaseSync(file, { readOnly: true })
  const started = db.prepare(`SELECT 1 FROM calls WHERE tool = 'kill' AND state = 'running' AND attempt >= ?`)
  while (started.get(attempt) === undefined) await sleep(1)
  process.kill(process.pid, 'SIGKILL')
  return sleep(60_000) as Promise<never>
}

const input = { type: 'object', properties: { ms: { type: 'number' } } } as const

export const crashLoopTools = ({ db, poison }: CrashLoopOrders) => [
  tool({
    name: 'work',
    description: 'Works for a while',
    input,
    onCrash: 'rerun',
    background: true,
    async execute({ ms }) {
      await sleep(Number(ms))
      return 'worked'
    },
  }),
  tool({
    name: 'kill',
    description: 'Poison',
    input,
    onCrash: 'rerun',
    execute: (_, ctx) => (poison ? kill(db, ctx.attempt) : 'harmless'),
  }),
]

/** A turn calls `work` once and answers. */
export const crashLoopModel = scriptedModel([{ call: { name: 'work', input: { ms: 300 } } }, 'Done'], { name: 'm' })

export const openWorker = (orders: CrashLoopOrders, works: boolean) =>
  openRuntime({
    store: sqliteStore({ file: orders.db, clock: systemClock, commit: 'process' }),
    tools: crashLoopTools(orders),
    models: [crashLoopModel],
    worker: works,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })

if (process.env.PAWL_CRASH_LOOP !== undefined) {
  await openWorker(JSON.parse(process.env.PAWL_CRASH_LOOP) as CrashLoopOrders, true)
  // The parent is gone, so this process must end itself.
  process.on('disconnect', () => process.exit())
  setInterval(() => {}, 1_000)
}
