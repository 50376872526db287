// Hands in a run or a turn, and kills itself as soon as it is accepted.

import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'

const [file = '', what = '', role = ''] = process.argv.slice(2)
const never = (): Promise<never> => new Promise(() => {})
const work = tool({
  name: 'work',
  description: 'Works',
  input: { type: 'object' },
  onCrash: 'rerun',
  execute: never,
})
const model = { ...scriptedModel(['Hello']), generate: never }
const runtime = await createRuntime({
  store: `sqlite:${file}`,
  tools: [work],
  models: [model],
  ...(role === 'web' ? { worker: false as const } : {}),
})
const session = runtime.session('s')
const handle =
  what === 'run' ? session.run([{ id: 'a', name: 'work' }]) : session.turn({ model, message: 'Hi', id: 'a' })
await handle.accepted
process.kill(process.pid, 'SIGKILL')
