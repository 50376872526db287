// Preloaded into a program (node --import): kills it with SIGKILL at its n-th point (KILL_AT). Points are before and
// after every SQLite commit and every line appended to a file, that is, around every record and every effect.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { StatementSync } from 'node:sqlite'

const at = Number(process.env.KILL_AT)
let passed = 0
function point(): void {
  if (++passed === at) process.kill(process.pid, 'SIGKILL')
}

function between<Args extends unknown[], T>(make: (...args: Args) => T, args: Args): T {
  point()
  const made = make(...args)
  point()
  return made
}

const { appendFileSync } = fs
fs.appendFileSync = (...args) => between(appendFileSync, args)
syncBuiltinESMExports()

const run = Object.getOwnPropertyDescriptor(StatementSync.prototype, 'run')?.value as (
  ...args: unknown[]
) => ReturnType<StatementSync['run']>
StatementSync.prototype.run = function (this: StatementSync, ...args: unknown[]) {
  return this.sourceSQL === 'COMMIT' ? between(() => run.apply(this, args), []) : run.apply(this, args)
}
