// Every attack on approvals through the library on the local stores, and one of each promise on PostgreSQL. The slow tier
// has the others.

import { describe, expect, test } from 'vitest'
import { attacks } from './all-attacks.ts'
import { attackThroughLibrary, onePerPromise } from './attack-through-library.ts'

test('POL-2: there are at least 25 attacks with distinct names', () => {
  expect(attacks.length).toBeGreaterThan(25)
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
})

describe.each(['memory', 'sqlite'] as const)('approval attacks through the library on %s', (kind) =>
  attackThroughLibrary(kind),
)

describe('approval attacks through the library on postgres', () => attackThroughLibrary('postgres', onePerPromise))
