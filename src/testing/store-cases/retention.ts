// Store cases for erase(): a call is erased with everything that belongs to it; open calls and shared attachments stay.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { CallRecord } from '../../store/records/call-record.ts'
import type { ErasedPage, EraseQuery, Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const all = { after: 0, limit: 10_000 }

/** A settled call with a step, an answered wait and three events. */
async function settledCall(
  store: Store,
  uid: string,
  over: Partial<CallRecord> & { session?: string; tenant?: string } = {},
): Promise<void> {
  const { session = 's', tenant = 't', ...rest } = over
  const call = r.callRecord(uid, {
    position: r.callPosition({ tenant, session, id: uid }),
    state: 'settled',
    outcome: '{"status":"success","value":null}',
    settledAt: r.longAgo,
    ...rest,
  })
  const about = { tenant, session, call: uid }
  r.assertAccepted(
    await store.commit(
      r.change({
        guards: [r.absent(call.position)],
        insertCall: call,
        steps: [r.stepRecord(uid, 'step:a')],
        insertWaits: [r.waitRecord(`w ${uid}`, uid, { resolution: '{"value":1}' })],
        events: [r.eventRecord(1, about), r.eventRecord(2, about), r.eventRecord(3, about)],
      }),
    ),
  )
}

async function openCall(store: Store, uid: string, session: string, state: CallRecord['state']): Promise<void> {
  const position = r.callPosition({ session, id: uid })
  const event = r.eventRecord(1, { session, call: uid })
  const call = r.callRecord(uid, { position, state, ...(state === 'parked' ? { wait: `w ${uid}` } : {}) })
  r.assertAccepted(await store.commit(r.change({ guards: [r.absent(position)], insertCall: call, events: [event] })))
}

/** Erases all pages and returns the totals. */
async function eraseAll(
  store: Store,
  query: Omit<EraseQuery, 'after' | 'limit'>,
  limit = 100,
): Promise<Omit<ErasedPage, 'next'>> {
  const sum = { calls: 0, events: 0, attachments: 0 }
  for (let after: string | null = ''; after !== null;) {
    const page: ErasedPage = await store.erase({ ...query, after, limit })
    assert.ok(page.calls <= limit)
    sum.calls += page.calls
    sum.events += page.events
    sum.attachments += page.attachments
    after = page.next
  }
  return sum
}

const uidsOf = async (store: Store, session: string, tenant = 't'): Promise<string[]> =>
  (await store.callsOf({ tenant, session }, { after: '', limit: 1_000 })).map(({ uid }) => uid)

export const retentionCases: readonly StoreCase[] = [
  {
    topic: 'retention',
    name: 'erasing a settled call deletes its steps, waits and events and frees its position',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      await settledCall(store, 'u1')
      assert.deepEqual(await eraseAll(store, { of: { tenant: 't', session: 's' } }), {
        calls: 1,
        events: 3,
        attachments: 0,
      })
      assert.equal(await store.call('u1'), undefined)
      assert.equal(await store.callAt(r.callPosition({ id: 'u1' })), undefined)
      assert.deepEqual(await store.steps('u1'), [])
      assert.deepEqual(await store.waitsOf('u1'), [])
      assert.equal(await store.waitByKeyHash('key of w u1'), undefined)
      assert.deepEqual(await store.events(all), [])
      assert.deepEqual(await eraseAll(store, { of: { tenant: 't', session: 's' } }), {
        calls: 0,
        events: 0,
        attachments: 0,
      })
      await settledCall(store, 'u1')
      assert.deepEqual(await uidsOf(store, 's'), ['u1'])
    },
  },
  {
    topic: 'retention',
    name: 'erase is limited to a session, a tenant or an age',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      await settledCall(store, 'a')
      await settledCall(store, 'b', { session: 's2' })
      await settledCall(store, 'c', { tenant: 't2' })
      await settledCall(store, 'd', { tenant: 't2', session: 'late', settledAt: r.longAgo + 1 })
      await eraseAll(store, { settledBefore: r.longAgo })
      assert.deepEqual(await uidsOf(store, 's'), ['a'])
      await eraseAll(store, { of: { tenant: 't', session: 's' } })
      assert.deepEqual(
        [await uidsOf(store, 's'), await uidsOf(store, 's2'), await uidsOf(store, 's', 't2')],
        [[], ['b'], ['c']],
      )
      await eraseAll(store, { of: { tenant: 't2' }, settledBefore: r.longAgo + 1 })
      assert.deepEqual([await uidsOf(store, 's', 't2'), await uidsOf(store, 'late', 't2')], [[], ['d']])
      await eraseAll(store, { settledBefore: r.longAgo + 1 })
      assert.deepEqual([await uidsOf(store, 's2'), await uidsOf(store, 'late', 't2')], [[], ['d']])
      await eraseAll(store, { of: { tenant: 't2' } })
      assert.deepEqual(await uidsOf(store, 'late', 't2'), [])
    },
  },
  {
    topic: 'retention',
    name: 'a session with an open call is not erased',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      const states = ['received', 'queued', 'running', 'parked'] as const
      for (const state of states) {
        await settledCall(store, `done ${state}`, { session: state })
        await openCall(store, `open ${state}`, state, state)
      }
      await settledCall(store, 'free', { session: 'free' })
      const before = (await store.events(all)).length
      for (const state of states) await eraseAll(store, { of: { tenant: 't', session: state } })
      assert.deepEqual(await eraseAll(store, { settledBefore: r.longAgo + 1 }, 1), {
        calls: 1,
        events: 3,
        attachments: 0,
      })
      await eraseAll(store, { of: { tenant: 't' } }, 1)
      for (const state of states) assert.deepEqual(await uidsOf(store, state), [`done ${state}`, `open ${state}`])
      assert.equal((await store.events(all)).length, before - 3)
    },
  },
  {
    topic: 'retention',
    name: 'pages continue where the last one ended and erase each call once',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      for (let n = 0; n < 25; n++)
        await settledCall(store, `u${n}`, { session: `s${n % 3}`, settledAt: r.longAgo + (n % 4) })
      await openCall(store, 'open', 's1', 'parked')
      const first = await store.erase({ settledBefore: r.longAgo + 10, after: '', limit: 4 })
      assert.deepEqual([first.calls, first.events], [4, 12])
      assert.notEqual(first.next, null)
      assert.deepEqual(await eraseAll(store, { settledBefore: r.longAgo + 10 }, 4), {
        calls: 13,
        events: 39,
        attachments: 0,
      })
      assert.equal((await uidsOf(store, 's1')).length, 9)
    },
  },
  {
    topic: 'retention',
    name: 'two concurrent erasures erase each call once',
    promise: ['DUR-10'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      for (let n = 0; n < 40; n++) await settledCall(store, `u${n}`, { session: `s${n % 5}` })
      const sums = await Promise.all([store, other].map((each) => eraseAll(each, { settledBefore: r.longAgo + 1 }, 3)))
      assert.deepEqual(
        [sums.reduce((sum, { calls }) => sum + calls, 0), sums.reduce((sum, { events }) => sum + events, 0)],
        [40, 120],
      )
      assert.deepEqual(await store.events(all), [])
    },
  },
  {
    topic: 'retention',
    name: 'an attachment is erased with the last call that uses it',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      await settledCall(store, 'a', { session: 'a' })
      await settledCall(store, 'b', { session: 'b' })
      await settledCall(store, 'x', { tenant: 't2', session: 'a' })
      const use = (call: string, id: string, tenant = 't'): { tenant: string; id: string; call: string } => ({
        tenant,
        id,
        call,
      })
      const files = [
        r.attachmentRecord('both'),
        r.attachmentRecord('own'),
        r.attachmentRecord('both', { tenant: 't2' }),
      ]
      const uses = [use('a', 'both'), use('b', 'both'), use('a', 'own'), use('x', 'both', 't2')]
      r.assertAccepted(await store.commit(r.change({ attachments: files, uses })))
      r.assertAccepted(await store.commit(r.change({ uses: [use('a', 'own')] })))
      assert.equal((await eraseAll(store, { of: { tenant: 't', session: 'a' } })).attachments, 1)
      assert.equal(await store.attachment('t', 'own'), undefined)
      assert.notEqual(await store.attachment('t', 'both'), undefined)
      assert.equal((await eraseAll(store, { of: { tenant: 't', session: 'b' } })).attachments, 1)
      assert.equal(await store.attachment('t', 'both'), undefined)
      assert.notEqual(await store.attachment('t2', 'both'), undefined)
      // An erased attachment can be stored again.
      r.assertAccepted(await store.commit(r.change({ attachments: [r.attachmentRecord('own')] })))
      assert.notEqual(await store.attachment('t', 'own'), undefined)
      // Erasing a whole tenant also erases attachments that no call uses.
      assert.equal((await eraseAll(store, { of: { tenant: 't' } })).attachments, 1)
      assert.equal(await store.attachment('t', 'own'), undefined)
    },
  },
  {
    topic: 'retention',
    name: 'a rejected change records no attachment use',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      await settledCall(store, 'a', { session: 'a' })
      await settledCall(store, 'b', { session: 'b' })
      r.assertAccepted(
        await store.commit(
          r.change({ attachments: [r.attachmentRecord('x')], uses: [{ tenant: 't', id: 'x', call: 'a' }] }),
        ),
      )
      await store.commit(r.change({ guards: [r.open('nothing')], uses: [{ tenant: 't', id: 'x', call: 'b' }] }))
      assert.equal((await eraseAll(store, { of: { tenant: 't', session: 'a' } })).attachments, 1)
    },
  },
  {
    topic: 'retention',
    name: 'a sequence continues after a prune and restarts after a full erasure',
    promise: ['DUR-10', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const seqs = async (): Promise<number[]> =>
        (await store.events({ ...all, of: { tenant: 't', session: 's' } })).map(({ seq }) => seq)
      await settledCall(store, 'a')
      await settledCall(store, 'b', { settledAt: r.longAgo + 5 })
      await eraseAll(store, { settledBefore: r.longAgo + 6 })
      assert.deepEqual(await seqs(), [])
      await settledCall(store, 'c', { settledAt: r.longAgo + 9 })
      assert.deepEqual(await seqs(), [7, 8, 9])
      await settledCall(store, 'd')
      // The newest events are pruned and older ones stay.
      await eraseAll(store, { settledBefore: r.longAgo + 6 })
      assert.deepEqual(await seqs(), [7, 8, 9])
      await store.commit(r.change({ events: [r.eventRecord(1, { call: 'c' })] }))
      assert.deepEqual(await seqs(), [7, 8, 9, 13])
      const last = (await store.events(all)).at(-1)?.position ?? 0
      await eraseAll(store, { of: { tenant: 't', session: 's' } }, 1)
      await settledCall(store, 'e')
      const [first] = await store.events(all)
      assert.equal(first?.seq, 1)
      assert.ok((first?.position ?? 0) > last)
      // After a prune of the whole session only its counter remains. Erase finds nothing, and the counter continues.
      await eraseAll(store, { settledBefore: r.longAgo + 100 })
      await eraseAll(store, { of: { tenant: 't', session: 's' } })
      await settledCall(store, 'f')
      assert.deepEqual(await seqs(), [4, 5, 6])
    },
  },
  {
    topic: 'retention',
    name: 'erased() returns the erased position per session and for all',
    promise: ['FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const none = { count: 0, position: 0 }
      const [s1, s2] = [
        { tenant: 't', session: 's1' },
        { tenant: 't', session: 's2' },
      ] as const
      await settledCall(store, 'a', { session: 's1' })
      await settledCall(store, 'b', { session: 's2' })
      await settledCall(store, 'c', { session: 's1' })
      const positions = (await store.events({ ...all, of: s1 })).map(({ position }) => position)
      assert.deepEqual(
        [await store.erased(), await store.erased(s1), await store.erased(s2)].map((each) => ({ ...each })),
        [none, none, none],
      )
      await eraseAll(store, { of: s1 })
      const first = await store.erased()
      assert.deepEqual({ ...first }, { count: 1, position: positions.at(-1) })
      assert.deepEqual({ ...(await store.erased(s1)) }, { ...first })
      assert.deepEqual({ ...(await store.erased(s2)) }, none)
      await eraseAll(store, { settledBefore: r.longAgo + 1 })
      assert.deepEqual({ ...(await store.erased()) }, { count: 2, position: positions.at(-1) })
      assert.equal((await store.erased(s2)).count, 2)
      // A restarted session still reports the earlier erasure.
      await settledCall(store, 'd', { session: 's1' })
      assert.deepEqual({ ...(await store.erased(s1)) }, { ...first })
    },
  },
  {
    topic: 'retention',
    name: 'an erasure is visible in another handle, where the sequence continues',
    promise: ['DUR-10'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      await settledCall(store, 'a')
      await eraseAll(store, { settledBefore: r.longAgo + 1 })
      const other = await again()
      assert.equal(await other.call('a'), undefined)
      assert.equal((await other.erased()).count, 1)
      await settledCall(other, 'b')
      assert.deepEqual(
        (await store.events(all)).map(({ seq }) => seq),
        [4, 5, 6],
      )
    },
  },
  {
    topic: 'list',
    name: 'unsettled() pages open calls by uid and scope, without payloads',
    promise: ['DUR-10'],
    async run(open) {
      const clock = manualClock()
      const { store } = await open(clock)
      await store.renew('lives', 60_000)
      const states = ['received', 'queued', 'running', 'parked'] as const
      for (const [n, state] of states.entries()) {
        const position = r.callPosition({ tenant: n === 0 ? 't2' : 't', session: n < 2 ? 's' : 's2', id: state })
        const owner = ['lives', 'gone', null][n] ?? null
        await r.insert(
          store,
          r.callRecord(`u${n} \\ \0`, { position, state, wait: state === 'parked' ? 'w' : null, owner, deaths: n }),
        )
      }
      await settledCall(store, 'done')
      const uids = async (query: Partial<Parameters<Store['unsettled']>[0]>): Promise<string[]> =>
        (await store.unsettled({ after: '', limit: 100, ...query })).map(({ uid }) => uid.slice(0, 2))
      assert.deepEqual(await uids({}), ['u0', 'u1', 'u2', 'u3'])
      assert.deepEqual(await uids({ limit: 2 }), ['u0', 'u1'])
      assert.deepEqual(await uids({ after: 'u1 \\ \0', limit: 2 }), ['u2', 'u3'])
      assert.deepEqual(await uids({ of: { tenant: 't' } }), ['u1', 'u2', 'u3'])
      assert.deepEqual(await uids({ of: { tenant: 't', session: 's2' } }), ['u2', 'u3'])
      const [first, second, , last] = await store.unsettled({ after: '', limit: 100 })
      assert.deepEqual(r.plain(last), {
        uid: 'u3 \\ \0',
        position: r.callPosition({ session: 's2', id: 'parked' }),
        tool: 'tool',
        terms: null,
        state: 'parked',
        createdAt: r.longAgo,
        startedAt: null,
        wait: 'w',
        deaths: 3,
        owner: null,
        alive: false,
      })
      assert.deepEqual([first?.alive, second?.alive], [true, false])
      const facts = await store.inspect()
      assert.deepEqual(
        [facts.position, facts.workers.map(({ id, leaseMs }) => [id, leaseMs > 0])],
        [3, [['lives', true]]],
      )
    },
  },
]
