// The examples run as a user would run them, and the README shows the same code.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { endsOnceAfterKillAt } from './kill-readme-example.ts'

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

test(
  'DUR-1 DUR-3: the README’s example, killed at three points and run again, has each effect once',
  { timeout: 150_000 },
  async () => {
    expect(await Promise.all([3, 6, 9].map(endsOnceAfterKillAt))).toEqual([true, true, true])
  },
)
