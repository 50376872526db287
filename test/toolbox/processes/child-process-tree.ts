// A worker that runs one process tree and waits to be killed. Arguments: the shell program and the marker of the test.

import { runProcess } from '../../../src/toolbox/processes/run-process.ts'
import { systemClock } from '../../../src/core/clock.ts'

// Answers when the event loop has processed all earlier work.
process.on('SIGUSR2', () => process.stdout.write('here\n'))

const [program, value] = process.argv.slice(2) as [string, string]
await runProcess('sh', ['-c', program], {
  clock: systemClock,
  env: { TEST_TREE: value },
  onOutput: (text) => process.stdout.write(text),
})
