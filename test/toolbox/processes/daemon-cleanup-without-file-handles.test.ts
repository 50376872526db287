// Processes that are left behind (TASK-5).

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { alive, clean, until } from '../../kit/processes/process-trees.ts'

// process.ts: "What leaves the group … On Linux those are found in /proc and killed too". A process that has no handle left cannot look into /proc, takes
// that for "there are none", and tells the watcher that all is done: the daemon lives on, and dies with nobody.
test.each(['leave', 'stay'])('TASK-5: a daemon is not left behind because no file handle was free for a moment: %s', async (then) => {
  const mark = `tree-${randomUUID()}`
  const program = `ulimit -n 80; exec "$0" --conditions=@pawl/source "$1" "$2" "$3"`
  const child = spawn('sh', ['-c', program, process.execPath, join(import.meta.dirname, 'child-without-file-handles.ts'), mark, then], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()))
  try {
    if (then === 'leave') await once(child, 'close')
    await until('it has ended', () => said === 'ended 0\n')
    // Whoever goes on looks again, by itself; whoever has left has a watcher that does.
    await until('the daemon is gone', () => alive(mark).length === 0, 2_000)
    expect(child.exitCode).toBe(then === 'stay' ? null : 0)
  } finally {
    child.kill()
    clean(mark)
  }
})
