// Stress test of the SQLite writer: loop and thread alternate under two handles, erasures, claims and scrubs, with a
// close at any moment. Every acknowledged change is present exactly once.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import {
  callRecord,
  change,
  eventRecord,
  longAgo,
  callPosition,
} from '../../../src/testing/store-cases/record-builders.ts'
import { freshDir } from '../../kit/stores/fresh-store.ts'

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('writer stress', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'DUR-6: no acknowledged change is lost or doubled (seed %i)',
    { timeout: 30_000 },
    async (seed) => {
      let s = seed * 7919
      const r = (): number => (s = (s * 1664525 + 1013904223) >>> 0) / 2 ** 32
      const file = join(freshDir(), 'a.db')
      const acked: string[] = []
      const never: string[] = []
      let refusedOnes = 0
      for (let round = 0; round < 3; round++) {
        const handles = [0, 1].map(() =>
          sqliteStore({ file, clock: systemClock, commit: 'process', writer: r() < 0.3 ? 'thread' : 'adaptive' }),
        )
        const others: Promise<unknown>[] = []
        const open = new Set<string>()
        const until = Date.now() + 700
        let n = 0
        while (Date.now() < until) {
          const handle = handles[r() < 0.5 ? 0 : 1] as (typeof handles)[0]
          const many = r() < 0.4 ? 300 : 1 + Math.floor(r() * 20)
          for (let i = 0; i < many; i++) {
            const uid = `c${round}-${n++}`
            open.add(uid)
            const body = r() < 0.01 ? ({} as never) : 'x'.repeat(r() < 0.1 ? 3000 : 10)
            const bad = typeof body !== 'string'
            handle
              .commit(
                change({
                  insertCall: callRecord(uid, {
                    position: callPosition({ session: `s${n % 7}`, id: uid }),
                    args: body,
                    state: 'settled',
                    settledAt: longAgo,
                    outcome: '{}',
                  }),
                  events: [eventRecord(1, { session: `s${n % 7}`, call: uid })],
                }),
              )
              .then(
                (a) => {
                  open.delete(uid)
                  if (a.ok) (bad ? never : acked).push(uid)
                  else refusedOnes++
                },
                () => {
                  open.delete(uid)
                  if (bad) never.push(uid)
                },
              )
          }
          const what = r()
          const say = (p: unknown): void => void others.push(Promise.resolve(p).catch((e: Error) => e))
          try {
            if (what < 0.3) say(handle.claim('w', ['none'], 10))
            else if (what < 0.5) say(handle.renew('w', 1000))
            else if (what < 0.6) say(handle.scrub())
            else if (what < 0.7) say(handle.erase({ of: { tenant: 'nobody' }, after: '', limit: 10 }))
          } catch {}
          if (r() < 0.5) await rest(r() * 30)
          else await new Promise((resolve) => setImmediate(resolve))
        }
        await Promise.all(handles.map((handle) => handle.close()))
        await Promise.race([
          Promise.all(others),
          rest(6000).then(() => {
            throw new Error('an answer never came')
          }),
        ])
        await rest(50)
        expect([...open]).toEqual([])
      }
      const db = new DatabaseSync(file)
      const calls = new Set((db.prepare('SELECT uid FROM calls').all() as { uid: string }[]).map(({ uid }) => uid))
      const events = db.prepare('SELECT call, count(*) AS n FROM events GROUP BY call').all() as {
        call: string
        n: number
      }[]
      const gaps = db.prepare('SELECT session, count(*) AS n, max(seq) AS last FROM events GROUP BY session').all() as {
        n: number
        last: number
      }[]
      db.close()
      expect(acked.filter((uid) => !calls.has(uid))).toEqual([])
      expect(never.filter((uid) => calls.has(uid))).toEqual([])
      expect(events.filter(({ n }) => n !== 1)).toEqual([])
      expect(gaps.filter(({ n, last }) => n !== last)).toEqual([])
      expect(refusedOnes).toBe(0)
    },
  )
})

test('DUR-13: two concurrent close() calls both resolve', async () => {
  const store = sqliteStore({ file: join(freshDir(), 'a.db'), clock: systemClock, commit: 'process' })
  void store.commit(change({ events: [eventRecord(1)] }))
  await expect(Promise.all([store.close(), store.close()])).resolves.toBeDefined()
})
