// Runs a program that leaves a daemon behind while this process has no free file handle; then reports its end and exits
// or stays.

import { closeSync, openSync } from 'node:fs'
import { runProcess } from '../../../src/toolbox/processes/run-process.ts'

const taken: number[] = []
const takeAll = (): void => {
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch {}
}
let taking: ReturnType<typeof setInterval> | undefined
const script = 'setsid sleep 30 </dev/null >/dev/null 2>&1 & echo up; sleep 0.1'
const env = { TEST_TREE: process.argv[2] ?? '' }
await runProcess('true', []) // starts the watcher
const end = await runProcess('sh', ['-c', script], { env, onOutput: () => (taking ??= setInterval(takeAll, 1)) })
clearInterval(taking)
for (const handle of taken) closeSync(handle)
console.log(`ended ${end.code}`)
if (process.argv[3] === 'stay') process.stdin.resume()
