// SESS-1: a turn whose worker dies before and after everything that it writes, each in turn.

import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freshMemory, freshSqlite } from '../../kit/stores/fresh-store.ts'
import { type Ground, matrix } from '../../kit/crash-matrix.ts'
import { oddTurn, searchTurn, tightTurn, wholeTurn } from './turn-scenarios.ts'

const grounds: Record<string, () => Ground> = {
  memory: () => ({ ...freshMemory(), gone: async () => {} }),
  sqlite: () => {
    const { clock, store, file } = freshSqlite()
    return {
      clock,
      store,
      async gone() {
        await store.close()
        rmSync(dirname(file), { recursive: true, force: true })
      },
    }
  },
}

describe.each(Object.keys(grounds))('%s', (name) => {
  test(
    'SESS-1 SESS-3: a turn with five tools, an approval and a background task, killed at every recorded write',
    { timeout: 120_000 },
    async () => {
      const { found, deaths } = await matrix(wholeTurn, grounds[name] as () => Ground)
      expect(found).toEqual([])
      expect(deaths).toBeGreaterThan(40)
    },
  )

  test('SESS-8: a turn that looks for tools, killed at every recorded write: the next worker looks through the same, and nothing found is lost', async () => {
    const { found, deaths } = await matrix(searchTurn, grounds[name] as () => Ground)
    expect(found).toEqual([])
    expect(deaths).toBeGreaterThan(15)
  })
  test(
    'SESS-1 CALL-5: a turn whose model asks for tools that there are not, killed at every recorded write',
    { timeout: 60_000 },
    async () => {
      const { found, deaths } = await matrix(oddTurn, grounds[name] as () => Ground)
      expect(found).toEqual([])
      expect(deaths).toBeGreaterThan(8)
    },
  )
  test(
    'SESS-10: a turn whose model cannot read it all, killed at every recorded write: nothing is paid twice',
    { timeout: 60_000 },
    async () => {
      const { found, deaths } = await matrix(tightTurn, grounds[name] as () => Ground)
      expect(found).toEqual([])
      expect(deaths).toBeGreaterThan(15)
    },
  )
})
