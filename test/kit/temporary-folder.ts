// Global set-up of a test run: all temporary files are in one folder that is removed when the run ends. The compile
// cache is elsewhere, because a worker writes it on exit, after the teardown, and would create the folder again. With
// the cache only the first of hundreds of child processes needs a second to start.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function ownFolder(): () => void {
  const before = { TMPDIR: process.env.TMPDIR, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
  const folder = mkdtempSync(join(tmpdir(), 'pawl-'))
  // PostgreSQL may run as another user, which needs permission to traverse the folder.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../node_modules/.cache/pawl-compiled')
  return () => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
