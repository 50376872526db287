// The rules of worker deaths: which count against a call, and when a suspect may run.

import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { findCulprit } from '../../../src/engine/local/leases/find-culprit.ts'
import { Trials } from '../../../src/engine/local/leases/trials.ts'
import { judgeDeaths } from '../../../src/engine/local/leases/worker-deaths.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { turnBatch } from '../../../src/store/journal-keys.ts'
import type { CallRecord, StepRecord } from '../../../src/store/records/call-record.ts'

const record = (more: Partial<CallRecord> & { at?: Partial<CallRecord['position']> } = {}): CallRecord => {
  const { at, ...fields } = more
  const position = { tenant: 't', session: 's', batch: 'b', id: 'c', occurrence: 0, ...at }
  return { uid: 'u', position, options: null, deaths: 1, fence: 2, startedAt: 0, createdAt: 0, ...fields } as CallRecord
}
const mark = (value: object): StepRecord =>
  ({ at: 0, value: JSON.stringify({ ranMs: 1_000, fence: 2, uptimeMs: null, ...value }) }) as StepRecord
const second = { deaths: 2, fence: 3 }

test('DUR-8: a death counts against a call only if it was alone', () => {
  expect(judgeDeaths(record({ deaths: 0 }), undefined, 'alone', 9)).toEqual({ all: 0, counted: 0, ranMs: 0 })
  expect(judgeDeaths(record(), undefined, 'alone', 9)).toEqual({ all: 1, counted: 1, ranMs: 9 })
  expect(judgeDeaths(record(), undefined, 'company', 9)).toEqual({ all: 1, counted: 0, ranMs: 9 })
  expect(judgeDeaths(record(second), mark({ all: 1, counted: 1 }), 'alone', 9)).toMatchObject({ all: 2, counted: 2 })
  expect(judgeDeaths(record(second), mark({ all: 1, counted: 1 }), 'company', 9)).toMatchObject({ all: 2, counted: 1 })
})

test('DUR-8: a death does not count against a call that only waited in the dead worker', () => {
  const waited = { all: 1, counted: 1, ranMs: 1_000 }
  expect(judgeDeaths(record(second), mark({ ...waited, fence: null }), 'alone', 9)).toEqual(waited)
  // Of two dead workers, only the first had started it.
  expect(judgeDeaths(record({ deaths: 3, fence: 4 }), mark(waited), 'alone', 9)).toMatchObject({ all: 2, counted: 2 })
  // Its worker handed it back: the store counted no death.
  expect(judgeDeaths(record({ deaths: 1, fence: 3 }), mark(waited), 'alone', 9)).toEqual(waited)
})

test('DUR-8: a death on trial counts if the worker had lived longer without the call than with it', () => {
  const after = (ranMs: number, uptimeMs: number, blame: 'company' | 'ancestor' = 'company'): number =>
    judgeDeaths(record(second), mark({ all: 1, counted: 0, uptimeMs }), blame, ranMs).counted
  expect(after(500, 1_000)).toBe(1)
  expect(after(500, 999)).toBe(0)
  expect(after(5_000, 9_999)).toBe(0)
  expect(after(5_000, 10_000)).toBe(1)
  expect(after(3_600_000, 120_000)).toBe(1) // after two minutes any death counts
  expect(after(500, 10_000, 'ancestor')).toBe(0)
})

test('DUR-8: the innermost call is suspected, not its parents or its turn', async () => {
  const store = memoryStore({ clock: manualClock() })
  const turn = record({ uid: 'turn', at: { batch: turnBatch, id: 'x' } })
  const call = record({ uid: 'call', options: JSON.stringify({ turn: 'x' }) })
  const nested = record({ uid: 'nested', options: JSON.stringify({ root: 'call' }) })
  const waiting = record({ uid: 'waiting', deaths: 0 })
  const blames = async (records: CallRecord[], isWhole = true): Promise<string[]> =>
    records.map(await findCulprit(store, records, isWhole))
  expect(await blames([turn])).toEqual(['alone'])
  expect(await blames([turn, call])).toEqual(['ancestor', 'alone'])
  expect(await blames([turn, call, nested, waiting])).toEqual(['ancestor', 'ancestor', 'alone', 'company'])
  expect(await blames([call, record({ uid: 'other' })])).toEqual(['company', 'company'])
  expect(await blames([call], false)).toEqual(['company'])
})

test('DUR-8: suspects run one at a time, those with the fewest deaths first', async () => {
  const clock = manualClock()
  const trials = new Trials(clock)
  const log: string[] = []
  const enter = (uid: string, deaths: number, more: { uptimeMs?: number; family?: string } = {}): void => {
    const onProbationEnd = (): void => void log.push(`${uid} proven`)
    const suspect = { uid, family: uid, deaths, uptimeMs: 1_000, onProbationEnd, ...more }
    void trials.enter(suspect).then(() => log.push(uid))
  }
  enter('b', 4)
  enter('a', 2)
  enter('c', 2, { uptimeMs: 60_000 })
  enter('d', 2)
  await clock.advance(999)
  expect(log).toEqual([]) // the worker is too young
  await clock.advance(1)
  expect(log).toEqual(['a'])
  enter('a.1', 2, { family: 'a' })
  await clock.advance(1)
  expect(log.splice(0)).toEqual(['a', 'a.1']) // a nested call runs in the trial of its parent
  trials.leave('a.1')
  trials.leave('a')
  await clock.advance(1)
  expect(log).toEqual(['d'])
  await clock.advance('5s')
  expect(log.splice(0)).toEqual(['d', 'd proven', 'b']) // a long one does not hold up the others
  await clock.advance('54s')
  expect(log).toEqual([]) // its probation is longer, because more workers died
  trials.leave('b')
  await clock.advance(1)
  expect(log).toEqual(['c'])
  trials.leave('c')
})
