// `npm run bench:background`: background tasks under load, on SQLite and on a real PostgreSQL.
// - fairness: one tenant has 1,000 queued tasks; time until the first task of another tenant starts, against an idle
//   queue
// - crowd: the same with 50,000 queued tasks, and their memory
// - listing: listing the tasks of a session with 100,000 finished tasks, against one with 100
//
// ONLY=sqlite|postgres selects a store, PARTS=fairness,crowd,listing selects parts, CROWD and FINISHED change the
// counts. BENCH_DIR is the folder of the SQLite files, TMPDIR that of PostgreSQL.

import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import { openRuntime } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-options.ts'
import type { Crowd } from './crowd.ts'
import { createDatabase } from '../kit/create-database.ts'
import { median } from '../kit/statistics.ts'
import { keys, quiet, tools, tries, untilBegun, work } from './tools.ts'
import { type Server, startServer } from '../../test/kit/stores/postgres-server.ts'

const queued = 1_000
const finished = 100_000
/** Tasks started and awaited at once. With more, some would exceed the timeout for a connection. */
const atOnce = 200
const crowded = Number(process.env.CROWD ?? 50_000)

/** Runs in its own process, so that its memory can be measured. */
function crowd(store: string): Promise<Crowd> {
  return new Promise((done, fail) => {
    const child = fork(join(import.meta.dirname, 'crowd.ts'), [store, String(crowded)], {
      execArgv: ['--conditions=@pawl/source', '--expose-gc'],
    })
    let answer: { done: Crowd } | { error: string } = { error: 'The crowd ended without an answer.' }
    child.once('message', (told) => {
      answer = told as typeof answer
      child.kill('SIGKILL')
    })
    child.once('exit', () => ('done' in answer ? done(answer.done) : fail(new Error(answer.error))))
  })
}

async function fairness(open: () => Promise<Runtime>): Promise<{ alone: number; loaded: number }> {
  const runtime = await open()
  await untilBegun(runtime, 0)
  const alone: number[] = []
  for (let n = 1; n <= tries; n++) alone.push(await untilBegun(runtime, n))
  const started: Promise<unknown>[] = []
  for (let n = 0; n < queued; n++)
    started.push(
      runtime
        .session(`crowd${n % 200}`, { tenant: 'crowd' })
        .tasks.start({ tool: work, input: { ms: 250 }, wake: 'silent' }),
    )
  await Promise.all(started)
  const loaded: number[] = []
  for (let n = 1; n <= tries; n++) loaded.push(await untilBegun(runtime, tries + n))
  await runtime.close({ grace: 0 })
  return { alone: median(alone), loaded: median(loaded) }
}

async function listing(open: () => Promise<Runtime>): Promise<{ few: number; many: number; open: number }> {
  const runtime = await open()
  const fill = async (session: string, count: number): Promise<void> => {
    const { tasks } = runtime.session(session)
    for (let from = 0; from < count; from += atOnce) {
      const some = Array.from({ length: Math.min(atOnce, count - from) }, () =>
        tasks.start({ tool: work, input: { ms: 0 }, wake: 'silent' }),
      )
      const ids = (await Promise.all(some)).map(({ id }) => id)
      await Promise.all(ids.map((id) => tasks.wait(id)))
      process.stderr.write(`\r${session}: ${from + some.length} of ${count} finished `)
    }
    process.stderr.write('\r')
  }
  const took = async (run: () => Promise<unknown>): Promise<number> => {
    const all: number[] = []
    for (let n = 0; n < 50; n++) {
      const from = performance.now()
      await run()
      all.push(performance.now() - from)
    }
    return median(all)
  }
  await fill('few', 100)
  await fill('many', Number(process.env.FINISHED ?? finished))
  const few = await took(() => runtime.session('few').tasks.list({ limit: 50 }))
  const many = await took(() => runtime.session('many').tasks.list({ limit: 50 }))
  const openOnes = await took(() => runtime.session('many').tasks.list({ state: 'open' }))
  await runtime.close({ grace: 0 })
  return { few, many, open: openOnes }
}

const dir = mkdtempSync(join(resolve(process.env.BENCH_DIR ?? '.'), 'bench-'))
let server: Server | undefined
const ms = (value: number): string => `${value.toFixed(2)} ms`
try {
  console.log(
    `# Tasks under load\n\n${cpus()[0]?.model ?? ''} × ${cpus().length}, ${release()}, node ${process.version}, load ${loadavg()[0]?.toFixed(2)}\n`,
  )
  console.log('| | store | measured | beside | ratio |\n|---|---|---|---|---|')
  for (const kind of ['sqlite', 'postgres'] as const) {
    if (process.env.ONLY !== undefined && process.env.ONLY !== kind) continue
    if (kind === 'postgres') server = await startServer()
    let count = 0
    const make = async (): Promise<string> =>
      server ? createDatabase(server, `tasks${count++}`) : `sqlite:${join(dir, `${count++}.db`)}`
    const fresh = async (): Promise<() => Promise<Runtime>> => {
      const store = await make()
      return () => openRuntime({ store, tools, keys, logger: quiet })
    }
    const wants = (part: string): boolean => (process.env.PARTS ?? 'fairness,crowd,listing').includes(part)
    const begins = (of: number, { alone, loaded }: { alone: number; loaded: number }): void =>
      console.log(
        `| the first task of a tenant begins, ${of} of another are queued | ${kind} | ${ms(loaded)} | ${ms(alone)} with none | ${(loaded / alone).toFixed(2)} × (goal 2) |`,
      )
    if (wants('fairness')) begins(queued, await fairness(await fresh()))
    if (wants('crowd')) {
      const many = await crowd(await make())
      begins(crowded, many)
      console.log(
        `| memory (RSS) of the worker that queued them, at most | ${kind} | ${many.most.toFixed(0)} MB | ${many.before.toFixed(0)} MB before; ${many.heap.toFixed(0)} MB in use after a collection | (goal 512 MB) |`,
      )
      console.log(`| to put them on record | ${kind} | ${many.toQueue.toFixed(1)} s | ${many.left} had not ended | |`)
    }
    if (!wants('listing')) continue
    const list = await listing(await fresh())
    console.log(
      `| the newest 50 tasks of ${process.env.FINISHED ?? finished} | ${kind} | ${ms(list.many)} | ${ms(list.few)} of 100 | ${(list.many / list.few).toFixed(2)} × |`,
    )
    console.log(`| those that are open, of the same | ${kind} | ${ms(list.open)} | | |`)
  }
} finally {
  await server?.stop()
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
