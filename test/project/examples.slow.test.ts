// The README's example is killed at every commit and every effect. examples.test.ts has a few of these kills.

import { expect, test } from 'vitest'
import { endsOnceAfterKillAt } from './kill-readme-example.ts'

const everywhere =
  'DUR-1 DUR-3: the README’s example, killed at every commit and effect and run again, ends with each effect once'
test(everywhere, { timeout: 150_000 }, async () => {
  expect(await endsOnceAfterKillAt(0)).toBe(false)
  let points = 0
  for (let more = true; more;) {
    const killed = await Promise.all([1, 2, 3, 4].map((next) => endsOnceAfterKillAt(points + next)))
    points += killed.filter(Boolean).length
    more = killed.every(Boolean)
  }
  expect(points).toBeGreaterThanOrEqual(12) // before and after 2 effects and 4 commits
})
