// One round of task chaos: two or three workers on one store are killed, or stopped until they lost their leases and
// then woken, while they run tasks with much output. A runtime without worker starts, signals, answers and cancels the
// tasks. Then the invariants are checked. The choices come from a seed; the exact timing depends on the machine.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Runtime, tool } from 'pawl'
import { openRuntime } from '../../src/runtime.ts'
import { dropSchemas } from '../../src/store/postgres/drop-schemas.ts'
import type { Store } from '../../src/store/store.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import type { Server } from '../kit/stores/postgres-server.ts'
import { seeded } from '../kit/seeded-random.ts'
import { brokenTaskLaws } from './task-invariants.ts'
import { openTaskStore, type TaskOrders, taskSecret } from './task-worker-orders.ts'

export interface TaskRound {
  readonly seed: number
  readonly workers: 2 | 3
  /** Duration of the faults. */
  readonly ms: number
  readonly on?: Server
  readonly plant?: string
}

export interface TaskReport {
  readonly tasks: number
  readonly kills: number
  readonly stops: number
  /** Attempts beyond the first: faults that hit running work. */
  readonly again: number
  readonly violations: readonly string[]
}

const leaseMs = 400
const kinds = ['tells', 'tells', 'once', 'hears', 'parent'] as const
const sessions = ['s0', 's1', 's2']
const compiled = join(tmpdir(), 'pawl-chaos-compiled')
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** The submitting runtime needs the definitions; it never runs them. */
const stubs = ['tells', 'once', 'hears', 'parent', 'endless'].map((name) =>
  tool({ name, description: name, input: { type: 'object' }, background: true, execute: () => null }),
)

export class Worker {
  readonly process: ChildProcess
  readonly ready: Promise<void>
  readonly gone: Promise<void>
  stopped = false
  freezes = 0

  constructor(orders: TaskOrders) {
    this.process = fork(join(import.meta.dirname, 'child-task-worker.ts'), {
      execArgv: ['--conditions=@pawl/source'],
      env: { NODE_COMPILE_CACHE: compiled, ...process.env, PAWL_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.gone = new Promise((resolve) => this.process.once('exit', () => resolve()))
    const ready = new Promise<void>((resolve) =>
      this.process.on('message', (message) => {
        if (message === 'ready') resolve()
        else this.#stopped(orders.lease)
      }),
    )
    this.ready = Promise.race([ready, this.gone])
  }

  kill(): void {
    this.process.kill('SIGKILL')
  }

  stop(): void {
    this.stopped = true
    this.process.kill('SIGSTOP')
  }

  /** The worker stopped itself: wake it after another worker took over its calls. */
  #stopped(lease: number): void {
    this.stopped = true
    this.freezes++
    setTimeout(() => this.go(), lease * 2.5)
  }

  go(): void {
    this.stopped = false
    this.process.kill('SIGCONT')
  }

  async end(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    this.go()
    this.process.send('end')
    await Promise.race([this.gone, pause(3_000)])
    this.kill()
    await this.gone
  }
}

let grounds = 0

/** Runs with its own store, submitting runtime and workers, and removes all of them at the end. */
export async function onGround<T>(
  { on, plant, lease }: { on?: Server | undefined; plant?: string | undefined; lease: number },
  run: (ground: {
    orders: TaskOrders
    store: Store
    door: Runtime
    start: (more?: Partial<TaskOrders>) => Worker
  }) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-chaos-'))
  const postgres = on && { connection: on.connection, schema: `chaos_tasks_${process.pid}_${++grounds}` }
  const orders: TaskOrders = {
    db: join(dir, 'agent.db'),
    ledger: join(dir, 'ledger'),
    lease,
    freezes: 0,
    ...(postgres ? { postgres } : {}),
    ...(plant === undefined ? {} : { plant }),
  }
  const store = await openTaskStore(orders)
  const door = await openRuntime({
    store: { ...store, close: async () => {} },
    tools: stubs,
    worker: false,
    lease,
    logger: quiet,
    ...(postgres ? { keys: { secret: taskSecret } } : {}),
  })
  const workers: Worker[] = []
  const start = (more: Partial<TaskOrders> = {}): Worker => {
    const worker = new Worker({ ...orders, ...more })
    workers.push(worker)
    return worker
  }
  try {
    return await run({ orders, store, door, start })
  } finally {
    for (const worker of workers) worker.kill()
    await door.close({ grace: 0 }).catch(() => {})
    await store.close()
    if (postgres) await dropSchemas(postgres.connection, [postgres.schema]).catch(() => {})
    rmSync(dir, { recursive: true, force: true })
  }
}

export const runTaskRound = (round: TaskRound): Promise<TaskReport> =>
  onGround({ on: round.on, plant: round.plant, lease: leaseMs }, async ({ orders, store, door, start }) => {
    const random = seeded(round.seed)
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
    const workers = Array.from({ length: round.workers }, () => start({ freezes: 0.05 }))
    await Promise.all(workers.map(({ ready }) => ready))
    const asked: { id: string; session: string; kind: string }[] = []
    const cancelled = new Set<string>()
    const count = { kills: 0, stops: 0 }
    let over = false
    const until = performance.now() + round.ms

    const starting = async (): Promise<void> => {
      for (let n = 0; performance.now() < until; n++) {
        const kind = pick(kinds)
        const task = { id: `${kind}-${n}`, session: pick(sessions), kind }
        asked.push(task)
        await door.session(task.session).tasks.start({ tool: kind, id: task.id, wake: 'on_activity' })
        if (random() < 0.1) {
          cancelled.add(task.id)
          await pause(random() * 60)
          await door.session(task.session).tasks.cancel(task.id, 'Enough')
        }
        await pause(20 + random() * 60)
      }
    }
    /** Sends signals and replies repeatedly under the same keys. */
    const speaking = async (): Promise<void> => {
      while (!over) {
        for (const { id, session, kind } of asked) {
          const { tasks } = door.session(session)
          const task = kind === 'hears' ? await tasks.get(id) : undefined
          if (!task || task.outcome) continue
          try {
            await tasks.signal(id, 'go', 1, { key: 'one' })
            await tasks.signal(id, 'go', 2, { key: 'two' })
            if (task.inputRequest) await tasks.message(id, 'this', { inReplyTo: task.inputRequest.id, key: 'reply' })
          } catch (error) {
            // The task has ended, or its request was already answered.
            if (!['task_over', 'task_invalid'].includes((error as { code: string }).code)) throw error
          }
        }
        await pause(30)
      }
    }
    const chaos = async (): Promise<void> => {
      while (performance.now() < until) {
        await pause(60 + random() * 160)
        const at = Math.floor(random() * workers.length)
        const worker = workers[at] as Worker
        if (worker.stopped) continue
        if (random() < 0.5) {
          count.kills++
          worker.kill()
          workers[at] = start({ freezes: 0.05 })
        } else {
          count.stops++
          worker.stop()
          // Mostly long enough for another worker to take over.
          setTimeout(() => worker.go(), leaseMs * (0.5 + random() * 2.5))
        }
      }
    }
    const spoken = speaking()
    try {
      await Promise.all([starting(), chaos()])
      await pause(leaseMs * 3.1) // until the last stopped workers are awake
      // With a planted defect some tasks never end.
      // Suspects run one at a time, each with a probation of 5 s or more, so a round with many deaths ends late.
      await allEnded(store, round.plant === undefined ? 240_000 : 15_000)
    } finally {
      over = true
      await spoken
    }
    const violations = await brokenTaskLaws({ door, store, asked, cancelled, ledger: orders.ledger, sessions })
    const again = await attemptsAgain(store)
    await Promise.all(workers.map((worker) => worker.end()))
    return { tasks: asked.length, ...count, again, violations }
  })

async function allEnded(store: Store, most: number): Promise<void> {
  for (const until = performance.now() + most; performance.now() < until;) {
    if ((await store.unsettled({ after: '', limit: 1 })).length === 0) return
    await pause(20)
  }
}

async function attemptsAgain(store: Store): Promise<number> {
  let again = 0
  for (let after = 0; ;) {
    const page = await store.events({ after, limit: 1_000 })
    again += page.filter((event) => event.type === 'call.started' && event.body.attempt > 1).length
    if (page.length < 1_000) return again
    after = page.at(-1)?.position ?? after
  }
}

/**
 * A worker claims a task and dies before it writes anything: measures the time from its death until another worker
 * begins the task.
 */
export const foundAfter = (lease: number, on?: Server): Promise<{ ms: number; attempt: number; state: string }> =>
  onGround({ on, lease }, async ({ door, start }) => {
    const other = start()
    await other.ready
    other.stop()
    const dies = start({ dieOnClaim: true })
    await dies.ready
    const { tasks } = door.session('s')
    const { id } = await tasks.start({ tool: 'once' })
    await dies.gone
    const died = Date.now()
    other.go()
    const { startedAt, attempt, state } = await tasks.wait(id, { timeout: lease * 5 + 5_000 })
    await other.end()
    return { ms: (startedAt ?? Infinity) - died, attempt, state }
  })
