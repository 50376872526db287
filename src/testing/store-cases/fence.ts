// Store cases for guards: their conditions hold at the moment of the write, even with concurrent writers and handles.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { CallPosition, CallRecord } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import type { OpenStore, StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** Fifty callers insert at the same position concurrently, spread over the handles. */
async function assertOneWinner(handles: readonly Store[]): Promise<void> {
  const position = r.callPosition({ id: 'wanted' })
  const guard = r.absent(position)
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => {
      const call = r.callRecord(`uid ${index}`, { position })
      const store = handles[index % handles.length] as Store
      return store.commit(r.change({ guards: [guard], insertCall: call, events: [r.eventRecord(index)] }))
    }),
  )
  const winners = answers.flatMap((answer, index) => (answer.ok ? [index] : []))
  assert.equal(winners.length, 1)
  for (const answer of answers) if (!answer.ok) r.assertRefused(answer, guard)
  for (const store of handles) {
    assert.equal((await store.callAt(position))?.uid, `uid ${winners[0]}`)
    assert.deepEqual(
      (await store.events({ after: 0, limit: 100 })).map((event) => event.at),
      winners,
    )
    for (let index = 0; index < 50; index++) {
      if (index !== winners[0]) assert.equal(await store.call(`uid ${index}`), undefined)
    }
  }
}

/** A hundred concurrent answers to one wait, spread over the handles. */
async function assertFirstAnswerWins(handles: readonly Store[]): Promise<void> {
  const call = r.callRecord('c1')
  await r.insert(handles[0] as Store, call)
  await r.insertWaits(handles[0] as Store, r.waitRecord('w1', call.uid), r.waitRecord('w2', call.uid))
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      (handles[index % handles.length] as Store).commit({
        ...r.answerWait('w1', `{"value":${index}}`),
        events: [r.eventRecord(index)],
      }),
    ),
  )
  const winners = answers.flatMap((answer, index) => (answer.ok ? [index] : []))
  assert.equal(winners.length, 1)
  for (const answer of answers) if (!answer.ok) r.assertRefused(answer, r.open('w1'))
  for (const store of handles) {
    assert.equal((await store.wait('w1'))?.resolution, `{"value":${winners[0]}}`)
    assert.equal((await store.wait('w2'))?.resolution, null)
    assert.deepEqual(
      (await store.events({ after: 0, limit: 200 })).map((event) => event.at),
      winners,
    )
  }
}

const twoHandles = async (open: OpenStore): Promise<[Store, Store]> => {
  const { store, again } = await open(manualClock())
  return [store, await again()]
}

/** Tries every kind of write with a stale fence and checks that none of it is stored. */
async function assertWritesNothing(store: Store, call: CallRecord): Promise<void> {
  const before = await store.call(call.uid)
  const events = await store.events({ after: 0, limit: 100 })
  const attempt = r.change({
    guards: [r.holds(call)],
    updateCall: { uid: call.uid, progress: r.settledProgress(call), release: true },
    steps: [r.stepRecord(call.uid, 'zombie')],
    insertWaits: [r.waitRecord('zombie', call.uid)],
    attachments: [r.attachmentRecord('zombie')],
    events: [r.eventRecord(99)],
  })
  r.assertRefused(await store.commit(attempt), r.holds(call))
  assert.deepEqual(await store.call(call.uid), before)
  assert.deepEqual(await store.steps(call.uid), [])
  assert.deepEqual(await store.waitsOf(call.uid), [])
  assert.equal(await store.attachment('t', 'zombie'), undefined)
  assert.deepEqual(await store.events({ after: 0, limit: 100 }), events)
}

export const fenceCases: readonly StoreCase[] = [
  {
    topic: 'fence',
    name: "the 'unsettled' guard holds until the call is settled",
    promise: ['TIME-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const [call, other] = [r.callRecord('c', { owner: 'w' }), r.callRecord('d')]
      await r.insert(store, call, other)
      const asking = (uid: string) =>
        r.change({ guards: [{ kind: 'unsettled', call: uid }], steps: [r.stepRecord(uid, 'asked')] })
      r.assertAccepted(await store.commit(asking('c')))
      r.assertAccepted(await store.commit(asking('d')))
      r.assertRefused(await store.commit(asking('nobody')), { kind: 'unsettled', call: 'nobody' })
      const settling = r.change({
        guards: [r.holds(call)],
        updateCall: { uid: 'c', progress: r.settledProgress(call), release: true },
      })
      const [settled, late] = await Promise.all([store.commit(settling), store.commit(asking('c'))])
      r.assertAccepted(settled)
      r.assertRefused(late, { kind: 'unsettled', call: 'c' })
    },
  },
  {
    topic: 'fence',
    name: "'absent' accepts exactly one of 50 concurrent inserts at a position",
    promise: ['CALL-6'],
    run: async (open) => assertOneWinner([(await open(manualClock())).store]),
  },
  {
    topic: 'fence',
    name: "'absent' accepts exactly one of 50 inserts on two handles",
    promise: ['CALL-6'],
    needs: 'second handle',
    run: async (open) => assertOneWinner(await twoHandles(open)),
  },
  {
    topic: 'fence',
    name: 'positions that look alike are different positions',
    promise: ['CALL-6'],
    async run(open) {
      const { store } = await open(manualClock())
      const alike: Partial<CallPosition>[] = [
        { tenant: 'a', session: 'bc' },
        { tenant: 'ab', session: 'c' },
        { tenant: 'a', session: 'bc', batch: 'd', id: 'c' },
        { tenant: 'a', session: 'bc', batch: '', id: 'dc' },
        { id: 'x' },
        { id: 'x', occurrence: 1 },
        { id: 'X' },
        { id: 'x ' },
        { id: ' x' },
        { id: '\u00e9' },
        { id: 'e\u0301' },
        { id: '1' },
        { id: '01' },
        { id: '1.0' },
      ]
      const calls = alike.map((position, index) => r.callRecord(`uid ${index}`, { position: r.callPosition(position) }))
      await r.insert(store, ...calls)
      for (const call of calls) assert.deepEqual(await store.callAt(call.position), call)
    },
  },
  {
    topic: 'fence',
    name: "'holds' rejects an older, newer or unknown fence and a settled call",
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { fence: 5, owner: 'w', state: 'running' })
      await r.insert(store, call)
      for (const fence of [4, 6, 0, -1]) {
        r.assertRefused(await store.commit(r.change({ guards: [r.holds(call, fence)] })), r.holds(call, fence))
      }
      const unknown = r.callRecord('nobody')
      r.assertRefused(await store.commit(r.change({ guards: [r.holds(unknown)] })), r.holds(unknown))
      r.assertAccepted(await store.commit(r.change({ guards: [r.holds(call)] })))
      r.assertAccepted(
        await store.commit(
          r.change({ guards: [r.holds(call)], updateCall: { uid: call.uid, progress: r.settledProgress(call) } }),
        ),
      )
      r.assertRefused(await store.commit(r.change({ guards: [r.holds(call)] })), r.holds(call))
    },
  },
  {
    topic: 'fence',
    name: "'holds' checks the fence, not the owner, so a released call can still be written",
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { owner: 'w', state: 'running' })
      await r.insert(store, call)
      r.assertAccepted(
        await store.commit(
          r.change({
            guards: [r.holds(call)],
            updateCall: { uid: call.uid, progress: r.progressOf(call), release: true },
          }),
        ),
      )
      r.assertAccepted(await store.commit(r.change({ guards: [r.holds(call)], steps: [r.stepRecord(call.uid, 'a')] })))
    },
  },
  {
    topic: 'fence',
    name: 'a stale worker writes nothing after another worker claimed its call',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { owner: 'dead', state: 'running' })
      await r.insert(store, call)
      const [claimed] = await store.claim('alive', r.tools, 10)
      assert.equal(claimed?.fence, 2)
      await assertWritesNothing(store, call)
      r.assertAccepted(
        await store.commit(
          r.change({ guards: [r.holds(claimed)], updateCall: { uid: call.uid, progress: r.settledProgress(claimed) } }),
        ),
      )
      await assertWritesNothing(store, claimed)
    },
  },
  {
    topic: 'fence',
    name: 'a stale worker writes nothing after another handle claimed its call',
    promise: ['DUR-7'],
    needs: 'second handle',
    async run(open) {
      const [mine, theirs] = await twoHandles(open)
      const call = r.callRecord('c1', { owner: 'dead', state: 'running' })
      await r.insert(mine, call)
      const [claimed] = await theirs.claim('alive', r.tools, 10)
      assert.equal(claimed?.fence, 2)
      await assertWritesNothing(mine, call)
    },
  },
  {
    topic: 'fence',
    name: 'a call settles once: the first of many outcomes in one tick wins',
    promise: ['CALL-2', 'DUR-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { owner: 'w', state: 'running' })
      await r.insert(store, call)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          store.commit(
            r.change({
              guards: [r.holds(call)],
              updateCall: { uid: call.uid, progress: r.settledProgress(call, String(index)), release: true },
            }),
          ),
        ),
      )
      assert.deepEqual(
        answers.map((answer) => answer.ok),
        [true, ...Array<boolean>(19).fill(false)],
      )
      assert.equal((await store.call(call.uid))?.outcome, '0')
    },
  },
  {
    topic: 'fence',
    name: 'a call is either settled by its holder or claimed when two handles race',
    promise: ['DUR-7', 'CALL-2'],
    needs: 'second handle',
    async run(open) {
      const [holder, claimer] = await twoHandles(open)
      const calls = Array.from({ length: 40 }, (_, index) =>
        r.callRecord(`c${index}`, { owner: 'late', state: 'running' }),
      )
      await r.insert(holder, ...calls)
      await claimer.renew('alive', 60_000)
      const settling = calls.map((call) =>
        holder.commit(
          r.change({
            guards: [r.holds(call)],
            updateCall: { uid: call.uid, progress: r.settledProgress(call), release: true },
          }),
        ),
      )
      const claiming = (async () => {
        const claimed: CallRecord[] = []
        for (let turn = 0; turn < 20; turn++) claimed.push(...(await claimer.claim('alive', r.tools, 2)))
        return claimed
      })()
      const [answers, claimed] = await Promise.all([Promise.all(settling), claiming])
      for (const [index, call] of calls.entries()) {
        const taken = claimed.filter((each) => each.uid === call.uid).length
        assert.equal(
          taken + (answers[index]?.ok ? 1 : 0),
          1,
          `${call.uid} was taken ${taken} times and its settling said ${answers[index]?.ok}`,
        )
      }
    },
  },
  {
    topic: 'fence',
    name: "'open' accepts the first of 100 concurrent answers",
    promise: ['WAIT-2'],
    run: async (open) => assertFirstAnswerWins([(await open(manualClock())).store]),
  },
  {
    topic: 'fence',
    name: "'open' accepts one of 100 answers on two handles",
    promise: ['WAIT-2'],
    needs: 'second handle',
    run: async (open) => assertFirstAnswerWins(await twoHandles(open)),
  },
  {
    topic: 'fence',
    name: "'open' rejects an unknown wait",
    promise: ['WAIT-2'],
    async run(open) {
      const { store } = await open(manualClock())
      r.assertRefused(
        await store.commit(r.change({ guards: [r.open('nothing')], events: [r.eventRecord(1)] })),
        r.open('nothing'),
      )
      assert.deepEqual(await store.events({ after: 0, limit: 10 }), [])
    },
  },
]
