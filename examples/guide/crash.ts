// The crash test of docs/guide/testing.md. It starts 17 processes: test/project/guide.test.ts gives it the time.

import assert from 'node:assert/strict'
import { crashTest } from 'pawl/testing'
import { bank, refund } from './refund.ts'

// #region crash
const report = await crashTest(
  refund,
  { order: 'A1', cents: 4200 },
  {
    module: import.meta.resolve('./refund.ts'), // a process of its own loads it from there
    effects: () => bank.transfers(), // what has happened outside
    reset: () => bank.forget(),
  },
)
assert.equal(report.points.length, 8) // before and after each of 4 writes
assert.deepEqual(report.clean.outcome, { status: 'success', value: 'refunded A1' })
assert(report.points.every(({ verdict }) => verdict === 'same'))
// #endregion
bank.forget()
