// Store cases for the event feed: global positions that only grow, and a gapless sequence per session.

import type { Scope } from '../../core/scope.ts'
import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { EventRecord, NewEvent } from '../../store/records/event.ts'
import type { Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const all = { after: 0, limit: 10_000 }
const scope = (event: Scope): string => `${event.tenant}/${event.session}`

/** Checks the ordering guarantees of the feed. */
function assertOrdered(events: readonly EventRecord[]): void {
  const sequences = new Map<string, number>()
  let last = 0
  for (const event of events) {
    assert.ok(Number.isSafeInteger(event.position) && event.position > last, `position ${event.position} after ${last}`)
    last = event.position
    const next = (sequences.get(scope(event)) ?? 0) + 1
    assert.equal(event.seq, next, `seq in ${scope(event)}`)
    sequences.set(scope(event), next)
  }
}

/** Reads the next page after the last seen event, as a feed does. */
async function readOn(store: Store, seen: EventRecord[], limit: number): Promise<number> {
  const page = await store.events({ after: seen.at(-1)?.position ?? 0, limit })
  seen.push(...page)
  return page.length
}

export const feedCases: readonly StoreCase[] = [
  {
    topic: 'feed',
    name: 'lastPosition is the position of the newest event',
    promise: ['FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      assert.equal(await store.lastPosition(), 0)
      for (const count of [1, 3]) {
        await store.commit(r.change({ events: Array.from({ length: count }, (_, at) => r.eventRecord(at)) }))
        assert.equal(await store.lastPosition(), (await store.events(all)).at(-1)?.position)
      }
      // A rejected change does not advance the position.
      const last = await store.lastPosition()
      await store.commit(r.change({ guards: [r.open('nothing')], events: [r.eventRecord(9)] }))
      assert.equal(await store.lastPosition(), last)
    },
  },
  {
    topic: 'feed',
    name: 'a long feed pages each session in order, even after a session was erased',
    promise: ['FEED-1', 'DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      const sessions = ['s0', 's1', 's2']
      const { tenant } = r.callPosition()
      for (const session of sessions) {
        const call = r.callRecord(`call-${session}`, { position: r.callPosition({ session }) })
        const insertCall = { ...call, ...r.settledProgress(call), owner: null }
        r.assertAccepted(await store.commit(r.change({ guards: [r.absent(call.position)], insertCall })))
      }
      // More events than any store buffers before it sorts them.
      const write = async (from: number, to: number): Promise<void> => {
        for (let at = from; at < to; at += 37) {
          const events = Array.from({ length: Math.min(37, to - at) }, (_, index) => {
            const session = `s${(at + index) % 3}`
            return r.eventRecord(at + index, { session, call: `call-${session}` })
          })
          await store.commit(r.change({ events }))
        }
      }
      const ofSession = async (session: string, limit: number): Promise<number[]> => {
        const seen: EventRecord[] = []
        for (;;) {
          const page = await store.events({ after: seen.at(-1)?.position ?? 0, limit, of: { tenant, session } })
          seen.push(...page)
          if (page.length < limit) break
        }
        assertOrdered(seen)
        return seen.map(({ at }) => at)
      }
      const numbers = (from: number, to: number, rest: number): number[] =>
        Array.from({ length: to - from }, (_, index) => from + index).filter((at) => at % 3 === rest)
      await write(0, 2_500)
      for (const [rest, session] of sessions.entries())
        assert.deepEqual(await ofSession(session, 100), numbers(0, 2_500, rest))
      const erased = await store.erase({ of: { tenant, session: 's1' }, after: '', limit: 10 })
      assert.equal(erased.events, numbers(0, 2_500, 1).length)
      assert.deepEqual(await ofSession('s1', 100), [])
      await write(2_500, 4_000)
      assert.deepEqual(await ofSession('s1', 1_000), numbers(2_500, 4_000, 1))
      assert.deepEqual(await ofSession('s2', 7), numbers(0, 4_000, 2))
    },
  },
  {
    topic: 'feed',
    name: 'a partly erased session continues its sequence',
    promise: ['FEED-1', 'DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      const position = r.callPosition()
      for (const id of ['a', 'b']) {
        const call = r.callRecord(id, { position: { ...position, id } })
        const insertCall = { ...call, ...r.settledProgress(call), owner: null }
        const events = [r.eventRecord(1, { ...position, call: id }), r.eventRecord(2, { ...position, call: id })]
        r.assertAccepted(await store.commit(r.change({ guards: [r.absent(call.position)], insertCall, events })))
      }
      const { tenant, session } = position
      assert.equal((await store.erase({ of: { tenant, session }, after: '', limit: 1 })).events, 2)
      await store.commit(r.change({ events: [r.eventRecord(3, { ...position, call: 'b' })] }))
      const seqs = (await store.events({ ...all, of: { tenant, session } })).map(({ seq }) => seq)
      assert.deepEqual(seqs, [3, 4, 5])
    },
  },
  {
    topic: 'feed',
    name: 'positions grow and each session has a gapless sequence under concurrency',
    promise: ['FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const about = { session: `s${index % 10}` }
          return store.commit(
            r.change({ events: [r.eventRecord(index * 2, about), r.eventRecord(index * 2 + 1, about)] }),
          )
        }),
      )
      const events = await store.events(all)
      assertOrdered(events)
      assert.deepEqual(
        events.map((event) => event.at),
        Array.from({ length: 400 }, (_, at) => at),
      )
    },
  },
  {
    topic: 'feed',
    name: 'a rejected change leaves no event and no gap in the sequence',
    promise: ['FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          store.commit(
            r.change({ guards: index % 3 === 0 ? [r.open('nothing')] : [], events: [r.eventRecord(index)] }),
          ),
        ),
      )
      const events = await store.events(all)
      assertOrdered(events)
      assert.equal(events.length, 20)
    },
  },
  {
    topic: 'feed',
    name: 'sessions with the same name in two tenants are separate',
    promise: ['FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const about = [
        { tenant: 'a', session: 'bc' },
        { tenant: 'ab', session: 'c' },
        { tenant: 'b', session: 'bc' },
      ]
      for (const at of [1, 2, 3])
        r.assertAccepted(await store.commit(r.change({ events: about.map((each) => r.eventRecord(at, each)) })))
      assertOrdered(await store.events(all))
      for (const place of about) {
        const own = await store.events({ ...all, of: place })
        assert.deepEqual(
          own.map((event) => [event.tenant, event.session, event.seq, event.at]),
          [1, 2, 3].map((n) => [place.tenant, place.session, n, n]),
        )
      }
    },
  },
  {
    topic: 'feed',
    name: 'reading pages from any position has no gap and no repeat',
    promise: ['FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      for (let at = 0; at < 50; at++)
        await store.commit(r.change({ events: [r.eventRecord(at, { session: `s${at % 3}` })] }))
      const events = await store.events(all)
      assert.equal(events.length, 50)
      for (const place of [undefined, { tenant: 't', session: 's1' }, { tenant: 't', session: 'none' }]) {
        const wanted = events.filter((event) => !place || event.session === place.session)
        const scoped = place ? { of: place } : {}
        const paged: EventRecord[] = []
        for (;;) {
          const page = await store.events({ after: paged.at(-1)?.position ?? 0, limit: 7, ...scoped })
          assert.ok(page.length <= 7)
          if (page.length === 0) break
          paged.push(...page)
        }
        assert.deepEqual(paged, wanted)
        // Also start at positions that belong to other sessions.
        for (const { position } of events) {
          const after = await store.events({ after: position, limit: 100, ...scoped })
          assert.deepEqual(
            after,
            wanted.filter((event) => event.position > position),
          )
        }
      }
    },
  },
  {
    topic: 'feed',
    name: 'an event is returned as written, with its position and sequence',
    promise: ['FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const about = { tenant: 't', session: 's', call: 'c' }
      const written: NewEvent[] = [
        { ...about, type: 'call.received', at: 1, body: { tool: 'to "quote" \u{1F600}' } },
        { ...about, type: 'call.parked', at: 2, body: { wait: 'w', deadline: 9_000_000_000_000 } },
        { ...about, type: 'step.done', at: 3, body: { step: 'nul \u0000 inside' } },
        { ...about, type: 'call.settled', at: 1_790_000_000_000, body: { status: 'success', attempts: 2 } },
      ]
      r.assertAccepted(await store.commit(r.change({ events: written })))
      const events = await store.events(all)
      assertOrdered(events)
      const placed = written.map((event, index) => ({ ...event, seq: index + 1, position: events[index]?.position }))
      assert.deepEqual(events, placed)
    },
  },
  {
    topic: 'feed',
    name: 'no event appears below a position already read, with two writing handles',
    promise: ['FEED-1'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const writers = [store, await again()]
      const reader = await again()
      let writing = true
      const seen: EventRecord[] = []
      const reading = (async () => {
        // Read once more after the last write, so that everything is seen.
        for (let last = false; !last;) {
          last = !writing
          while ((await readOn(reader, seen, 16)) > 0);
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      await Promise.all(
        writers.map(async (writer, side) => {
          for (let round = 0; round < 15; round++) {
            await Promise.all(
              Array.from({ length: 1 + (round % 4) }, (_, index) =>
                writer.commit(
                  r.change({
                    events: [
                      r.eventRecord(round, { session: `s${index}`, call: `${side}` }),
                      r.eventRecord(round, { session: 'shared' }),
                    ],
                  }),
                ),
              ),
            )
          }
        }),
      )
      writing = false
      await reading
      assertOrdered(seen)
      assert.deepEqual(seen, await store.events(all))
    },
  },
]
