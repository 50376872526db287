// `npm run bench:calls`: overhead of a call of a no-op tool in batches of 1, 8, 64 and 512, compared with common tool
// loops and with the minimal cost of such a call. One process runs interleaved slices in a new random order every
// round, so that a slow phase of the machine affects all subjects; trust the ratios, not the absolute figures.
//
// ROUNDS and SLICE (ms) set the duration; BENCH_DIR is the folder of the SQLite files. CLOCK=cpu measures the CPU time
// of this process (all threads) instead of wall time, for a shared machine. CPU time excludes waiting for the disk.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { median, quantile } from '../kit/statistics.ts'
import { importTime } from './import-time.ts'
import { pawl } from './pawl.ts'
import { aiSdk, bare, floor, langGraph, openAiAgents } from './peers.ts'
import { type Opened, sizes, type Subject } from './workload.ts'

const rounds = Math.max(1, Number(process.env.ROUNDS ?? 7))
const sliceMs = Number(process.env.SLICE ?? 150)
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? '.', 'bench-'))
process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

const onCpu = process.env.CLOCK === 'cpu'
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Microseconds per batch. */
async function slice(subject: Subject, size: number, ms: number): Promise<number> {
  const opened: Opened = await subject.open()
  try {
    // Warm-up: creates everything that is created on first use. No forced garbage collection here, although the garbage
    // of one subject may then be collected in the slice of another: a full collection while idle makes V8 discard the
    // compiled code of the subject ("embedded weak objects cleared"), and the slice would measure the compiler. The
    // order of slices changes every round, so the garbage affects all subjects alike.
    const warm = performance.now() + ms / 3
    do await opened.batch(size)
    while (performance.now() < warm)
    let batches = 0
    let spent = 0
    const cpuFrom = cpuMs()
    const from = performance.now()
    do {
      await opened.batch(size)
      batches++
      spent = performance.now() - from
    } while (spent < ms)
    return ((onCpu ? cpuMs() - cpuFrom : spent) * 1000) / batches
  } finally {
    await opened.close()
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

/** Returns a meter: the share of all CPU time that other processes used since its creation. */
function othersMeter(): () => number {
  const machine = (): { busy: number; all: number } => {
    let [busy, all] = [0, 0]
    for (const { times } of cpus()) {
      busy += times.user + times.nice + times.sys + times.irq
      all += times.user + times.nice + times.sys + times.irq + times.idle
    }
    return { busy, all }
  }
  const from = machine()
  const own = process.cpuUsage()
  return () => {
    const to = machine()
    const { user, system } = process.cpuUsage(own)
    return Math.max(0, to.busy - from.busy - (user + system) / 1000) / Math.max(1, to.all - from.all)
  }
}

class Results {
  readonly #of = new Map<Subject, Map<number, number[]>>()

  add(subject: Subject, size: number, us: number): void {
    const own = this.#of.get(subject) ?? new Map<number, number[]>()
    this.#of.set(subject, own)
    own.set(size, [...(own.get(size) ?? []), us])
  }

  all(subject: Subject, size: number): number[] {
    return this.#of.get(subject)?.get(size) ?? []
  }

  /** Microseconds per call without the share of the stub model; NaN if not measured. */
  perCall(subject: Subject, size: number): number {
    const share = subject.hasModel ? median(this.all(subject, 0)) : 0
    return (median(this.all(subject, size)) - share) / size
  }
}

/** A value of zero or less is noise: the difference of two disturbed runs. */
const shown = (value: number): string => (value > 0 ? value.toFixed(value >= 100 ? 0 : value >= 1 ? 1 : 2) : '–')
const versionOf = (name: string): string =>
  (
    JSON.parse(readFileSync(join(import.meta.dirname, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string
    }
  ).version

const least = await floor()
const memory = pawl({ name: 'pawl memory', store: 'memory' }, dir)
const memoryText = pawl({ name: 'pawl memory, arguments as JSON text', store: 'memory', text: true }, dir)
const power = pawl({ name: 'pawl sqlite, power', store: 'sqlite', commit: 'power' }, dir)
const onProcess = pawl({ name: 'pawl sqlite, process', store: 'sqlite', commit: 'process' }, dir)
// Compare with the run that stops after the results: like Pawl, it does not pay for a second model call.
const ai = await aiSdk('AI SDK generateText', false)
const subjects = [
  bare(),
  least,
  memory,
  memoryText,
  onProcess,
  power,
  ai,
  await aiSdk('AI SDK generateText, the model answers after', true),
  await langGraph(),
  await openAiAgents(),
]

const peers = ['ai', '@langchain/langgraph', '@openai/agents', 'ajv', 'zod'].map((name) => `${name} ${versionOf(name)}`)
console.log(`Node ${process.version}, Linux ${release()}, ${cpus().length} × ${cpus()[0]?.model}; ${peers.join(', ')}`)

const results = new Results()
const cells = subjects.flatMap((subject) =>
  [...(subject.hasModel ? [0] : []), ...subject.sizes].map((size) => ({ subject, size })),
)
// Warm-up: a long pipeline reaches full speed only after tens of thousands of calls, when its code is optimized.
for (const subject of shuffled(subjects)) await slice(subject, 64, sliceMs * 8)
const others = othersMeter()
const from = performance.now()
for (let round = 0; round <= rounds; round++) {
  for (const { subject, size } of shuffled(cells)) {
    const us = await slice(subject, size, sliceMs)
    if (round > 0) results.add(subject, size, us) // the first round is warm-up
  }
}
const seconds = (performance.now() - from) / 1000
console.log(
  `${rounds} rounds of ${sliceMs} ms slices in ${seconds.toFixed(0)} s, medians; others used ${(others() * 100).toFixed(0)} % of the CPUs\n`,
)

console.log(
  `Microseconds ${onCpu ? 'of CPU ' : ''}a call in a batch of ${sizes.join(', ')}; spread: between the quartiles, of the median, at 64\n`,
)
console.log(`| | ${sizes.join(' | ')} | × floor | × AI SDK | spread |\n|---|${'---:|'.repeat(sizes.length + 3)}`)
for (const subject of subjects) {
  const times = (of: Subject): string =>
    sizes.map((size) => shown(results.perCall(subject, size) / results.perCall(of, size))).join(' / ')
  const own = results.all(subject, 64)
  const spread = ((quantile(own, 0.75) - quantile(own, 0.25)) / median(own)) * 100
  const us = sizes.map((size) => shown(results.perCall(subject, size)))
  console.log(`| ${subject.name} | ${us.join(' | ')} | ${times(least)} | ${times(ai)} | ${spread.toFixed(0)} % |`)
}
const share = (subject: Subject): string => `${subject.name} ${shown(median(results.all(subject, 0)))} µs`
console.log(
  `\nTaken off as the stub model's share (a run without a call): ${subjects
    .filter((s) => s.hasModel)
    .map(share)
    .join('; ')}\n`,
)

const loaded = importTime(dir)
console.log(
  `import 'pawl': ${shown(loaded.pawl)} ms (an empty module ${shown(loaded.empty)} ms), ${loaded.ownFiles} files of its own`,
  loaded.stale ? '(dist is older than src: npm run build)' : '',
)
console.log('| loaded with it | files | alone, ms | a plain call runs it |\n|---|---:|---:|---|')
for (const { name, files, ms, used } of loaded.packages)
  console.log(`| ${name} | ${files} | ${shown(ms)} | ${used ? 'yes' : 'no'} |`)
console.log(`Modules of Node: ${loaded.builtins.join(', ')}\n`)

const flat = [8, 64, 512].map((size) => results.perCall(memory, size))
const idle = [
  ...loaded.packages.filter(({ used }) => !used).map(({ name }) => name),
  ...loaded.builtins.filter((name) => name === 'sqlite').map((name) => `node:${name}`),
]
const goals: readonly (readonly [string, number, number, string])[] = [
  ['pawl memory at 64, of the AI SDK', results.perCall(memory, 64) / results.perCall(ai, 64), 1 / 3, '×'],
  ['pawl memory at 64, of the floor', results.perCall(memory, 64) / results.perCall(least, 64), 10, '×'],
  ['pawl memory from 8 to 512, most of least', Math.max(...flat) / Math.min(...flat), 1.5, '×'],
  ['pawl sqlite, power, at 64', results.perCall(power, 64), 40, 'µs'],
  ["import 'pawl'", loaded.pawl, 40, 'ms'],
  [`loaded and not needed${idle.length > 0 ? ` (${idle.join(', ')})` : ''}`, idle.length, 0, ''],
]
console.log('| goal | measured | at most | |\n|---|---:|---:|---|')
for (const [what, measured, most, unit] of goals) {
  const written = (value: number): string => `${Number.isInteger(value) ? value : value.toFixed(2)} ${unit}`.trim()
  console.log(`| ${what} | ${written(measured)} | ${written(most)} | ${measured <= most ? 'pass' : 'MISS'} |`)
}
