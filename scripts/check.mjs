// Every check a change must pass before it lands, the fastest first. Stops at the first failure and names it.
// `--slow` adds the slow tier, and judges the promises by the titles of the tests of both tiers that passed.
import { spawnSync } from 'node:child_process'
import './node-guard.mjs'

const reporters = ['default', './scripts/count-reporter.mjs', './scripts/promise-reporter.mjs']
const reporting = ['--', ...reporters.map((name) => `--reporter=${name}`)]
const slow = process.argv.includes('--slow')

const steps = [
  ['format', 'oxfmt', ['--check', 'src', 'console', 'test', 'examples', 'bench', 'scripts']],
  ['lint', 'oxlint', ['--type-aware', '--deny-warnings', 'src', 'console', 'test', 'examples', 'bench']],
  ['types', 'tsc', ['--noEmit']],
  ['types of the console', 'tsc', ['--noEmit', '-p', 'console']],
  ['dead code', 'knip', []],
  ['build', 'npm', ['run', '--silent', 'build']],
  ['package', 'publint', ['--strict']],
  ['package types', 'attw', ['--pack', '.', '--profile', 'esm-only']],
  ['tests', 'npm', ['test', ...reporting], slow ? { PAWL_JUDGE_PROMISES: 'collect' } : {}],
  ...(slow ? [['slow tests', 'npm', ['run', 'test:slow', ...reporting], { PAWL_JUDGE_PROMISES: 'merge' }]] : []),
]

const started = performance.now()
for (const [name, command, args, env] of steps) {
  const at = performance.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  const seconds = ((performance.now() - at) / 1000).toFixed(1)
  if (status !== 0) {
    console.error(
      `\ncheck: '${name}' failed after ${seconds} s. To run it alone: ${command === 'npm' ? '' : 'npx '}${command} ${args.join(' ')}`,
    )
    process.exit(1)
  }
  console.log(`check: ${name} ok (${seconds} s)`)
}
console.log(`check: all ok in ${((performance.now() - started) / 1000).toFixed(0)} s`)
