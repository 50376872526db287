import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('DUR-13: ending a thread with an answer in flight waits for its exit', async () => {
  const child = join(import.meta.dirname, 'child-thread-end.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=@pawl/source', child])
  expect(stdout).toBe('ended\n')
})
