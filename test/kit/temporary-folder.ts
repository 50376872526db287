// All that a run of the tests puts into the temporary folder is in one folder of its own, which is gone when the run is over. There is what
// Node compiled too: of hundreds of processes that tests start only the first takes a second to begin.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function ownFolder(): () => void {
  const before = { TMPDIR: process.env.TMPDIR, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
  const folder = mkdtempSync(join(tmpdir(), 'pawl-'))
  // PostgreSQL may have to run as somebody else.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled')
  return () => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
