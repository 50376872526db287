// The examples run as a user would run them, and the README shows the same code.

import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const run = (file: string, cwd: string): string =>
  execFileSync(process.execPath, ['--conditions=@pawl/source', join(root, file)], {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, NO_COLOR: '1' },
  })

test('the README shows examples/refund.ts, and it prints the documented output', { timeout: 150_000 }, () => {
  const code = readFileSync(join(root, 'examples/refund.ts'), 'utf8')
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  expect(readme).toContain(code.slice(code.indexOf('import ')).trimEnd())
  const dir = mkdtempSync(join(tmpdir(), 'pawl-readme-'))
  try {
    const first = run('examples/refund.ts', dir)
    expect(first).toContain('success')
    expect(run('examples/refund.ts', dir)).toBe(first)
    expect(readFileSync(join(dir, 'outside.ledger'), 'utf8').trim().split('\n')).toHaveLength(2)
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('the README shows examples/chat.ts, and a second run prints the recorded answer', { timeout: 150_000 }, () => {
  const code = readFileSync(join(root, 'examples/chat.ts'), 'utf8')
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(code.slice(code.indexOf('import ')).trimEnd())
  const dir = mkdtempSync(join(tmpdir(), 'pawl-readme-'))
  try {
    expect(run('examples/chat.ts', dir)).toBe('Order A1 costs 42.00 €.\n')
    expect(run('examples/chat.ts', dir)).toBe('Order A1 costs 42.00 €.\n')
  } finally {
    rmSync(dir, { recursive: true })
  }
})

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

const everywhere =
  'DUR-1 DUR-3: the README’s example, killed at every commit and every effect and started again, ends with each effect once'
test(everywhere, { timeout: 150_000 }, async () => {
  const check = async (at: number): Promise<boolean> => {
    const { killed, shown, effects } = await afterKillAt(at)
    expect(shown, `killed at point ${at}`).toMatch(/^success/)
    expect(effects, `killed at point ${at}`).toEqual(['refund', 'mail'])
    return killed
  }
  expect(await check(0)).toBe(false)
  let points = 0
  for (let more = true; more;) {
    const killed = await Promise.all([1, 2, 3, 4].map((next) => check(points + next)))
    points += killed.filter(Boolean).length
    more = killed.every(Boolean)
  }
  expect(points).toBeGreaterThanOrEqual(12) // before and after 2 effects and 4 commits
})
