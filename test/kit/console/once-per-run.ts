// Makes a folder once for all test files of a run, which share the temporary folder of the run.

import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Two files may make it at the same time: each writes a folder of its own, and the first one that is whole is kept. */
export async function oncePerRun(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const shared = join(tmpdir(), name)
  if (existsSync(shared)) return shared
  const own = mkdtempSync(join(tmpdir(), `${name}-`))
  await make(own)
  try {
    renameSync(own, shared)
  } catch (error) {
    if (!existsSync(shared)) throw error
    rmSync(own, { recursive: true, force: true })
  }
  return shared
}
