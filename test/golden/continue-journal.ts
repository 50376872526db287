// Opens a golden journal with the current version and continues: settled calls return the recorded outcomes, and open
// calls end as expected.

import { type FeedEvent, createRuntime } from 'pawl'
import { manualClock, type ManualClock } from 'pawl/testing'
import { expect } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { waitKey } from '../../src/engine/wait-key.ts'
import { asks, principal, type Scene, secret, toolsOf } from './journal-tools.ts'

export interface Recorded {
  readonly at: number
  readonly told: Record<string, readonly object[]>
  readonly events: readonly { position: number; seq: number; type: string; cursor: string }[]
}

export async function goesOn(recorded: Recorded, open: (clock: ManualClock) => Promise<Store>): Promise<void> {
  const clock = manualClock(recorded.at)
  const store = await open(clock)
  // The lease of the dead worker has run out by then.
  const runtime = await createRuntime({ store, tools: toolsOf(false), keys: { secret }, clock, lease: '10s' })
  try {
    const of = (scene: Scene): ReturnType<typeof runtime.session> =>
      runtime.session(asks[scene].session, { tenant: asks[scene].tenant, principal })
    for (const scene of ['settled', 'odd', 'cancelled', 'unknown'] as const) {
      const told = await of(scene).run(asks[scene].calls)
      // Compared as JSON, because the recorded attachment is only its reference.
      expect(JSON.parse(JSON.stringify(told))).toEqual(recorded.told[scene])
      for (const { id } of asks[scene].calls)
        expect(await of(scene).calls.get(id)).toMatchObject({ principal, state: 'settled' })
    }
    const [, , , kept] = await of('settled').run(asks.settled.calls)
    if (kept?.status !== 'success') throw new Error('The attachment is not there')
    expect([...(await of('settled').attachments.read((kept.value as { file: never }).file))]).toEqual([0, 1, 2, 255])

    const sessions = await runtime.sessions.list()
    expect(sessions).toEqual(
      expect.arrayContaining(
        Object.values(asks).map(({ tenant, session }) => expect.objectContaining({ tenant, session })),
      ),
    )
    for (const { tenant, session, lastCallAt } of sessions) {
      const calls = await runtime.session(session, { tenant }).calls.list({ limit: 1_000 })
      expect(lastCallAt).toBe(Math.max(...calls.map(({ createdAt }) => createdAt)))
    }

    // The feed repeats every recorded event in order, and each old cursor still works.
    const events: FeedEvent[] = []
    for await (const event of runtime.events({ internal: true }))
      if (events.push(event) === recorded.events.length) break
    // The tool and the id of a call are read from its record, so older versions did not deliver them.
    const asRecorded = events.map((event) => ({ ...event, callId: undefined, tool: undefined }))
    expect(JSON.parse(JSON.stringify(asRecorded))).toEqual(recorded.events)
    const middle = Math.floor(recorded.events.length / 2)
    for await (const event of runtime.events({
      after: recorded.events[middle]?.cursor as string,
      internal: true,
    })) {
      expect(event.position).toBe(recorded.events[middle + 1]?.position)
      break
    }

    const going = of('open').run(asks.open.calls)
    const stopped = of('stops').run(asks.stops.calls)
    for (const [id, name, value] of [
      ['parks', 'answer', 'parked and answered'],
      ['waits', 'ears', 'the outside'],
    ] as const) {
      const call = await of('open').calls.get(id)
      const wait = (await store.waitsOf(call?.uid as string)).find((each) => each.name === name)
      const key = waitKey(Buffer.from(secret), {
        tenant: 'default',
        call: call?.uid as string,
        name,
        salt: wait?.salt as string,
      })
      expect(await runtime.resolve(key, { value })).toEqual({ answer: 'accepted' })
    }
    let outcomes: Awaited<typeof going> | undefined
    void going.then((all) => (outcomes = all))
    for (const began = performance.now(); !outcomes && performance.now() - began < 30_000;) {
      await clock.advance('5m')
      await new Promise((resolve) => setTimeout(resolve, 8))
    }
    expect(outcomes).toMatchObject([
      { callId: 'sleeps', status: 'success', value: 'then, now' },
      { callId: 'retries', status: 'success', value: 'at last', attempts: 2 },
      { callId: 'parks', status: 'success', value: 'parked and answered' },
      { callId: 'waits', status: 'success', value: 'heard the outside' },
      { callId: 'interrupted', status: 'success', value: ['then', 'now'], attempts: 2 },
      { callId: 'once', status: 'unknown' },
      // The nested call was not repeated.
      { callId: 'calls', status: 'success', value: { n: 1 } },
    ])
    expect(await stopped).toMatchObject([{ status: 'unknown' }])
    // Attachments written before uses were tracked are erased too.
    expect(await runtime.erase({ tenant: 'default' })).toMatchObject({ attachments: 1 })
    expect(await store.unsettled({ after: '', limit: 10 })).toEqual([])
  } finally {
    await runtime.close({ grace: 0 })
    await store.close()
  }
}
