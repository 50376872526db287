// A worker process whose tool ends the process in its first line.

import { createRuntime } from 'pawl'
import { rerunTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const kill = rerunTool('kill', () => process.kill(process.pid, 'SIGKILL'))
const store = `sqlite:${process.argv[2] as string}`
const worker = process.argv[3] !== 'asks'
const runtime = await createRuntime({ store, tools: [kill], logger: quiet, worker })
const session = runtime.session('s')
const calls = [{ id: 'a', name: 'kill' }]
const [end] = await (worker ? session.run(calls) : session.run(calls, { until: '0.2s' }))
process.stdout.write(end?.status === 'failure' ? end.failure.code : String(end?.status))
await runtime.close({ grace: 0 })
