// The SQLite feed with filed (indexed) events against the memory store: random writes and erasures through two
// handles of one file, across the filing boundary.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { ErasedPage, Store } from '../../../src/store/store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import {
  callRecord,
  change,
  eventRecord,
  longAgo,
  callPosition,
} from '../../../src/testing/store-cases/record-builders.ts'
import { freshDir } from '../../kit/stores/fresh-store.ts'

const random = (seed: number) => () => {
  seed = (seed * 1664525 + 1013904223) >>> 0
  return seed / 2 ** 32
}
const scopes = [
  ['t', 's'],
  ['t', 's1'],
  ['ts', ''],
  ['t', 's:'],
  ['tt', 's'],
  ['', 'ts'],
].map(([tenant, session]) => ({ tenant: tenant as string, session: session as string }))

for (const seed of [1, 2, 3, 4, 5, 6])
  test(`FEED-1, DUR-10: the SQLite feed equals the memory store (seed ${seed})`, { timeout: 30_000 }, async () => {
    const r = random(seed)
    const clock = manualClock()
    const file = join(freshDir(), 'a.db')
    let handles = [0, 1].map(() =>
      sqliteStore({ file, clock, commit: 'process', writer: r() < 0.5 ? 'inline' : 'thread' }),
    )
    const model = memoryStore({ clock })
    const pick = <T>(list: readonly T[]): T => list[Math.floor(r() * list.length)] as T
    let n = 0
    const settledCalls: string[] = []
    const each = async <T>(work: (store: Store) => Promise<T>): Promise<void> => {
      const wanted = await work(model)
      expect(await work(pick(handles))).toEqual(wanted)
    }
    for (let step = 0; step < 60; step++) {
      const what = r()
      if (what < 0.55) {
        const count = 1 + Math.floor(r() * 5)
        const changes = Array.from({ length: count }, () => {
          const of = pick(scopes)
          const uid = `c${String(n++).padStart(5, '0')}`
          const open = r() < 0.03
          const many = r() < 0.3 ? Math.floor(r() * 900) : Math.floor(r() * 30)
          const call = callRecord(uid, {
            position: callPosition({ ...of, id: uid }),
            ...(open ? {} : { state: 'settled', outcome: '{}', settledAt: longAgo + n }),
          })
          return change({
            insertCall: call,
            events: Array.from({ length: many }, (_, at) => eventRecord(at, { ...of, call: uid })),
          })
        })
        // Committed as one group by SQLite, one by one by the memory store.
        const handle = pick(handles)
        await Promise.all(changes.map((one) => handle.commit(one)))
        for (const one of changes) await model.commit(one)
        settledCalls.push(...changes.map((one) => one.insertCall?.uid as string))
      } else if (what < 0.75) {
        const query = {
          limit: 1000,
          ...(r() < 0.7 ? { of: r() < 0.5 ? pick(scopes) : { tenant: pick(scopes).tenant } } : {}),
          ...(r() < 0.5 ? { settledBefore: longAgo + Math.floor(r() * n) } : {}),
        }
        const strip = async (store: Store) => {
          const sum = { calls: 0, events: 0, attachments: 0 }
          for (let from: string | null = ''; from !== null;) {
            const { calls, events, attachments, next }: ErasedPage = await store.erase({ ...query, after: from })
            sum.calls += calls
            sum.events += events
            sum.attachments += attachments
            from = next
          }
          return sum
        }
        await each(strip)
      } else if (what < 0.8) {
        for (const handle of handles) await handle.scrub()
      } else if (what < 0.85) {
        for (const handle of handles) await handle.close()
        handles = [0, 1].map(() =>
          sqliteStore({ file, clock, commit: 'process', writer: r() < 0.5 ? 'inline' : 'thread' }),
        )
      }
      const after = r() < 0.5 ? 0 : Math.floor(r() * 3000)
      const limit = pick([7, 256, 10_000])
      const show = async (store: Store, of?: { tenant: string; session: string }) =>
        (await store.events({ after, limit, ...(of ? { of } : {}) })).map(
          (e) => `${e.position} ${e.tenant}/${e.session} ${e.seq} ${e.call} ${e.at}`,
        )
      await each((store) => show(store))
      for (const of of scopes) {
        await each((store) => show(store, of))
        await each(async (store) => ({ ...(await store.erased(of)) }))
      }
      await each(async (store) => ({ ...(await store.erased()) }))
    }
    for (const handle of handles) await handle.close()
  })
