// Store cases for commit(): a change is all or nothing, ordered, answered individually and durable when commit()
// resolves.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { Guard, Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** A change with a row of every kind; `name` makes the rows unique. */
const everything = (name: string, guards: readonly Guard[]) => {
  const call = r.callRecord(`call ${name}`)
  return {
    guards,
    insertCall: call,
    steps: [r.stepRecord(call.uid, 'a'), r.stepRecord(call.uid, 'b', { state: 'failed', value: '"no"' })],
    insertWaits: [r.waitRecord(`wait ${name}`, call.uid)],
    attachments: [r.attachmentRecord(`att ${name}`)],
    events: [r.eventRecord(1, { call: call.uid }), r.eventRecord(2, { call: call.uid })],
  }
}

async function assertOnRecord(store: Store, name: string): Promise<void> {
  const { insertCall, steps, insertWaits, attachments } = everything(name, [])
  assert.deepEqual(await store.call(insertCall.uid), insertCall)
  assert.deepEqual(await store.callAt(insertCall.position), insertCall)
  assert.deepEqual(
    r.sortedBy(await store.steps(insertCall.uid), (step) => step.key),
    steps,
  )
  assert.deepEqual((await store.waitsOf(insertCall.uid)).map(r.plain), insertWaits)
  assert.deepEqual(r.plain(await store.wait(`wait ${name}`)), insertWaits[0])
  assert.deepEqual(r.plain(await store.waitByKeyHash(`key of wait ${name}`)), insertWaits[0])
  assert.equal((await store.attachment('t', `att ${name}`))?.mediaType, attachments[0]?.mediaType)
  const events = (await store.events({ after: 0, limit: 1000 })).filter((event) => event.call === insertCall.uid)
  assert.deepEqual(
    events.map((event) => event.at),
    [1, 2],
  )
}

async function assertNothingOf(store: Store, name: string): Promise<void> {
  const { insertCall } = everything(name, [])
  assert.equal(await store.call(insertCall.uid), undefined)
  assert.equal(await store.callAt(insertCall.position), undefined)
  assert.deepEqual(await store.steps(insertCall.uid), [])
  assert.deepEqual(await store.waitsOf(insertCall.uid), [])
  assert.equal(await store.wait(`wait ${name}`), undefined)
  assert.equal(await store.waitByKeyHash(`key of wait ${name}`), undefined)
  assert.equal(await store.attachment('t', `att ${name}`), undefined)
  assert.ok((await store.events({ after: 0, limit: 1000 })).every((event) => event.call !== insertCall.uid))
}

export const commitCases: readonly StoreCase[] = [
  {
    topic: 'commit',
    name: 'an accepted change is readable in full when commit() resolves',
    promise: ['DUR-1', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      await assertNothingOf(store, 'x')
      r.assertAccepted(await store.commit(everything('x', [r.absent(r.callPosition({ id: 'call x' }))])))
      await assertOnRecord(store, 'x')
    },
  },
  {
    topic: 'commit',
    name: 'each failing guard alone rejects the whole change and is named in the answer',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('held', { owner: 'w', state: 'running' })
      await r.insert(store, call)
      await r.insertWaits(store, r.waitRecord('open', call.uid))
      const good = [r.holds(call), r.open('open'), r.absent(r.callPosition({ id: 'free' }))]
      const bad = [r.holds(call, 7), r.open('unknown'), r.absent(call.position)]
      for (const [index, guard] of bad.entries()) {
        const guards = good.with(index, guard)
        const parts = {
          ...everything(`bad ${index}`, guards),
          updateCall: { uid: call.uid, progress: r.settledProgress(call) },
          resolveWait: { id: 'open', resolution: '{"value":1}' },
        }
        r.assertRefused(await store.commit(parts), guard)
        await assertNothingOf(store, `bad ${index}`)
        assert.deepEqual(await store.call(call.uid), call)
        assert.equal((await store.wait('open'))?.resolution, null)
      }
      r.assertAccepted(await store.commit(everything('good', good)))
      await assertOnRecord(store, 'good')
    },
  },
  {
    topic: 'commit',
    name: 'a rejected change does not affect other changes in its group',
    promise: ['CALL-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const taken = r.callRecord('taken')
      await r.insert(store, taken)
      const spoiled = (index: number): boolean => index % 3 === 1
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const own = r.absent(r.callPosition({ id: `call ${index}` }))
          return store.commit(everything(String(index), spoiled(index) ? [own, r.absent(taken.position)] : [own]))
        }),
      )
      for (const [index, answer] of answers.entries()) {
        if (spoiled(index)) {
          r.assertRefused(answer, r.absent(taken.position))
          await assertNothingOf(store, String(index))
        } else {
          r.assertAccepted(answer)
          await assertOnRecord(store, String(index))
        }
      }
    },
  },
  {
    topic: 'commit',
    name: 'a change that cannot be written does not affect other changes in its group',
    promise: ['CALL-3'],
    async run(open) {
      const { store } = await open(manualClock())
      await r.insert(store, r.callRecord('call broken', { position: r.callPosition({ id: 'elsewhere' }) }))
      // The uid already exists, which no guard checks. The store may accept or reject this change, but it must accept
      // the other two.
      const answers = await Promise.allSettled(
        ['before', 'broken', 'after'].map((name) =>
          store.commit(everything(name, [r.absent(r.callPosition({ id: `call ${name}` }))])),
        ),
      )
      for (const [index, name] of [[0, 'before'] as const, [2, 'after'] as const]) {
        assert.equal(answers[index]?.status, 'fulfilled')
        await assertOnRecord(store, name)
      }
      const broken = answers[1] as PromiseSettledResult<unknown>
      if (broken.status === 'fulfilled') return
      assert.equal((broken.reason as { code?: string }).code, 'store_unavailable')
      assert.equal(await store.wait('wait broken'), undefined)
      assert.equal(await store.attachment('t', 'att broken'), undefined)
    },
  },
  {
    topic: 'commit',
    name: 'changes of one tick are checked in order, and each sees the earlier ones',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', { owner: 'w' })
      const running = r.progressOf(call, { state: 'running', attempt: 1, startedAt: 5 })
      const answers = await Promise.all([
        store.commit(r.change({ guards: [r.holds(call)] })),
        store.commit(r.change({ guards: [r.absent(call.position)], insertCall: call, events: [r.eventRecord(1)] })),
        store.commit(r.change({ guards: [r.absent(call.position)], events: [r.eventRecord(2)] })),
        store.commit(
          r.change({
            guards: [r.holds(call)],
            updateCall: { uid: call.uid, progress: running },
            events: [r.eventRecord(3)],
          }),
        ),
        store.commit(
          r.change({
            guards: [r.holds(call)],
            updateCall: { uid: call.uid, progress: r.settledProgress(call) },
            events: [r.eventRecord(4)],
          }),
        ),
        store.commit(r.change({ guards: [r.holds(call)], events: [r.eventRecord(5)] })),
      ])
      assert.deepEqual(
        answers.map((answer) => answer.ok),
        [false, true, false, true, true, false],
      )
      assert.equal((await store.call(call.uid))?.state, 'settled')
      assert.deepEqual(
        (await store.events({ after: 0, limit: 10 })).map((event) => event.at),
        [1, 3, 4],
      )
    },
  },
  {
    topic: 'commit',
    name: 'changes with `ride` keep their order and are durable by the next change',
    promise: ['DUR-2'],
    async run(open) {
      const opened = await open(manualClock())
      const { store } = opened
      const call = r.callRecord('c1', { owner: 'w' })
      const running = r.progressOf(call, { state: 'running', attempt: 1, startedAt: 5 })
      const riders = [
        r.attachWrite(
          store,
          r.change({ guards: [r.absent(call.position)], insertCall: call, events: [r.eventRecord(1)] }),
        ),
        r.attachWrite(
          store,
          r.change({
            guards: [r.holds(call)],
            updateCall: { uid: call.uid, progress: running },
            events: [r.eventRecord(2)],
          }),
        ),
        r.attachWrite(store, r.change({ guards: [r.holds(call, 9)], events: [r.eventRecord(3)] })),
      ]
      const step = r.stepRecord(call.uid, 'a')
      r.assertAccepted(
        await store.commit(r.change({ guards: [r.holds(call)], steps: [step], events: [r.eventRecord(4)] })),
      )
      assert.deepEqual(await store.call(call.uid), { ...call, ...running })
      assert.deepEqual(
        (await store.events({ after: 0, limit: 10 })).map((event) => event.at),
        [1, 2, 4],
      )
      assert.deepEqual(
        (await Promise.all(riders)).map((answer) => answer.ok),
        [true, true, false],
      )
    },
  },
  {
    topic: 'commit',
    name: 'a change with `ride` becomes durable even if no change follows',
    promise: ['DUR-2'],
    async run(open) {
      const clock = manualClock()
      const { store } = await open(clock)
      const call = r.callRecord('c1')
      const riding = r.attachWrite(store, r.change({ guards: [r.absent(call.position)], insertCall: call }))
      await clock.advance('1s')
      r.assertAccepted(await riding)
      assert.deepEqual(await store.call(call.uid), call)
    },
  },
  {
    topic: 'commit',
    name: 'updateCall replaces only the progress fields; release clears the owner',
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c1', {
        owner: 'w',
        fence: 3,
        principal: 'p',
        state: 'running',
        args: '[1]',
        attempt: 2,
        startedAt: 7,
      })
      await r.insert(store, call, r.callRecord('other'))
      const next = {
        state: 'queued',
        args: null,
        terms: '{}',
        attempt: 4,
        startedAt: null,
        wait: 'x',
        outcome: '1',
        settledAt: 8,
        deaths: 2,
        trouble: 't',
      } as const
      r.assertAccepted(await store.commit(r.change({ guards: [], updateCall: { uid: call.uid, progress: next } })))
      assert.deepEqual(await store.call(call.uid), { ...call, ...next })
      r.assertAccepted(
        await store.commit(r.change({ updateCall: { uid: call.uid, progress: r.progressOf(call), release: true } })),
      )
      assert.deepEqual(await store.call(call.uid), { ...call, owner: null })
      assert.deepEqual(await store.call('other'), r.callRecord('other'))
    },
  },
  {
    topic: 'commit',
    name: 'a step replaces only the step with the same call and key',
    promise: ['DUR-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const started = r.stepRecord('c1', 'a', { state: 'started', value: null })
      const others = [r.stepRecord('c1', 'A', { value: '1' }), r.stepRecord('c2', 'a', { value: '2' })]
      r.assertAccepted(await store.commit(r.change({ steps: [started, ...others] })))
      const done = r.stepRecord('c1', 'a', { state: 'done', input: '[]', value: '3', at: 9 })
      r.assertAccepted(await store.commit(r.change({ steps: [done] })))
      assert.deepEqual(
        r.sortedBy(await store.steps('c1'), (step) => step.key),
        [others[0], done],
      )
      assert.deepEqual((await store.steps('c2')).map(r.plain), [others[1]])
    },
  },
  {
    topic: 'commit',
    name: 'in one group, a call is inserted, inserts another one and is settled',
    async run(open) {
      const { store } = await open(manualClock())
      const [call, other] = [r.callRecord('c1', { owner: 'w' }), r.callRecord('other')]
      const holds: Guard = { kind: 'holds', call: call.uid, fence: call.fence }
      const answers = await Promise.all(
        [
          { guards: [r.absent(call.position)], insertCall: call },
          { guards: [holds, r.absent(other.position)], insertCall: other, insertWaits: [r.waitRecord('w1', call.uid)] },
          { guards: [holds], updateCall: { uid: call.uid, progress: r.settledProgress(call), release: true } },
        ].map((change) => store.commit(r.change(change))),
      )
      for (const answer of answers) r.assertAccepted(answer)
      assert.deepEqual(await store.call(other.uid), other)
      assert.equal((await store.call(call.uid))?.state, 'settled')
    },
  },
  {
    topic: 'commit',
    name: 'close writes the queued changes and rejects later ones',
    promise: ['DUR-13'],
    async run(open) {
      const { store } = await open(manualClock())
      const queued = [
        r.attachWrite(store, everything('riding', [])),
        store.commit(everything('plain', [])),
        r.attachWrite(store, everything('last', [])),
      ]
      await store.close()
      for (const answer of await Promise.all(queued)) r.assertAccepted(answer)
      await assert.rejects(store.commit(everything('late', [])), { code: 'store_unavailable' })
    },
  },
  {
    topic: 'commit',
    name: 'a new handle reads the changes that close wrote',
    promise: ['DUR-13', 'DUR-1'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      r.assertAccepted(await store.commit(everything('acknowledged', [])))
      const queued = r.attachWrite(store, everything('riding', []))
      await store.close()
      r.assertAccepted(await queued)
      const next = await again()
      await assertOnRecord(next, 'acknowledged')
      await assertOnRecord(next, 'riding')
    },
  },
  {
    topic: 'commit',
    name: 'another handle reads every change whose commit() has resolved',
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      for (const [index, writer] of [store, other, store, other].entries()) {
        r.assertAccepted(await writer.commit(everything(String(index), [])))
        await assertOnRecord(writer === store ? other : store, String(index))
      }
    },
  },
]
