// `npm run bench:background`: what tasks cost under load. A thousand tasks of one tenant are queued: how long until another tenant's first one starts, beside how long
// it takes when nothing is queued. And listing the tasks of a session that has 100,000 finished ones, beside one that has 100. On SQLite and on a real PostgreSQL.
//
// ONLY=sqlite or ONLY=postgres does one of them. BENCH_DIR is where files lie, TMPDIR where PostgreSQL's lie.

import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { z } from 'zod'
import { openRuntime } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime/options.ts'
import { tool } from '../../src/tool/tool.ts'
import { type Server, startServer } from '../../test/postgres/server.ts'

const queued = 1_000
const finished = 100_000
const tries = 15

const keys = { secret: Buffer.alloc(32, 7) }
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
/** When a task of the other tenant began, by performance.now(). */
let began = (_at: number): void => {}
const work = tool({
  name: 'work',
  description: 'Works for a moment',
  input: z.object({ ms: z.number() }),
  hints: { readOnly: true },
  background: true,
  execute: ({ ms }) => new Promise<void>((done) => void setTimeout(done, ms)),
})
const first = tool({
  name: 'first',
  description: 'Tells that it has begun',
  input: z.object({}),
  hints: { readOnly: true },
  background: true,
  execute: () => began(performance.now()),
})

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] as number

/** From the call of start until the body has begun. */
async function untilBegun(runtime: Runtime, n: number): Promise<number> {
  const { promise, resolve: begin } = Promise.withResolvers<number>()
  began = begin
  const from = performance.now()
  await runtime.session(`s${n}`, { tenant: 'other' }).tasks.start({ tool: first, wake: 'silent' })
  return (await promise) - from
}

async function fairness(open: () => Promise<Runtime>): Promise<{ alone: number; loaded: number }> {
  const runtime = await open()
  await untilBegun(runtime, 0)
  const alone: number[] = []
  for (let n = 1; n <= tries; n++) alone.push(await untilBegun(runtime, n))
  const started: Promise<unknown>[] = []
  for (let n = 0; n < queued; n++)
    started.push(runtime.session(`crowd${n % 200}`, { tenant: 'crowd' }).tasks.start({ tool: work, input: { ms: 250 }, wake: 'silent' }))
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
    for (let from = 0; from < count; from += 500) {
      const some = Array.from({ length: Math.min(500, count - from) }, () => tasks.start({ tool: work, input: { ms: 0 }, wake: 'silent' }))
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
    const fresh = async (): Promise<() => Promise<Runtime>> => {
      let store = `sqlite:${join(dir, `${count++}.db`)}`
      if (server) {
        const { connection } = server
        const admin = new pg.Client(connection)
        await admin.connect()
        await admin.query(`CREATE DATABASE tasks${++count}`)
        await admin.end()
        store = `postgres://${connection.user}:${connection.password}@${connection.host}:${connection.port}/tasks${count}`
      }
      return () => openRuntime({ store, tools: [work, first], keys, logger: quiet })
    }
    const { alone, loaded } = await fairness(await fresh())
    console.log(
      `| the first task of a tenant begins, ${queued} of another are queued | ${kind} | ${ms(loaded)} | ${ms(alone)} with none | ${(loaded / alone).toFixed(2)} × (goal 2) |`,
    )
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
