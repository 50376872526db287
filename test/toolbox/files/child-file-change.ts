// Runs one file tool on a real folder and kills itself at a chosen store write. Started by
// file-change-crash-in-folder.slow.test.ts.

import { createRuntime, type RuntimeOptions } from 'pawl'
import { toolbox } from 'pawl/toolbox'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const [file, folder, at, when, call] = process.argv.slice(2) as [string, string, string, 'before' | 'after', string]
const store = sqliteStore({ file, clock: systemClock, commit: 'process' })
const die = (): void => void process.kill(process.pid, 'SIGKILL')
let writes = 0
/** Counts a write; true if the process must die at it. */
const isIt = (): boolean => {
  writes++
  if (writes === Number(at) && when === 'before') die()
  return writes === Number(at)
}
const mortal: RuntimeOptions['store'] = {
  ...store,
  write(change, heard, how) {
    const last = isIt()
    store.write(
      change,
      (answer) => {
        if (last) die()
        heard(answer)
      },
      how,
    )
  },
  async commit(change) {
    const last = isIt()
    const answer = await store.commit(change)
    if (last) die()
    return answer
  },
}
const runtime = await createRuntime({
  store: mortal,
  tools: toolbox.all(),
  policy: { rules: [{ then: 'allow' }] },
  files: { folder: () => folder },
})
const [outcome] = await runtime
  .session('s')
  .run([{ id: 'c', ...(JSON.parse(call) as { name: string; input: object }) }])
console.log(JSON.stringify(outcome))
await runtime.close()
