// Real processes whose call kills them: a claimed call at once, a new one as soon as its start is on record.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let dir: string
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'pawl-adv-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const child = (how: string, program = 'child-self-kill.ts') => {
  const file = join(import.meta.dirname, program)
  const args = ['--conditions=@pawl/source', file, join(dir, 'agent.db'), how]
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 90_000 })
  return signal ?? `${stdout}${stderr}`
}

test(
  'DUR-8: a claimed call whose body kills the process at once is poisoned after three deaths',
  { timeout: 300_000 },
  () => {
    expect(child('asks')).not.toContain('Error')
    const ends = Array.from({ length: 6 }, () => child('works'))
    expect(ends).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL', 'poisoned', 'poisoned', 'poisoned'])
  },
)

test(
  'DUR-2, DUR-8: a new rerunnable call that kills its process later is poisoned after three deaths',
  { timeout: 300_000 },
  () => {
    const ends = Array.from({ length: 5 }, () => child('', 'child-late-kill.ts'))
    expect(ends).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL', 'poisoned', 'poisoned'])
  },
)
