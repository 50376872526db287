// SIGTERM reaches every process of the group, not only its leader.

import { expect, test } from 'vitest'
import { runProcess } from '../../../src/toolbox/processes/run-process.ts'

/**
 * The child has no marker in its environment: only a signal to the group reaches it. The leader waits for the child.
 */
const program = `trap : TERM
env -i sh -c 'trap "echo child got SIGTERM; exit 0" TERM; echo up; while :; do sleep 0.02; done' &
wait; wait`

test('TASK-5: a cancel sends SIGTERM to the children in the process group', async () => {
  const cancel = new AbortController()
  const end = await runProcess('sh', ['-c', program], {
    signal: cancel.signal,
    grace: '10s',
    onOutput: () => cancel.abort(),
  })
  expect(end).toMatchObject({ killedBy: 'cancel', stdout: 'up\nchild got SIGTERM\n' })
})
