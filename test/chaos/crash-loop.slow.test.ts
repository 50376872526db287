// A crash loop: a process with many turns, tasks and calls is killed again and again, by one of its calls or from
// outside. Only the culprit may be settled. Real processes on one SQLite file.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Outcome, Session } from 'pawl'
import { expect, test } from 'vitest'
import { long } from '../kit/long-run.ts'
import { seeded } from '../kit/seeded-random.ts'
import { crashLoopModel, type CrashLoopOrders, openWorker } from './child-crash-loop-worker.ts'

const each = long ? 50 : 12
const restarts = long ? 30 : 12
/** Restarts of the long run happen within a minute. */
const meanLifeMs = 1_700
const seed = Number(process.env.PAWL_SEED ?? 1)

/** Starts a worker again whenever it dies. */
function superviseWorker(orders: CrashLoopOrders): {
  readonly deaths: () => number
  kill(): void
  stop(): Promise<void>
} {
  let [deaths, over] = [0, false]
  let worker: ChildProcess
  const launch = (): void => {
    worker = fork(join(import.meta.dirname, 'child-crash-loop-worker.ts'), {
      execArgv: ['--conditions=@pawl/source'],
      env: { ...process.env, PAWL_CRASH_LOOP: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    worker.once('exit', () => {
      if (over) return
      deaths++
      launch()
    })
  }
  launch()
  return {
    deaths: () => deaths,
    kill: () => void worker.kill('SIGKILL'),
    stop: () =>
      new Promise((resolve) => {
        over = true
        worker.once('exit', () => resolve())
        worker.kill('SIGKILL')
      }),
  }
}

/** Requests turns, tasks and calls of a fifth of a second to four seconds. Returns their outcomes. */
async function requestWork(session: (name: string) => Session): Promise<Promise<Pick<Outcome, 'status'>>[]> {
  const ends: Promise<Pick<Outcome, 'status'>>[] = []
  for (let n = 0; n < each; n++) {
    const own = session(`s${n}`)
    const work = { name: 'work', input: { ms: 200 + (n % 8) * 500 } }
    ends.push(own.turn({ model: crashLoopModel, message: 'Go' }).outcome)
    const { id } = await own.tasks.start({ tool: 'work', input: work.input })
    ends.push(own.tasks.wait(id).then(({ outcome }) => outcome as Outcome))
    ends.push(own.run([{ id: 'call', ...(n === 0 ? { name: 'kill' } : work) }]).then(([end]) => end as Outcome))
  }
  return ends
}

async function crashLoop(poison: boolean, during: (worker: ReturnType<typeof superviseWorker>) => Promise<void>) {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-crash-loop-'))
  const orders = { db: join(dir, 'agent.db'), poison }
  const door = await openWorker(orders, false)
  const ends = await requestWork((name) => door.session(name))
  const worker = superviseWorker(orders)
  const startedAt = Date.now()
  try {
    await during(worker)
    const loopMs = Date.now() - startedAt
    const outcomes = await Promise.all(ends)
    const rightEnds = outcomes.filter(({ status }) => status === 'success').length
    const figures = { deaths: worker.deaths(), loopMs, totalMs: Date.now() - startedAt, rightEnds, of: ends.length }
    if (long) console.log(JSON.stringify({ poison, seed, ...figures }))
    return { outcomes, ...figures }
  } finally {
    await worker.stop()
    await door.close({ grace: 0 })
    rmSync(dir, { recursive: true, force: true })
  }
}

test(
  'DUR-8, TASK-6: a call that kills its process is poisoned, and nothing else is',
  { timeout: 900_000 },
  async () => {
    const { outcomes, rightEnds, of } = await crashLoop(true, () => Promise.resolve())
    expect(outcomes[2]).toMatchObject({ failure: { code: 'poisoned', raw: { deaths: 3 } } })
    expect(rightEnds).toBe(of - 1)
  },
)

test.each([
  ['settle no work', false],
  ['and by one call settle only that call', true],
] as const)('DUR-8, TASK-6: kills from outside in quick succession %s', { timeout: 900_000 }, async (_, poison) => {
  const random = seeded(seed)
  const { outcomes, rightEnds, of } = await crashLoop(poison, async (worker) => {
    for (let n = 0; n < restarts; n++) {
      await new Promise((resolve) => setTimeout(resolve, meanLifeMs * (0.4 + 1.2 * random())))
      worker.kill()
    }
  })
  if (poison) expect(outcomes[2]).toMatchObject({ failure: { code: 'poisoned' } })
  expect(rightEnds).toBe(poison ? of - 1 : of)
})
