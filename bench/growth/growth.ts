// `npm run bench:growth`: costs that may grow with the contents of a store. Opens a store with 100,000 settled calls,
// replays a call of 10,000 recorded steps, and parks 10,000 calls, on SQLite and on a real PostgreSQL. Each measurement
// runs in a fresh process.
//
// ONLY=sqlite|postgres selects a store. BENCH_DIR is the folder of the SQLite files, TMPDIR that of PostgreSQL.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import { type Server, startServer } from '../../test/kit/stores/postgres-server.ts'
import { createDatabase } from '../kit/create-database.ts'
import { median } from '../kit/statistics.ts'
import type { fill, opening, parked, pending, record, replay, Replayed, Task } from './tasks.ts'

interface Kind {
  readonly name: string
  /** Returns the URL of a new, empty store. */
  make(): Promise<string>
  /** True if the store detects a dead worker at once, without waiting for its lease to expire. */
  readonly seesDeath: boolean
}
type Answer<F extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<F>>

const settledCalls = 100_000
const steps = [1_000, 10_000] as const
const parkedCalls = 10_000

const dir = mkdtempSync(join(resolve(process.env.BENCH_DIR ?? '.'), 'bench-'))
const children = new Set<ChildProcess>()
let server: Server | undefined
let ending: Promise<void> | undefined
const end = (): Promise<void> => {
  ending ??= (async () => {
    for (const child of children) child.kill('SIGKILL')
    await server?.stop()
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  })()
  return ending
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void end().then(() => process.exit(1)))

/** Runs a task in its own process, which is killed after its answer. */
function inChild<T>(task: Task, ...args: (string | number | boolean)[]): Promise<T> {
  return new Promise((done, fail) => {
    const child = fork(join(import.meta.dirname, 'tasks.ts'), [task, ...args.map((arg) => JSON.stringify(arg))], {
      execArgv: ['--conditions=@pawl/source', '--expose-gc'],
    })
    children.add(child)
    let answer: { done: T } | { error: string } = { error: `${task} ended without an answer.` }
    const timer = setTimeout(() => {
      answer = { error: `${task} did not end within 240 s.` }
      child.kill('SIGKILL')
    }, 240_000)
    child.once('message', (told) => {
      answer = told as typeof answer
      child.kill('SIGKILL')
    })
    child.once('exit', () => {
      clearTimeout(timer)
      children.delete(child)
      if ('done' in answer) done(answer.done)
      else fail(new Error(answer.error))
    })
  })
}

const goals: { what: string; measured: string; goal: string; met: boolean | undefined }[] = []
function goal(what: string, measured: number, most: number, unit: string): void {
  const shown = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ${unit}`
  goals.push({ what, measured: shown(measured), goal: `at most ${shown(most)}`, met: measured <= most })
}
function told(what: string, measured: number, unit: string): void {
  goals.push({ what, measured: `${measured.toFixed(2)} ${unit}`, goal: '', met: undefined })
}

async function measure(kind: Kind): Promise<void> {
  const { name } = kind
  const full = await kind.make()
  const { seconds } = await inChild<Answer<typeof fill>>('fill', full, settledCalls)
  const opened = await inChild<Answer<typeof opening>>('opening', await kind.make(), full, 9)
  told(`${name}: opening an empty store`, opened.empty.open, 'ms')
  told(`${name}: settling ${settledCalls.toLocaleString('en')} calls in batches of 1,000`, seconds, 's')
  goal(`${name}: opening a store with them, of an empty one`, opened.full.open / opened.empty.open, 1.5, '×')
  goal(`${name}: opening it and a first call, of an empty one`, opened.full.called / opened.empty.called, 1.5, '×')

  const runs = new Map<number, Replayed[]>(steps.map((count) => [count, []]))
  for (let round = 0; round < 3; round++) {
    for (const count of steps) {
      const store = await kind.make()
      await inChild<Answer<typeof record>>('record', store, count, kind.seesDeath ? 'stand' : 'close')
      runs.get(count)?.push(await inChild<Answer<typeof replay>>('replay', store, await kind.make(), count))
    }
  }
  const of = (count: number, value: (run: Replayed) => number): number =>
    median((runs.get(count) as Replayed[]).map(value))
  const [few, many] = steps
  goal(
    `${name}: replaying ${many.toLocaleString('en')} steps, from opening the store to the outcome`,
    of(many, (run) => run.total) / 1000,
    0.15,
    's',
  )
  told(`${name}: of that inside the body`, of(many, (run) => run.inCode) / 1000, 's')
  goal(
    `${name}: a replayed step of ${many.toLocaleString('en')}, of one of ${few.toLocaleString('en')}`,
    of(many, (run) => run.total) / many / (of(few, (run) => run.total) / few),
    1.2,
    '×',
  )

  const fresh = await inChild<Answer<typeof parked>>('parked', await kind.make(), parkedCalls, false)
  goal(
    `${name}: ${parkedCalls.toLocaleString('en')} parked calls: memory (RSS) above an idle runtime`,
    fresh.rss,
    60,
    'MB',
  )
  told(`${name}: of that in use, after a collection`, fresh.heap, 'MB')
  if (kind.seesDeath) {
    const used = await inChild<Answer<typeof parked>>('parked', await kind.make(), parkedCalls, true)
    told(`${name}: above an idle runtime that has settled as many ordinary calls`, used.rss, 'MB')
  }
  told(`${name}: time to park them, session by session`, fresh.toPark, 's')
  goal(
    `${name}: queries in 3 s in which nothing happens, above the ${fresh.idle} of an idle runtime`,
    fresh.waiting - fresh.idle,
    1,
    '',
  )
  goal(`${name}: resolving and settling them all`, fresh.toSettle, 2, 's')
  told(`${name}: of that CPU of the process`, fresh.cpuToSettle, 's')

  const asked = await inChild<Answer<typeof pending>>('pending', await kind.make(), parkedCalls)
  const allOf = parkedCalls.toLocaleString('en')
  goal(`${name}: a page of 100 of an inbox with ${allOf} approvals`, asked.page, 50, 'ms')
  goal(`${name}: the same of one tenant of 100`, asked.ofTenant, 50, 'ms')
  goal(
    `${name}: queries in 3 s without decisions, above the ${asked.idle} of an idle runtime`,
    asked.waiting - asked.idle,
    1,
    '',
  )
  told(`${name}: heap they hold, after a collection`, asked.heap, 'MB')
  told(`${name}: time to ask for them, session by session`, asked.toAsk, 's')
  told(`${name}: one decision, until it is on record`, asked.decision, 'ms')
  told(`${name}: deciding and settling them all`, asked.toSettle, 's')
}

try {
  const started = performance.now()
  console.log(
    `Node ${process.version}, Linux ${release()}, ${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`,
  )
  const only = process.env.ONLY ?? 'sqlite,postgres'
  let made = 0
  if (only.includes('sqlite')) {
    await measure({ name: 'SQLite', make: async () => `sqlite:${join(dir, `${made++}.db`)}`, seesDeath: true })
  }
  if (only.includes('postgres')) {
    const postgres = (server = await startServer())
    await measure({ name: 'PostgreSQL', make: () => createDatabase(postgres, `growth_${made++}`), seesDeath: false })
  }
  console.log(`${((performance.now() - started) / 1000).toFixed(0)} s\n\n| | measured | goal | |\n|---|---:|---:|---|`)
  for (const { what, measured, goal, met } of goals) {
    console.log(`| ${what} | ${measured} | ${goal} | ${met === undefined ? '' : met ? 'met' : 'MISSED'} |`)
  }
} finally {
  await end()
}
