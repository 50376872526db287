// Everything that must hold before a change lands, in the order that fails fastest. Stops at the first failure and says which.
import { spawnSync } from 'node:child_process'
import './node-guard.mjs'

const steps = [
  ['format', 'oxfmt', ['--check', 'src', 'test', 'examples', 'bench', 'scripts']],
  ['lint', 'oxlint', ['--type-aware', '--deny-warnings', 'src', 'test', 'examples', 'bench']],
  ['types', 'tsc', ['--noEmit']],
  ['dead code', 'knip', []],
  ['build', 'npm', ['run', '--silent', 'build']],
  ['package', 'publint', ['--strict']],
  ['package types', 'attw', ['--pack', '.', '--profile', 'esm-only']],
  [
    'tests',
    'vitest',
    [
      'run',
      '--reporter=default',
      '--reporter=./scripts/count-reporter.mjs',
      '--reporter=./scripts/promise-reporter.mjs',
    ],
    { PAWL_JUDGE_PROMISES: '1' },
  ],
]

const started = performance.now()
for (const [name, command, args, env] of steps) {
  const at = performance.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  const seconds = ((performance.now() - at) / 1000).toFixed(1)
  if (status !== 0) {
    console.error(`\ncheck: '${name}' failed after ${seconds} s. To run it alone: npx ${command} ${args.join(' ')}`)
    process.exit(1)
  }
  console.log(`check: ${name} ok (${seconds} s)`)
}
console.log(`check: all ok in ${((performance.now() - started) / 1000).toFixed(0)} s`)
