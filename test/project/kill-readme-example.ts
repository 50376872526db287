// Runs the README's example until it is killed at a point, and once more.

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** Runs the README's example until it is killed at a point (0: never) or ends. */
const runKilledAt = (at: number, dir: string): Promise<{ killed: boolean; shown: string }> =>
  new Promise((resolve, reject) => {
    const args = [
      '--conditions=@pawl/source',
      '--import',
      join(root, 'test/kit/processes/child-kill-at.ts'),
      join(root, 'examples/refund.ts'),
    ]
    const env = { ...process.env, NO_COLOR: '1', KILL_AT: String(at) }
    execFile(process.execPath, args, { cwd: dir, timeout: 60_000, env }, (error, shown, said) => {
      if (error && error.signal !== 'SIGKILL') reject(new Error(`At point ${at}: ${said}`, { cause: error }))
      else resolve({ killed: error !== null, shown })
    })
  })

async function afterKillAt(at: number): Promise<{ killed: boolean; shown: string; effects: string[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-readme-'))
  try {
    const first = await runKilledAt(at, dir)
    const { shown } = first.killed ? await runKilledAt(0, dir) : first
    const lines = readFileSync(join(dir, 'outside.ledger'), 'utf8').trim().split('\n')
    return { killed: first.killed, shown, effects: lines.map((line) => (JSON.parse(line) as { what: string }).what) }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Checks the result after a kill at a point. False if the point was not reached. */
export async function endsOnceAfterKillAt(at: number): Promise<boolean> {
  const { killed, shown, effects } = await afterKillAt(at)
  expect(shown, `killed at point ${at}`).toMatch(/^success/)
  expect(effects, `killed at point ${at}`).toEqual(['refund', 'mail'])
  return killed
}
