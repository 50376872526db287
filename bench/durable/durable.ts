// `npm run bench:durable`: calls of N recorded steps with C concurrent callers, on Pawl, on alternatives, and on the
// floor: a bare loop of prepared statements with group commit. Every subject has its own process, which is suspended
// while others are measured. Slices run in a new random order every round, so that a slow phase of the machine affects
// all subjects; trust the ratios, not the absolute figures.
//
// ROUNDS and SLICE_MS set the duration; ONLY=pawl,floor selects subjects by name. BENCH_DIR is the folder of the files,
// TMPDIR that of PostgreSQL: put both on the disk to be measured.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Server, startServer } from '../../test/kit/stores/postgres-server.ts'
import { createDatabase } from '../kit/create-database.ts'
import { Contender, type Entry } from './contender.ts'
import { printGoals, printTables, Results } from './report.ts'
import { type Shape, shapes } from './workload.ts'

const rounds = Math.max(1, Number(process.env.ROUNDS ?? 3))
const sliceMs = Number(process.env.SLICE_MS ?? 1_000)
const only = process.env.ONLY?.toLowerCase().split(',')

const all: readonly Entry[] = [
  { opener: 'sqlite-full', name: 'floor: SQLite, full sync', on: 'file', floor: 'sqlite-full' },
  { opener: 'pawl-sqlite-power', name: 'Pawl, SQLite `power`', on: 'file', floor: 'sqlite-full' },
  { opener: 'sqlite-normal', name: 'floor: SQLite, no sync per commit', on: 'file', floor: 'sqlite-normal' },
  { opener: 'pawl-sqlite-process', name: 'Pawl, SQLite `process`', on: 'file', floor: 'sqlite-normal' },
  { opener: 'postgres-bare', name: 'floor: PostgreSQL', on: 'postgres', floor: 'postgres-bare' },
  { opener: 'pawl-postgres', name: 'Pawl, PostgreSQL `power`', on: 'postgres', floor: 'postgres-bare' },
  { opener: 'dbos', name: 'DBOS, PostgreSQL', on: 'postgres', floor: 'postgres-bare' },
  { opener: 'restate', name: 'Restate', on: 'folder', floor: 'sqlite-full' },
  { opener: 'openworkflow-sqlite', name: 'openworkflow, SQLite', on: 'file', floor: 'sqlite-full' },
  { opener: 'openworkflow-postgres', name: 'openworkflow, PostgreSQL', on: 'postgres', floor: 'postgres-bare' },
  { opener: 'langgraph-sqlite', name: 'LangGraph, SQLite (does not sync)', on: 'file', floor: 'sqlite-normal' },
  { opener: 'langgraph-postgres', name: 'LangGraph, PostgreSQL', on: 'postgres', floor: 'postgres-bare' },
  { opener: 'workflow-devkit', name: 'Workflow DevKit, local (does not sync)', on: 'folder', floor: 'sqlite-normal' },
]
const entries = all.filter(({ name }) => only?.some((wanted) => name.toLowerCase().includes(wanted)) ?? true)

const dir = mkdtempSync(join(resolve(process.env.BENCH_DIR ?? '.'), 'bench-'))
const contenders = new Set<Contender>()
let postgres: Server | undefined
let ending: Promise<void> | undefined
const end = (): Promise<void> => {
  ending ??= (async () => {
    for (const contender of contenders) contender.end()
    await postgres?.stop()
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  })()
  return ending
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void end().then(() => process.exit(1)))

const versionOf = (name: string): string => {
  const from = join(import.meta.dirname, 'node_modules', name, 'package.json')
  return `${name} ${(JSON.parse(readFileSync(from, 'utf8')) as { version: string }).version}`
}

function leaveOut(entry: Entry, why: unknown): void {
  console.log(`Left out: ${entry.name}: ${why instanceof Error ? why.message : String(why)}`)
}

async function place(entry: Entry, own: string): Promise<string> {
  mkdirSync(own)
  if (entry.on === 'file') return join(own, 'store.db')
  if (entry.on === 'folder') return own
  if (!postgres) throw new Error('there is no PostgreSQL here')
  return createDatabase(postgres, entry.opener.replaceAll('-', '_'))
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

async function run(): Promise<void> {
  const started = performance.now()
  console.log(
    `Node ${process.version}, Linux ${release()}, ${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`,
  )
  for (const folder of [dir, tmpdir()]) {
    if (statfsSync(folder).type === 0x01021994)
      console.log(`${folder} is in memory (tmpfs): a sync costs nothing there, and the figures mean nothing.`)
  }
  if (entries.some(({ on }) => on === 'postgres')) {
    try {
      postgres = await startServer()
    } catch (error) {
      console.log(`PostgreSQL does not start here: ${String(error)}`)
    }
  }

  const running: Contender[] = []
  for (const entry of entries) {
    if (ending) return
    const own = join(dir, entry.opener)
    try {
      const contender = await Contender.start(
        entry,
        await place(entry, own),
        own,
        (born) => void (ending ? born.end() : contenders.add(born)),
      )
      // Warm-up: a long pipeline reaches full speed only after thousands of calls, when its code is optimized.
      await contender.measure({ steps: 5, callers: 10 }, sliceMs * 3)
      running.push(contender)
    } catch (error) {
      if (ending) return
      leaveOut(entry, error)
      for (const contender of contenders) if (contender.entry === entry) contender.end()
    }
  }

  const results = new Results()
  let cells = running.flatMap((contender) => shapes.map((shape) => ({ contender, shape })))
  const drop = (contender: Contender, shape?: Shape): void => {
    cells = cells.filter((cell) => cell.contender !== contender || (shape !== undefined && cell.shape !== shape))
  }
  for (let round = 0; round < rounds; round++) {
    for (const cell of shuffled(cells)) {
      if (ending) return
      if (!cells.includes(cell)) continue
      const { contender, shape } = cell
      try {
        const measure = await contender.measure(shape, sliceMs)
        results.add(contender.entry.opener, shape, measure)
        if (measure.seconds * 1000 > sliceMs * 8) drop(contender, shape) // it would use up the time of the others
      } catch (error) {
        if (ending) return
        leaveOut(contender.entry, error)
        contender.end()
        drop(contender)
      }
    }
  }

  const minutes = ((performance.now() - started) / 60_000).toFixed(1)
  console.log(`${rounds} rounds of ${sliceMs} ms slices in ${minutes} min, medians`)
  const peers = ['@dbos-inc/dbos-sdk', '@restatedev/restate-server', 'openworkflow', '@langchain/langgraph', 'workflow']
  if (running.some(({ entry }) => entry.opener === 'dbos')) console.log(peers.map(versionOf).join(', '))
  printTables(entries, shapes, results, rounds)
  printGoals(entries, results)
}

try {
  await run()
} finally {
  await end()
}
