// A worker whose tool ends the process in its first line.

import { createRuntime, tool } from 'pawl'

const kill = tool({
  name: 'kill',
  description: 'Ends the process',
  input: { type: 'object' },
  onCrash: 'rerun',
  execute: () => process.kill(process.pid, 'SIGKILL'),
})
const store = `sqlite:${process.argv[2] as string}`
const worker = process.argv[3] !== 'asks'
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const runtime = await createRuntime({ store, tools: [kill], logger, worker })
const run = runtime.session('s').run([{ id: 'a', name: 'kill' }], { until: worker ? '10s' : '0.2s' })
const [end] = await run
process.stdout.write(end?.status === 'failure' ? end.failure.code : String(end?.status))
await runtime.close({ grace: 0 })
