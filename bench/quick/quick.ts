// `npm run bench:quick`: checks in 40 s if a change made Pawl slower. It measures every ratio against a bare floor in
// the same run, in short slices, and compares it with bench/baseline.json.
//
// --update rewrites the baseline. --compare <dir> measures another checkout of Pawl (with its packages installed) in
//   the same run instead, in 80 s. BENCH_DIR selects the disk for SQLite, TMPDIR the disk for PostgreSQL.
//
// A round starts new processes: how V8 compiles the same code differs more between processes than between slices.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Server, startServer } from '../../test/kit/stores/postgres-server.ts'
import { createDatabase } from '../kit/create-database.ts'
import { quantile } from '../kit/statistics.ts'
import { Checkout } from './checkout.ts'
import type { Measure } from './child.ts'
import { measureStart, openStarts, type Started } from './process-starts.ts'
import { type Known, printTable, type Round, rowOf } from './report.ts'

const { values: options } = parseArgs({
  options: { update: { type: 'boolean', default: false }, compare: { type: 'string' } },
})
if (options.update && options.compare !== undefined) throw new Error('--update and --compare exclude each other.')

const root = join(import.meta.dirname, '../..')
const baselineFile = join(root, 'bench/baseline.json')
// npm runs scripts in the root of the package; INIT_CWD is the folder of the caller.
const other = options.compare === undefined ? undefined : resolve(process.env.INIT_CWD ?? '.', options.compare)
const checkouts = other === undefined ? [root] : [root, other]
const budgetMs = other === undefined ? 37_000 : 76_000
const sliceMs = 80
const sweeps = 3

const dir = mkdtempSync(join(resolve(process.env.BENCH_DIR ?? '.'), 'bench-'))
const running = new Set<Checkout>()
let server: Server | undefined
let ending: Promise<void> | undefined
const end = (): Promise<void> => {
  ending ??= (async () => {
    await Promise.all([...running].map((checkout) => checkout.end()))
    await server?.stop()
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  })()
  return ending
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void end().then(() => process.exit(1)))

const cacheOf = (at: number): string => join(dir, `cache-${at}`)

const started = checkouts.map((checkout, at): Started => {
  const own = join(dir, `starts-${at}`)
  mkdirSync(own)
  return { checkout, cache: cacheOf(at), dir: own }
})
let starts: ReturnType<typeof openStarts> = new Map()

async function open(round: number): Promise<Checkout[]> {
  const opened: Checkout[] = []
  for (const [at, checkout] of checkouts.entries()) {
    const name = `round_${round}_${at}`
    const own = new Checkout(checkout, join(dir, name), cacheOf(at), server && (await createDatabase(server, name)))
    running.add(own)
    await own.ready()
    opened.push(own)
  }
  return opened
}

/** Returns the lower quartile of the slices of one round; see child.ts. */
async function runRound(round: number): Promise<Map<string, Round>> {
  const opened = await open(round)
  const names = [...(opened[0]?.names ?? []), ...starts.keys()]
  const slices = new Map(names.map((name) => [name, checkouts.map((): Measure[] => [])]))
  for (let sweep = 0; sweep <= sweeps && (sweep < 2 || performance.now() < budgetMs); sweep++) {
    for (const [name, all] of slices) {
      // The order of the checkouts alternates, because the first one is measured right after another case.
      const order = [...opened.entries()]
      for (const [at, checkout] of (round + sweep) % 2 === 0 ? order : order.toReversed()) {
        const start = starts.get(name)
        if (start) {
          all[at]?.push(measureStart(start, started[at] as Started))
          continue
        }
        const measured = await checkout.measure({ name, ms: sliceMs, warm: sweep === 0 })
        if (sweep > 0) all[at]?.push(measured) // the first sweep is warm-up
      }
    }
  }
  for (const checkout of opened) {
    await checkout.end()
    running.delete(checkout)
  }
  const low = (measures: readonly Measure[] = [], side: keyof Measure): number =>
    quantile(
      measures.map((measure) => measure[side]),
      0.25,
    )
  return new Map(
    [...slices].map(([name, all]) => {
      const [own, others] = all
      const round = { floor: low(all.flat(), 'floor'), pawl: low(own, 'pawl') }
      return [name, others ? { ...round, other: low(others, 'pawl') } : round]
    }),
  )
}

function readBaseline(): Record<string, Known> {
  try {
    return (JSON.parse(readFileSync(baselineFile, 'utf8')) as { ratios: Record<string, Known> }).ratios
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

async function run(): Promise<void> {
  const machine = `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`
  console.log(`${machine}, load ${loadavg()[0]?.toFixed(1)}`)
  try {
    server = await startServer()
  } catch (error) {
    console.log(`PostgreSQL does not start here and is left out: ${String(error)}`)
  }
  starts = openStarts(started)

  const results = new Map<string, Round[]>()
  let rounds = 0
  let longest = 0
  while (rounds === 0 || performance.now() + longest < budgetMs) {
    const from = performance.now()
    for (const [name, round] of await runRound(rounds)) results.set(name, [...(results.get(name) ?? []), round])
    rounds++
    longest = Math.max(longest, performance.now() - from)
  }

  const baseline = readBaseline()
  const rows = [...results].map(([name, all]) => rowOf(name, all, baseline[name]))
  const seconds = (performance.now() / 1000).toFixed(0)
  console.log(`${rounds} rounds in ${seconds} s, medians of rounds; spread: between their quartiles\n`)
  printTable(rows, other === undefined ? 'baseline' : 'other')
  if (options.update) {
    const ratios = Object.fromEntries(
      rows.map(({ name, ratio, spread }) => [name, { ratio: rounded(ratio), spread: rounded(spread) }]),
    )
    writeFileSync(baselineFile, `${JSON.stringify({ machine, ratios }, null, 2)}\n`)
  }
}

const rounded = (value: number): number => Number(value.toPrecision(3))

try {
  await run()
} finally {
  await end()
}
