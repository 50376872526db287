// `npm run bench:turn`: cost of a turn without its model and its disk. Ten answers and twenty calls with a scripted
// model on SQLite, in an empty session and in one with 10,000 messages. One run measures `power` (every acknowledged
// write is on disk), `process` (no write waits for the disk), and the floor: as many bare synced commits as the turn
// made. The section "streaming" is in streaming.ts.
//
// BENCH_DIR is the folder of the SQLite files, TMPDIR that of PostgreSQL. SECTION=turn|streaming selects a section,
// ONLY=sqlite|postgres a store of the second one.

import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import { createRuntime, type Runtime, tool } from 'pawl'
import { type Line, scriptedModel } from 'pawl/testing'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { Store } from '../../src/store/store.ts'
import { countCommits } from '../../test/kit/stores/count-commits.ts'
import { bareSqlite } from '../kit/bare-commit.ts'
import { median } from '../kit/statistics.ts'
import { collections } from '../../src/store/collections.ts'
import { streaming } from './streaming.ts'

const answers = 10
const tries = 40
const long = 10_000
const counted = countCommits()
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const dir = mkdtempSync(join(resolve(process.env.BENCH_DIR ?? '.'), 'bench-'))

const look = tool({
  name: 'look',
  description: 'Looks something up',
  input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  hints: { readOnly: true },
  execute: ({ n }) => ({ n: n ?? 0, found: 'An order of Ada, 42.00, shipped on Monday' }),
})

/** Nine answers with two or three calls each, and a final tenth answer. */
const script: Line[] = [
  ...Array.from({ length: answers - 1 }, (_, at): Line => ({
    say: 'Let me see.',
    call: Array.from({ length: at < 2 ? 3 : 2 }, (_call, n) => ({ name: 'look', input: { n } })),
  })),
  'It was 42.00.',
]

interface Measured {
  readonly ms: number
  /** Time spent in the model. */
  readonly modelMs: number
  readonly cpuMs: number
  readonly commits: number
}

async function turnsOf(commit: 'power' | 'process', messages: number): Promise<Measured> {
  const file = join(dir, `${commit}-${messages}.db`)
  const store = sqliteStore({ file, clock: systemClock, commit })
  const runtime: Runtime = await createRuntime({ store, tools: [look], logger: quiet })
  const all: Measured[] = []
  for (let n = 0; n < tries; n++) {
    const session = `s${messages === 0 ? n : 0}`
    if (messages > 0 && n === 0) await fill(store, session, messages)
    let modelMs = 0
    const scripted = scriptedModel(
      script.map((line) => line),
      { name: `m${n}` },
    )
    const model = {
      ...scripted,
      async generate(call: Parameters<typeof scripted.generate>[0]) {
        const from = performance.now()
        try {
          return await scripted.generate(call)
        } finally {
          modelMs += performance.now() - from
        }
      },
    }
    counted.take()
    const cpu = process.cpuUsage()
    const from = performance.now()
    const outcome = await runtime.session(session).turn({ model, message: 'How much was it?' }).outcome
    const ms = performance.now() - from
    if (outcome.status !== 'success') throw new Error(JSON.stringify(outcome))
    const { user, system } = process.cpuUsage(cpu)
    all.push({ ms, modelMs, commits: counted.take(), cpuMs: (user + system) / 1000 })
  }
  await runtime.close()
  await store.close()
  // The first turns are warm-up; in a long conversation the first turn of a process also loads it.
  const warm = all.slice(5)
  return {
    ms: median(warm.map((each) => each.ms)),
    modelMs: median(warm.map((each) => each.modelMs)),
    cpuMs: median(warm.map((each) => each.cpuMs)),
    commits: median(warm.map((each) => each.commits)),
  }
}

async function fill(store: Store, session: string, messages: number): Promise<void> {
  for (let from = 1; from <= messages; from += 500) {
    const documents = Array.from({ length: 500 }, (_, at) => {
      const number = from + at
      const role = number % 2 === 1 ? 'user' : 'assistant'
      const message = { role, parts: [{ type: 'text', text: `Something that was said a while ago, number ${number}` }] }
      return {
        ...collections.message.name({ tenant: 'default', session }, number),
        value: JSON.stringify({ number, at: 0, turn: `old${number >> 1}`, step: 1, message }),
      }
    })
    await store.commit({ guards: [], documents, events: [] })
  }
}

/** Milliseconds of one bare commit that waits for the disk. */
function floor(): number {
  const bare = bareSqlite(join(dir, 'floor.db'), 'FULL')
  const all: number[] = []
  for (let n = 0; n < 300; n++) {
    const from = performance.now()
    bare.commit(5) // five rows of 200 bytes
    all.push(performance.now() - from)
  }
  bare.close()
  return median(all)
}

async function ownTime(): Promise<void> {
  const sync = floor()
  const power = await turnsOf('power', 0)
  const light = await turnsOf('process', 0)
  const full = await turnsOf('process', long)
  const own = power.ms - power.modelMs - power.commits * sync
  const perCall = (full.ms - full.modelMs - (light.ms - light.modelMs)) / answers
  const rows = [
    ['a turn in `power` mode, whole', `${power.ms.toFixed(1)} ms, ${power.commits} commits`, ''],
    ['one bare synced commit', `${sync.toFixed(2)} ms`, ''],
    ["Pawl's own time, `power`", `${own.toFixed(1)} ms`, `at most 15 ms: ${own <= 15 ? 'met' : 'MISSED'}`],
    [
      "Pawl's own time, `process`",
      `${(light.ms - light.modelMs).toFixed(1)} ms (${light.cpuMs.toFixed(1)} ms of CPU)`,
      '',
    ],
    [`${long} messages more, per answer`, `${perCall.toFixed(2)} ms`, `under 1 ms: ${perCall < 1 ? 'met' : 'MISSED'}`],
  ]
  console.log(`${answers} answers, 20 calls, scripted model, SQLite; medians of ${tries - 5}\n`)
  for (const row of rows) console.log(`| ${row.join(' | ')} |`)
}

const section = process.env.SECTION
const load = loadavg()[0] as number
console.log(`${cpus().length} cores, Linux ${release()}, Node ${process.version}, load ${load.toFixed(2)}\n`)
try {
  if (section !== 'streaming') await ownTime()
  if (section !== 'turn') await streaming(dir)
} finally {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
