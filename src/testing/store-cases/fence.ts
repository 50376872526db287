// TESTING: the guards. What must be true at the moment of the write, also when many write at once and from two sides.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { CallPosition, CallRecord } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import type { OpenStore, StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** Fifty callers want the same place at once, each through one of the handles. */
async function oneWinner(handles: readonly Store[]): Promise<void> {
  const position = r.place({ id: 'wanted' })
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
  for (const answer of answers) if (!answer.ok) r.refused(answer, guard)
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

/** A hundred answers for one wait at once, each through one of the handles. */
async function firstAnswerWins(handles: readonly Store[]): Promise<void> {
  const call = r.callRecord('c1')
  await r.insert(handles[0] as Store, call)
  await r.insertWaits(handles[0] as Store, r.waitRecord('w1', call.uid), r.waitRecord('w2', call.uid))
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      (handles[index % handles.length] as Store).commit({
        ...r.answering('w1', `{"value":${index}}`),
        events: [r.eventRecord(index)],
      }),
    ),
  )
  const winners = answers.flatMap((answer, index) => (answer.ok ? [index] : []))
  assert.equal(winners.length, 1)
  for (const answer of answers) if (!answer.ok) r.refused(answer, r.open('w1'))
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

/** Everything a holder may try to write; none of it may stick once it is no longer the holder. */
async function assertWritesNothing(store: Store, call: CallRecord): Promise<void> {
  const before = await store.call(call.uid)
  const events = await store.events({ after: 0, limit: 100 })
  const attempt = r.change({
    guards: [r.holds(call)],
    updateCall: { uid: call.uid, progress: r.settled(call), release: true },
    steps: [r.stepRecord(call.uid, 'zombie')],
    insertWaits: [r.waitRecord('zombie', call.uid)],
    attachments: [r.attachmentRecord('zombie')],
    events: [r.eventRecord(99)],
  })
  r.refused(await store.commit(attempt), r.holds(call))
  assert.deepEqual(await store.call(call.uid), before)
  assert.deepEqual(await store.steps(call.uid), [])
  assert.deepEqual(await store.waitsOf(call.uid), [])
  assert.equal(await store.attachment('t', 'zombie'), undefined)
  assert.deepEqual(await store.events({ after: 0, limit: 100 }), events)
}

export const fenceCases: readonly StoreCase[] = [
  {
    topic: 'fence',
    name: `'unsettled' holds for whoever asks, until the call is settled`,
    promise: ['TIME-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const [call, other] = [r.callRecord('c', { owner: 'w' }), r.callRecord('d')]
      await r.insert(store, call, other)
      const asking = (uid: string) =>
        r.change({ guards: [{ kind: 'unsettled', call: uid }], steps: [r.stepRecord(uid, 'asked')] })
      r.accepted(await store.commit(asking('c')))
      r.accepted(await store.commit(asking('d')))
      r.refused(await store.commit(asking('nobody')), { kind: 'unsettled', call: 'nobody' })
      const settling = r.change({
        guards: [r.holds(call)],
        updateCall: { uid: 'c', progress: r.settled(call), release: true },
      })
      const [settled, late] = await Promise.all([store.commit(settling), store.commit(asking('c'))])
      r.accepted(settled)
      r.refused(late, { kind: 'unsettled', call: 'c' })
    },
  },
  {
    topic: 'fence',
    name: "'absent' lets exactly one of 50 concurrent callers have a place",
    promise: ['CALL-6'],
    run: async (open) => oneWinner([(await open(manualClock())).store]),
  },
  {
    topic: 'fence',
    name: "'absent' lets exactly one of 50 callers on two handles have a place",
    promise: ['CALL-6'],
    needs: 'second handle',
    run: async (open) => oneWinner(await twoHandles(open)),
  },
  {
    topic: 'fence',
    name: 'places that look alike are different places',
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
      const calls = alike.map((position, index) => r.callRecord(`uid ${index}`, { position: r.place(position) }))
      await r.insert(store, ...calls)
      for (const call of calls) assert.deepEqual(await store.callAt(call.position), call)
    },
  },
  {
    topic: 'fence',
    name: "'holds' refuses an older fence, a newer one, a settled call and an unknown one",
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { fence: 5, owner: 'w', state: 'running' })
      await r.insert(store, call)
      for (const fence of [4, 6, 0, -1]) {
        r.refused(await store.commit(r.change({ guards: [r.holds(call, fence)] })), r.holds(call, fence))
      }
      const unknown = r.callRecord('nobody')
      r.refused(await store.commit(r.change({ guards: [r.holds(unknown)] })), r.holds(unknown))
      r.accepted(await store.commit(r.change({ guards: [r.holds(call)] })))
      r.accepted(
        await store.commit(
          r.change({ guards: [r.holds(call)], updateCall: { uid: call.uid, progress: r.settled(call) } }),
        ),
      )
      r.refused(await store.commit(r.change({ guards: [r.holds(call)] })), r.holds(call))
    },
  },
  {
    topic: 'fence',
    name: "'holds' looks at the fence, not at the owner: who gave a call back may still land what nobody else took",
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { owner: 'w', state: 'running' })
      await r.insert(store, call)
      r.accepted(
        await store.commit(
          r.change({
            guards: [r.holds(call)],
            updateCall: { uid: call.uid, progress: r.progressOf(call), release: true },
          }),
        ),
      )
      r.accepted(await store.commit(r.change({ guards: [r.holds(call)], steps: [r.stepRecord(call.uid, 'a')] })))
    },
  },
  {
    topic: 'fence',
    name: 'a zombie writes nothing once another worker has claimed its call',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { owner: 'dead', state: 'running' })
      await r.insert(store, call)
      const [claimed] = await store.claim('alive', r.tools, 10)
      assert.equal(claimed?.fence, 2)
      await assertWritesNothing(store, call)
      r.accepted(
        await store.commit(
          r.change({ guards: [r.holds(claimed)], updateCall: { uid: call.uid, progress: r.settled(claimed) } }),
        ),
      )
      await assertWritesNothing(store, claimed)
    },
  },
  {
    topic: 'fence',
    name: 'a zombie on one handle writes nothing once another handle has claimed its call',
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
    name: 'a call settles once: of many outcomes in one tick the first is on record',
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
              updateCall: { uid: call.uid, progress: r.settled(call, String(index)), release: true },
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
    name: 'a call is settled by its holder or claimed from it, never both, when two handles race',
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
            updateCall: { uid: call.uid, progress: r.settled(call), release: true },
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
    name: "'open' lets the first of 100 concurrent answers win",
    promise: ['WAIT-2'],
    run: async (open) => firstAnswerWins([(await open(manualClock())).store]),
  },
  {
    topic: 'fence',
    name: "'open' lets one of 100 answers on two handles win",
    promise: ['WAIT-2'],
    needs: 'second handle',
    run: async (open) => firstAnswerWins(await twoHandles(open)),
  },
  {
    topic: 'fence',
    name: "'open' refuses a wait that is not on record",
    promise: ['WAIT-2'],
    async run(open) {
      const { store } = await open(manualClock())
      r.refused(
        await store.commit(r.change({ guards: [r.open('nothing')], events: [r.eventRecord(1)] })),
        r.open('nothing'),
      )
      assert.deepEqual(await store.events({ after: 0, limit: 10 }), [])
    },
  },
]
