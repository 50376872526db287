// Groups of changes at random, on memory, SQLite and PostgreSQL at once: the same answers and the same record, whatever the changes of a
// group mean to each other. Memory applies them one after the other, so it is right by being simple.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/kernel/time.ts'
import type { CallState } from '../../src/journal/call-state.ts'
import { memoryStore } from '../../src/store/memory.ts'
import { postgresStore } from '../../src/store/postgres/postgres.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Change, Guard, Store } from '../../src/store/store.ts'
import { callRecord, eventRecord, place, progressOf, stepRecord, waitRecord } from '../../src/testing/store-cases/records.ts'
import { type Server, startServer } from './server.ts'

let server: Server
const folder = mkdtempSync(join(tmpdir(), 'pawl-same-'))
beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const uids = ['u1', 'u2', 'u3', 'u4'] as const
const placeFor = { u1: 'p1', u2: 'p2', u3: 'p3', u4: 'p1' }
const waits = ['w1', 'w2'] as const
const uid = fc.constantFrom(...uids)
const wait = fc.constantFrom(...waits)
const fence = fc.constantFrom(1, 1, 1, 2)
const state = fc.constantFrom<CallState>('queued', 'running', 'running', 'parked', 'settled')

const guard: fc.Arbitrary<Guard> = fc.oneof(
  fc.record({ kind: fc.constant('holds' as const), call: uid, fence }),
  fc.record({ kind: fc.constant('held' as const), call: uid, fence }),
  fc.record({ kind: fc.constant('unsettled' as const), call: uid }),
  fc.record({ kind: fc.constant('open' as const), wait }),
)

/** As the engine writes them, and as it never would. */
const change: fc.Arbitrary<(at: number, used: Set<string>) => Change> = fc.oneof(
  // Two calls for one place: the second is refused. No uid is made twice.
  uid.map((id) => (at: number, used: Set<string>): Change => {
    const call = callRecord(used.has(id) ? `${id} again ${at}` : id, { createdAt: at, owner: 'w', position: place({ id: placeFor[id] }) })
    used.add(id)
    return { guards: [{ kind: 'absent', position: call.position }], insertCall: call, events: [eventRecord(at)] }
  }),
  fc.record({ call: uid, fence, state, wait, release: fc.boolean(), also: fc.option(guard) }).map((m) => (at: number): Change => ({
    // Who parks does so on a wait that is open.
    guards: [
      { kind: 'holds', call: m.call, fence: m.fence },
      ...(m.state === 'parked' ? [{ kind: 'open', wait: m.wait } as const] : m.also ? [m.also] : []),
    ],
    updateCall: {
      uid: m.call,
      progress: progressOf(callRecord(m.call), { state: m.state, wait: m.wait, args: `"${at}"`, attempt: at }),
      release: m.release,
    },
    events: [eventRecord(at)],
  })),
  fc.record({ guard, call: uid, key: fc.constantFrom('a', 'b') }).map((s) => (at: number): Change => ({
    guards: [s.guard],
    steps: [stepRecord(s.call, s.key, { value: `"${at}"` })],
    events: [eventRecord(at)],
  })),
  fc
    .record({
      guards: fc.array(guard, { maxLength: 1 }),
      holder: uid,
      names: fc.subarray(['k', 'l', 'm'], { minLength: 1 }),
      capacity: fc.constantFrom(1, 1, 2),
      above: fc.subarray([...uids], { maxLength: 2 }),
    })
    .map(({ guards, holder, names, capacity, above }) => (at: number): Change => ({
      guards,
      take: { holder, above, worker: 'w', places: names.map((name) => ({ name, capacity })) },
      events: [eventRecord(at)],
    })),
  fc.record({ holder: uid, name: fc.constantFrom('k', 'l') }).map(({ holder, name }) => (at: number): Change => ({
    guards: [],
    line: { holder, worker: 'w', name },
    events: [eventRecord(at)],
  })),
  fc
    .record({ guards: fc.array(guard, { maxLength: 1 }), holder: uid, names: fc.option(fc.subarray(['k', 'l', 'm'])) })
    .map(({ guards, holder, names }) => (at: number): Change => ({
      guards,
      give: names ? { holder, names } : { holder },
      events: [eventRecord(at)],
    })),
  wait.map((id) => (at: number): Change => ({
    guards: [{ kind: 'open', wait: id }],
    resolveWait: { id, resolution: `{"value":${at}}` },
    events: [eventRecord(at)],
  })),
)

async function record(store: Store): Promise<unknown> {
  const calls = await Promise.all(uids.map(async (id) => store.call(id)))
  const steps = await Promise.all(
    uids.map(async (id) => (await store.steps(id)).map((step) => ({ ...step })).toSorted((a, b) => (a.key < b.key ? -1 : 1))),
  )
  const open = await Promise.all(waits.map(async (id) => ({ ...(await store.wait(id)) })))
  const events = (await store.events({ after: 0, limit: 1_000 })).map(({ at, seq, position }) => ({ at, seq, position }))
  const holds = (await store.holds()).map((hold) => ({ ...hold })).toSorted((a, b) => (a.name + a.holder < b.name + b.holder ? -1 : 1))
  return { calls, steps, open, events, holds }
}

test('DUR-7, DUR-11: groups at random mean the same on memory, SQLite and PostgreSQL', async () => {
  let run = 0
  const groups = fc.array(fc.array(change, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(groups, async (made) => {
      run++
      const stores = [
        memoryStore({ clock: systemClock }),
        sqliteStore({ file: join(folder, `${run}.db`), clock: systemClock, commit: 'process' }),
        await postgresStore({ connection: server.connection, schema: `same_${run}`, commit: 'process' }),
      ]
      try {
        let at = 0
        const used = new Set<string>()
        for (const store of stores) await store.renew('w', 600_000)
        for (const store of stores) await store.commit({ guards: [], insertWaits: waits.map((id) => waitRecord(id, 'u1')), events: [] })
        for (const group of made) {
          const changes = group.map((make) => make(++at, used))
          const answers = await Promise.all(stores.map((store) => Promise.all(changes.map((each) => store.commit(each)))))
          expect(answers[1]).toEqual(answers[0])
          expect(answers[2]).toEqual(answers[0])
        }
        const records = await Promise.all(stores.map(record))
        expect(records[1]).toEqual(records[0])
        expect(records[2]).toEqual(records[0])
      } finally {
        await Promise.all(stores.map((store) => store.close()))
      }
    }),
    { numRuns: 120 },
  )
}, 120_000)
