// `npm run bench:durable`: a call of N recorded steps, C callers at once, beside a bare loop of prepared statements with group commit
// on the same disk, in the same run. Slices are interleaved, so that a slow moment of the machine meets all of them; trust the
// ratios, not the figures.

import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'
import { countCommits } from '../test/count-commits.ts'

interface Subject {
  readonly name: string
  call(steps: number): Promise<void>
  close(): Promise<void>
}

interface Measure {
  readonly calls: number
  readonly seconds: number
  readonly commits: number
  readonly p50: number
  readonly p99: number
}

const shapes = [
  { steps: 1, callers: 1 },
  { steps: 5, callers: 1 },
  { steps: 1, callers: 50 },
  { steps: 5, callers: 50 },
] as const
const rounds = Number(process.env.ROUNDS ?? 5)
const sliceMs = Number(process.env.SLICE_MS ?? 1_000)
const result = { ok: true, text: 'x'.repeat(78) } // 100 bytes of JSON

const dir = mkdtempSync(join(process.env.BENCH_DIR ?? '.', 'bench-'))
const commits = countCommits()

/** The floor: intent and result rows, one transaction per turn of the event loop, nothing else. N + 1 barriers per call. */
function bareLoop(synchronous: 'FULL' | 'NORMAL'): Subject {
  const db = new DatabaseSync(join(dir, `bare-${synchronous}.db`))
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE calls (id TEXT PRIMARY KEY, state INTEGER NOT NULL, args TEXT NOT NULL, result TEXT) WITHOUT ROWID;
    CREATE TABLE steps (call TEXT NOT NULL, step INTEGER NOT NULL, value TEXT, PRIMARY KEY (call, step)) WITHOUT ROWID`)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const end = db.prepare('COMMIT')
  const insertCall = db.prepare('INSERT INTO calls (id, state, args) VALUES (?, 0, ?)')
  const putStep = db.prepare('INSERT OR REPLACE INTO steps (call, step, value) VALUES (?, ?, ?)')
  const endCall = db.prepare('UPDATE calls SET state = 1, result = ? WHERE id = ?')
  let queue: (() => void)[] = []
  let waiting: (() => void)[] = []
  const flush = (): void => {
    const [writes, woken] = [queue, waiting]
    queue = []
    waiting = []
    begin.run()
    for (const write of writes) write()
    end.run()
    for (const wake of woken) wake()
  }
  const barrier = (): Promise<void> =>
    new Promise((resolve) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting.push(resolve)
    })
  let next = 0
  return {
    name: `bare loop, ${synchronous}`,
    async call(steps) {
      const id = (++next).toString(36).padStart(8, '0')
      queue.push(() => insertCall.run(id, '{"n":1}'))
      for (let step = 0; step < steps; step++) {
        queue.push(() => putStep.run(id, step, null))
        await barrier()
        const value = JSON.stringify(result)
        queue.push(() => putStep.run(id, step, value))
      }
      queue.push(() => endCall.run('null', id))
      await barrier()
    },
    async close() {
      db.close()
    },
  }
}

async function pawl(name: string, store: string, commit: 'power' | 'process'): Promise<Subject> {
  const work = tool({
    name: 'work',
    description: 'Recorded steps that do nothing',
    input: z.object({ steps: z.number() }),
    onCrash: 'rerun',
    async execute({ steps }, ctx) {
      for (let step = 0; step < steps; step++) await ctx.step(`s${step}`, () => result)
      return null
    },
  })
  const runtime = await createRuntime({ store, tools: [work], commit })
  const session = runtime.session('bench')
  let next = 0
  return {
    name,
    async call(steps) {
      const [outcome] = await session.run([{ id: `c${next++}`, name: 'work', input: { steps } }])
      if (outcome?.status !== 'success') throw new Error(JSON.stringify(outcome))
    },
    close: () => runtime.close(),
  }
}

async function slice(subject: Subject, steps: number, callers: number): Promise<Measure> {
  const latencies: number[] = []
  commits.take()
  const from = performance.now()
  const until = from + sliceMs
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      const at = performance.now()
      await subject.call(steps)
      latencies.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - from) / 1000
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number
  return { calls: sorted.length, seconds, commits: commits.take(), p50: at(0.5), p99: at(0.99) }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number

try {
  const subjects = [
    bareLoop('FULL'),
    await pawl('pawl sqlite, power', `sqlite:${join(dir, 'power.db')}`, 'power'),
    bareLoop('NORMAL'),
    await pawl('pawl sqlite, process', `sqlite:${join(dir, 'process.db')}`, 'process'),
    await pawl('pawl memory', 'memory:', 'power'),
  ]
  console.log(
    `Node ${process.version}, Linux ${release()}, ${cpus().length} × ${cpus()[0]?.model}; ${rounds} rounds of ${sliceMs} ms, medians\n`,
  )
  for (const { steps, callers } of shapes) {
    const measures = subjects.map(() => [] as Measure[])
    for (let round = 0; round <= rounds; round++) {
      for (const [index, subject] of subjects.entries()) {
        const measure = await slice(subject, steps, callers)
        if (round > 0) measures[index]?.push(measure) // the first round warms up
      }
    }
    console.log(`${steps} step${steps === 1 ? '' : 's'}, ${callers} caller${callers === 1 ? '' : 's'}`)
    console.log('| | steps/s | of its bare loop | p50 ms | p99 ms | commits per call |\n|---|---:|---:|---:|---:|---:|')
    const rate = (of: readonly Measure[]): number => median(of.map(({ calls, seconds }) => (calls * steps) / seconds))
    for (const [index, subject] of subjects.entries()) {
      const own = measures[index] as Measure[]
      const floor = measures[subject.name.includes('process') || subject.name.includes('NORMAL') ? 2 : 0] as Measure[]
      const shown = [
        rate(own).toFixed(0),
        (rate(own) / rate(floor)).toFixed(2),
        median(own.map(({ p50 }) => p50)).toFixed(2),
        median(own.map(({ p99 }) => p99)).toFixed(2),
        median(own.map((measure) => measure.commits / measure.calls)).toFixed(2),
      ]
      console.log(`| ${subject.name} | ${shown.join(' | ')} |`)
    }
    console.log()
  }
  for (const subject of subjects) await subject.close()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
