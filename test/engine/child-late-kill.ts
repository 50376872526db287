// A worker process whose tool ends the process as soon as the start of its body is on record: another connection to the
// database sees it, so nothing in this process waited for it.

import { DatabaseSync } from 'node:sqlite'
import { createRuntime } from 'pawl'
import { rerunTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const file = process.argv[2] as string
const kill = rerunTool('kill', async () => {
  const db = new DatabaseSync(file, { readOnly: true })
  const running = db.prepare(`SELECT 1 FROM calls WHERE state = 'running' AND attempt > 0`)
  while (running.get() === undefined) await new Promise((resolve) => setTimeout(resolve, 1))
  process.kill(process.pid, 'SIGKILL')
})
const runtime = await createRuntime({ store: `sqlite:${file}`, tools: [kill], logger: quiet })
const [end] = await runtime.session('s').run([{ id: 'a', name: 'kill' }])
process.stdout.write(end?.status === 'failure' ? end.failure.code : String(end?.status))
await runtime.close({ grace: 0 })
