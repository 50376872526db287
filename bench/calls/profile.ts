// Runs one subject (memory, sqlite, process or text) for a profiler:
//   node --conditions=@pawl/source --cpu-prof --cpu-prof-dir=<dir> bench/calls/profile.ts <subject> [seconds] [size]

import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pawl } from './pawl.ts'

const [what = 'memory', seconds = '4', size = '64'] = process.argv.slice(2)
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? '.', 'bench-'))
process.on('exit', () => rmSync(dir, { recursive: true, force: true }))

const kinds = {
  memory: { store: 'memory' },
  text: { store: 'memory', text: true },
  sqlite: { store: 'sqlite', commit: 'power' },
  process: { store: 'sqlite', commit: 'process' },
} as const
const kind = kinds[what as keyof typeof kinds]
if (!kind) throw new Error(`'${what}' is none of ${Object.keys(kinds).join(', ')}.`)
const subject = pawl({ name: what, ...kind }, dir)

let calls = 0
const from = performance.now()
const until = from + Number(seconds) * 1000
while (performance.now() < until) {
  // Reopen from time to time, as the bench does: with millions of records the profile would show the garbage collector.
  const opened = await subject.open()
  for (let batch = 0; batch < 256 && performance.now() < until; batch++, calls += Number(size))
    await opened.batch(Number(size))
  await opened.close()
}
console.log(
  `${what}, batches of ${size}: ${(((performance.now() - from) * 1000) / calls).toFixed(1)} µs a call, ${calls} calls`,
)
