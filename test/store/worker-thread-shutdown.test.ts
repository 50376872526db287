import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('DUR-13: a thread that is ended while its last answer is on its way is waited for to its end', async () => {
  const child = join(import.meta.dirname, 'child-thread-end.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=@pawl/source', child])
  expect(stdout).toBe('ended\n')
})
