// Cleanup of daemons while the process has no free file handle.

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { alive, clean, until } from '../../kit/processes/process-trees.ts'

// Processes that leave the group are found through /proc. Without a free file handle /proc cannot be read; if that were
// taken for "no processes", the watcher would be told that all is done and the daemon would survive.
test.each(['leave', 'stay'])(
  'TASK-5: a daemon is killed although no file handle was free for a moment: %s',
  async (then) => {
    const mark = `tree-${randomUUID()}`
    const program = `ulimit -n 80; exec "$0" --conditions=@pawl/source "$1" "$2" "$3"`
    const child = spawn(
      'sh',
      ['-c', program, process.execPath, join(import.meta.dirname, 'child-without-file-handles.ts'), mark, then],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
    let said = ''
    child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()))
    try {
      if (then === 'leave') await once(child, 'close')
      await until('it has ended', () => said === 'ended 0\n')
      // A process that stays checks again by itself; for one that exits the watcher does.
      await until('the daemon is gone', () => alive(mark).length === 0, 2_000)
      expect(child.exitCode).toBe(then === 'stay' ? null : 0)
    } finally {
      child.kill()
      clean(mark)
    }
  },
)
