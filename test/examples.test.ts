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
    timeout: 60_000,
    env: { ...process.env, NO_COLOR: '1' },
  })

/** Two tests look at it; it takes seconds, so it runs once, unless a busy machine has blurred its bars. */
let shownOnce: string | undefined
const demo = (): string => (shownOnce ??= run('examples/survive/demo.ts', root))

test('npm start shows the point: one worker is killed, each effect happens once', { timeout: 90_000 }, () => {
  const shown = demo()
  expect(shown).toContain('kill -9')
  expect(shown).toContain("step 'find charge' comes from the record")
  expect(shown).toMatch(/money moved +1×/)
  expect(shown).toMatch(/mails sent +1×/)
})

const second = 'npm start, second act: reads together, a write between, a retry, a timeout, a bad argument; within 80 columns'
test(second, { timeout: 90_000, retry: 2 }, () => {
  const shown = demo()
  shownOnce = undefined
  const act = shown.slice(shown.indexOf('One message of a model'))
  const row = (call: string): string => act.split('\n').find((line) => line.startsWith(`  ${call} `)) ?? ''
  const bar = (call: string): { from: number; to: number } => ({ from: row(call).indexOf('█'), to: row(call).lastIndexOf('█') })
  expect(bar('count B2').from).toBeLessThan(bar('count A1').to)
  expect(bar('reserve A1').from).toBeGreaterThanOrEqual(bar('count A1').to)
  expect(bar('count again').from).toBeGreaterThanOrEqual(bar('reserve A1').to)
  expect(row('count again')).toMatch(/success: 3$/)
  expect(row('rate')).toMatch(/✗.*✗.*█ +success, attempt 3: 1.09$/)
  expect(row('search')).toMatch(/✗·+ +attempt_timeout, may still run$/)
  expect(row('reserve B2')).toMatch(/reserve B2 +invalid_arguments, not started$/)
  expect(act).toContain('- count: Invalid input: expected number, received string')
  expect(shown.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('the README shows examples/refund.ts, and it does what it says', { timeout: 150_000 }, () => {
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
