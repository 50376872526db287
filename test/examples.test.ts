// The examples run as a person would run them, and the README shows the file that runs.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const run = (file: string, cwd: string): string =>
  execFileSync(process.execPath, ['--conditions=@pawl/source', join(root, file)], {
    cwd,
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, NO_COLOR: '1' },
  })

test('npm start shows the point: one worker is killed, each effect happens once', () => {
  const shown = run('examples/survive/demo.ts', root)
  expect(shown).toContain('kill -9')
  expect(shown).toContain("step 'find charge' comes from the record")
  expect(shown).toMatch(/money moved +1×/)
  expect(shown).toMatch(/mails sent +1×/)
})

test('the README shows examples/refund.ts, and it does what it says', () => {
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
