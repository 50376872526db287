// `npm run bench:files`: the number of source files that a plain call, an approval and a turn pass, by V8 coverage.
// A file counts if one of its functions runs after createRuntime, or if it is loaded then. `-- --list` prints the files.

import { Session } from 'node:inspector/promises'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRuntime, type JsonSchema, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'

const source = fileURLToPath(new URL('../../src', import.meta.url))
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const input: JsonSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
const look = tool({ name: 'look', description: 'Looks', input, execute: () => 1 })
const erase = tool({
  name: 'erase',
  description: 'Erases',
  input,
  hints: { destructive: true },
  execute: () => 1,
})

const cases: Record<string, (runtime: Runtime) => Promise<unknown>> = {
  'plain call': (runtime) => runtime.session('s').run([{ id: 'a', name: 'look', input: { n: 1 } }]),
  async approval(runtime) {
    const session = runtime.session('s')
    const calls = [{ id: 'a', name: 'erase', input: { n: 1 } }]
    await session.run(calls, { batch: 'b', until: 'waiting' })
    const [item] = await runtime.inbox()
    if (item === undefined) throw new Error('The call does not wait for approval')
    await runtime.decide(item.id, { approve: true, by: 'user:ada' })
    return session.run(calls, { batch: 'b' })
  },
  turn: (runtime) =>
    runtime
      .session('s')
      .turn({ model: scriptedModel([{ call: { name: 'look', input: { n: 1 } } }, 'Done.']), message: 'Look' }).outcome,
}

const inspector = new Session()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** The source files and functions that ran since the last call, most functions first. */
async function takeCoverage(): Promise<{ file: string; functions: number }[]> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url }) => url.startsWith('file:') && !relative(source, fileURLToPath(url)).startsWith('..'))
    .map(({ url, functions }) => ({
      file: relative(dirname(source), fileURLToPath(url)),
      functions: functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length,
    }))
    .filter(({ file, functions }) => functions > 0 && !file.startsWith('src/testing/'))
    .toSorted((a, b) => b.functions - a.functions || a.file.localeCompare(b.file))
}

const rows: Record<string, { files: number; functions: number }> = {}
for (const [name, run] of Object.entries(cases)) {
  const runtime = await createRuntime({ store: 'memory:', tools: [look, erase], logger: quiet })
  await takeCoverage()
  const outcome = await run(runtime)
  const files = await takeCoverage()
  await runtime.close()
  const settled = Array.isArray(outcome) ? outcome[0] : outcome
  if (settled?.status !== 'success') throw new Error(`${name}: ${JSON.stringify(settled)}`)
  rows[name] = { files: files.length, functions: files.reduce((sum, each) => sum + each.functions, 0) }
  if (!process.argv.includes('--list')) continue
  console.log(`\n${name}`)
  for (const each of files) console.log(`${String(each.functions).padStart(4)}  ${each.file}`)
}
console.table(rows)
