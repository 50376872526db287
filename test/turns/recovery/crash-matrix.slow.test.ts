// Crash matrix: the worker of a turn dies before and after each of its writes.

import { describe, expect, test } from 'vitest'
import { localGrounds, matrix } from '../../kit/crash-matrix.ts'
import { handedOverTurn, oddTurn, searchTurn, tightTurn, wholeTurn } from './turn-scenarios.ts'

describe.each(localGrounds)('crash matrix on %s', (_kind, ground) => {
  test.each([
    ['SESS-1 SESS-3: a whole turn survives a crash at every recorded write', wholeTurn, 40],
    ['SESS-8: a turn with tool search survives a crash at every write and keeps its finds', searchTurn, 15],
    ['SESS-13: a turn that hands over survives a crash at every write, and so does the next', handedOverTurn, 15],
    ['SESS-1 CALL-5: a turn that calls missing tools survives a crash at every recorded write', oddTurn, 8],
    ['SESS-10: a turn with context overflows survives a crash at every write and is paid once', tightTurn, 15],
  ] as const)('%s', { timeout: 120_000 }, async (_title, scenario, leastDeaths) => {
    const { found, deaths } = await matrix(scenario, ground)
    expect(found).toEqual([])
    expect(deaths).toBeGreaterThan(leastDeaths)
  })
})
