// Random sessions, with everything that happens to sessions. A broken law names its seed: PAWL_SEED=<n> runs that one and prints its history; `npm run test:long`
// runs ten times as many. The last tests plant defects and expect to see each.

import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freshMemory, freshSqlite } from '../adversary/kit.ts'
import type { Change } from '../../src/store/store.ts'
import { long } from '../long.ts'
import { type Ground, lived, type Plant } from './random.ts'

const only = process.env.PAWL_SEED === undefined ? null : Number(process.env.PAWL_SEED)
const times = long ? 10 : 1
const minute = 60_000

const sqlite = (): Ground => {
  const { clock, store, file } = freshSqlite()
  return {
    clock,
    store,
    async close() {
      await store.close()
      rmSync(dirname(file), { recursive: true, force: true })
    },
  }
}

async function wrongIn(
  from: number,
  worlds: number,
  fresh: () => Ground,
): Promise<{ wrong: string[]; sessions: number; asks: number; deaths: number }> {
  const total = { wrong: [] as string[], sessions: 0, asks: 0, deaths: 0 }
  for (let seed = from; seed < from + worlds; seed++) {
    const { wrong, sessions, asks, deaths } = await lived(seed, fresh())
    total.wrong.push(...wrong.map((each) => `seed ${seed}: ${each}`))
    total.sessions += sessions
    total.asks += asks
    total.deaths += deaths
  }
  return total
}

/** A store that writes something else than it was given. */
const writing =
  (changed: (change: Change) => Change): Plant =>
  (store) => ({
    ...store,
    commit: (change) => store.commit(changed(change)),
    write: (change, heard, how) => store.write(changed(change), heard, how),
  })
const without = (change: Change, leftOut: (row: NonNullable<Change['keep']>[number]) => boolean): Change =>
  change.keep ? { ...change, keep: change.keep.filter((row) => !leftOut(row)) } : change

const plants: Readonly<Record<string, Plant>> = {
  'what was read stays unread': writing((change) => without(change, ({ of, value }) => of === 'message-sent' && value === null)),
  'what was told is told again': writing((change) => without(change, ({ of, value }) => of === 'result-owed' && value === null)),
  'what is owed is forgotten': writing((change) => without(change, ({ of, value }) => of === 'result-owed' && value !== null)),
  'results are lost': writing((change) =>
    without(change, ({ of, value }) => of === 'message' && value?.includes('"role":"tool"') === true),
  ),
}

if (only === null)
  describe('random sessions', () => {
    test('SESS-1 SESS-2 SESS-3 SESS-4 SESS-10 POL-7: 2,000 on memory', { timeout: 3 * minute * times }, async () => {
      const { wrong, sessions, asks, deaths } = await wrongIn(1, 500 * times, freshMemory)
      expect(wrong).toEqual([])
      expect(sessions).toBe(2_000 * times)
      expect(asks).toBeGreaterThan(4_000 * times)
      expect(deaths).toBeGreaterThan(200 * times)
    })
    test('SESS-1 SESS-3 SESS-4: 80 on sqlite', { timeout: minute * times }, async () => {
      const { wrong } = await wrongIn(1, 20 * times, sqlite)
      expect(wrong).toEqual([])
    })
    test.for(Object.keys(plants))('it sees a planted defect: %s', { timeout: minute }, async (plant) => {
      let seen: readonly string[] = []
      for (let seed = 1; seed <= 300 && seen.length === 0; seed++) seen = (await lived(seed, freshMemory(), plants[plant])).wrong
      expect(seen).not.toEqual([])
    })
    test('the same seed gives the same history', async () => {
      for (const seed of [1, 2, 3]) expect((await lived(seed, freshMemory())).trace).toEqual((await lived(seed, freshMemory())).trace)
    })
  })
else
  test('one history', { timeout: minute }, async () => {
    const { trace, wrong } = await lived(only, freshMemory())
    console.log(trace.join('\n'))
    expect(wrong).toEqual([])
  })
