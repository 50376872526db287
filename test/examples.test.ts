// The examples run as a person would run them, and the README shows the file that runs.

import { execFile, execFileSync } from 'node:child_process'
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

/** The support desk, with somebody at the keyboard, or nobody. */
function desk(said: string, env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = ['--conditions=@pawl/source', join(root, 'examples/desk/desk.ts'), ...(said === '' ? ['--yes'] : [])]
    const child = execFile(
      process.execPath,
      args,
      { cwd: root, timeout: 60_000, env: { ...process.env, OPENAI_API_KEY: '', NO_COLOR: '1', ...env } },
      (error, out) => (error ? reject(new Error(`${error.message}\n${out}`)) : resolve(out)),
    )
    child.stdin?.end(said)
  })
}

test('SESS-1: npm start -- --yes: killed in the middle, it goes on, and each effect happens once', { timeout: 90_000 }, async () => {
  const shown = await desk('')
  expect(shown).toContain('The warehouse is busy: it is asked again')
  expect(shown).toContain('Refund 42.00 € for order A1. Approve? [y/N] y')
  expect(shown).toMatch(/kill -9 \d+: the money has moved[^]*another process opens the same file/)
  expect(shown.indexOf('✓ Refunded order A1')).toBeGreaterThan(shown.indexOf('kill -9'))
  expect(shown).toContain('████████ 8 of 8')
  expect(shown).toContain('Done: 42.00 € are on their way, and your orders are in /exports/ada.csv.')
  expect(shown.match(/\d+×/g)).toEqual(['1×', '1×', '2×', '8×'])
  // The second process asks nobody again, and shows nothing twice.
  expect(shown.match(/Approve\?/g)).toHaveLength(1)
  expect(shown.match(/✓ Looked up order A1/g)).toHaveLength(1)
  expect(shown.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test.for([
  ['y\n', 'Done: 42.00 €', ['1×', '1×', '2×', '8×']],
  ['n\n', 'The refund was not approved.', ['0×', '0×', '2×', '8×']],
] as const)('SESS-1: npm start, and somebody at the keyboard says %j', { timeout: 90_000 }, async ([said, ends, times]) => {
  const shown = await desk(said)
  expect(shown).toContain(ends)
  expect(shown.match(/\d+×/g)).toEqual(times)
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

/** Runs the README's example until it is killed at a point (0: at none), or to its end. What Node compiles is kept: it is started often. */
const runKilledAt = (at: number, { dir, compiled }: { dir: string; compiled: string }): Promise<{ killed: boolean; shown: string }> =>
  new Promise((resolve, reject) => {
    const args = ['--conditions=@pawl/source', '--import', join(root, 'test/child-kill-at.ts'), join(root, 'examples/refund.ts')]
    const env = { ...process.env, NO_COLOR: '1', NODE_COMPILE_CACHE: compiled, KILL_AT: String(at) }
    execFile(process.execPath, args, { cwd: dir, timeout: 60_000, env }, (error, shown, said) => {
      if (error && error.signal !== 'SIGKILL') reject(new Error(`At point ${at}: ${said}`, { cause: error }))
      else resolve({ killed: error !== null, shown })
    })
  })

async function afterKillAt(at: number, compiled: string): Promise<{ killed: boolean; shown: string; effects: string[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-readme-'))
  try {
    const first = await runKilledAt(at, { dir, compiled })
    const { shown } = first.killed ? await runKilledAt(0, { dir, compiled }) : first
    const lines = readFileSync(join(dir, 'outside.ledger'), 'utf8').trim().split('\n')
    return { killed: first.killed, shown, effects: lines.map((line) => (JSON.parse(line) as { what: string }).what) }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const everywhere =
  'DUR-1 DUR-3: the README’s example, killed at every commit and every effect and started again, ends with each effect once'
test(everywhere, { timeout: 150_000 }, async () => {
  const compiled = mkdtempSync(join(tmpdir(), 'pawl-compiled-'))
  const check = async (at: number): Promise<boolean> => {
    const { killed, shown, effects } = await afterKillAt(at, compiled)
    expect(shown, `killed at point ${at}`).toMatch(/^success/)
    expect(effects, `killed at point ${at}`).toEqual(['refund', 'mail'])
    return killed
  }
  try {
    expect(await check(0)).toBe(false)
    let points = 0
    for (let more = true; more;) {
      const killed = await Promise.all([1, 2, 3, 4].map((next) => check(points + next)))
      points += killed.filter(Boolean).length
      more = killed.every(Boolean)
    }
    expect(points).toBeGreaterThanOrEqual(12) // before and after 2 effects and 4 commits
  } finally {
    rmSync(compiled, { recursive: true })
  }
})
