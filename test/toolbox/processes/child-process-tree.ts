// A worker that runs one process tree and waits to be killed. Arguments: the shell program, the mark of the test.

import { runProcess } from '../../../src/toolbox/processes/run-process.ts'
import { systemClock } from '../../../src/core/clock.ts'

// Answers when it has done all that it was about to do.
process.on('SIGUSR2', () => process.stdout.write('here\n'))

const [program, value] = process.argv.slice(2) as [string, string]
await runProcess('sh', ['-c', program], { clock: systemClock, env: { TEST_TREE: value }, onOutput: (text) => process.stdout.write(text) })
