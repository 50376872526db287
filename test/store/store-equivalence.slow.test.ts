// Random groups of changes and commands on memory, SQLite and PostgreSQL: answers and records must be equal. The
// memory store applies changes one by one, so it is the reference.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fc } from '../kit/seeded-fast-check.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { CallState } from '../../src/store/records/call-record.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Change, Guard, Store } from '../../src/store/store.ts'
import {
  attachmentRecord,
  callRecord,
  eventRecord,
  callPosition,
  progressOf,
  stepRecord,
  waitRecord,
} from '../../src/testing/store-cases/record-builders.ts'
import { serverWithAdmin } from '../kit/stores/postgres-for-file.ts'

const server = serverWithAdmin('same')
let postgres: Store
const folder = mkdtempSync(join(tmpdir(), 'pawl-same-'))
beforeAll(async () => {
  postgres = await postgresStore({ connection: server.connection, schema: 'same', commit: 'process' })
}, 60_000)
afterAll(async () => {
  await postgres?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Resets the PostgreSQL store; creating a schema per run would take longer than the run. */
async function empty(): Promise<void> {
  const { rows } = await server.admin.query(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'same'`)
  for (const { name } of rows as { name: string }[]) {
    if (!['meta', 'settings', 'log', 'erasures'].includes(name)) await server.admin.query(`DELETE FROM ${name}`)
  }
  await server.admin.query(
    `UPDATE log SET position = 0; DELETE FROM erasures WHERE scope <> ''; UPDATE erasures SET position = 0, count = 0`,
  )
}

const uids = ['u1', 'u2', 'u3', 'u4'] as const
const placeFor = { u1: 'p1', u2: 'p2', u3: 'p3', u4: 'p1' }
const sessionOf = { u1: 's', u2: 's', u3: 's2', u4: 's' }
const workers = ['w', 'x', 'y'] as const
const files = ['f1', 'f2'] as const
const waits = ['w1', 'w2'] as const
const uid = fc.constantFrom(...uids)
const wait = fc.constantFrom(...waits)
const fence = fc.constantFrom(1, 1, 1, 2)
const state = fc.constantFrom<CallState>('queued', 'running', 'running', 'parked', 'settled')

const thing = { of: 'o', tenant: 't', key: 'k' }

const guard: fc.Arbitrary<Guard> = fc.oneof(
  fc.record({ kind: fc.constant('holds' as const), call: uid, fence }),
  fc.record({ kind: fc.constant('held' as const), call: uid, fence }),
  fc.record({ kind: fc.constant('unsettled' as const), call: uid }),
  fc.record({ kind: fc.constant('open' as const), wait }),
  fc
    .record({ session: fc.constantFrom('s', 's2'), revision: fc.constantFrom(0, 1, 2) })
    .map((k) => ({ kind: 'kept' as const, ...thing, ...k })),
)

/** Changes as the engine writes them, and changes it would never write. */
const change: fc.Arbitrary<(at: number, used: Set<string>) => Change> = fc.oneof(
  // Two calls at one position: the second is rejected. Uids are never reused.
  uid.map((id) => (at: number, used: Set<string>): Change => {
    const call = callRecord(used.has(id) ? `${id} again ${at}` : id, {
      // Deliberately not in insertion order.
      createdAt: (at * 7) % 5,
      owner: 'w',
      position: callPosition({ id: placeFor[id], session: sessionOf[id] }),
    })
    used.add(id)
    return {
      guards: [{ kind: 'absent', position: call.position }],
      insertCall: call,
      events: [eventRecord(at, { session: sessionOf[id], call: call.uid })],
    }
  }),
  fc
    .record({ call: uid, fence, state, wait, release: fc.boolean(), also: fc.option(guard) })
    .map((m) => (at: number): Change => ({
      // A call parks only on an open wait.
      guards: [
        { kind: 'holds', call: m.call, fence: m.fence },
        ...(m.state === 'parked' ? [{ kind: 'open', wait: m.wait } as const] : m.also ? [m.also] : []),
      ],
      updateCall: {
        uid: m.call,
        progress: progressOf(callRecord(m.call), {
          state: m.state,
          wait: m.wait,
          args: `"${at}"`,
          attempt: at,
          settledAt: m.state === 'settled' ? at : null,
        }),
        release: m.release,
      },
      events: [eventRecord(at)],
    })),
  fc
    .record({ guards: fc.array(guard, { maxLength: 2 }), session: fc.constantFrom('s', 's2'), gone: fc.boolean() })
    .map(({ guards, session, gone }) => (at: number): Change => ({
      guards,
      documents: [{ ...thing, session, value: gone ? null : `"${at}"` }],
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
      takeSlots: { holder, above, worker: 'w', slots: names.map((name) => ({ name, capacity })) },
      events: [eventRecord(at)],
    })),
  fc.record({ holder: uid, name: fc.constantFrom('k', 'l') }).map(({ holder, name }) => (at: number): Change => ({
    guards: [],
    queueForSlot: { holder, worker: 'w', name },
    events: [eventRecord(at)],
  })),
  fc
    .record({ guards: fc.array(guard, { maxLength: 1 }), holder: uid, names: fc.option(fc.subarray(['k', 'l', 'm'])) })
    .map(({ guards, holder, names }) => (at: number): Change => ({
      guards,
      releaseSlots: names ? { holder, names } : { holder },
      events: [eventRecord(at)],
    })),
  fc.record({ call: uid, fence, id: fc.constantFrom(...files) }).map((f) => (at: number): Change => ({
    guards: [{ kind: 'held', call: f.call, fence: f.fence }],
    attachments: [attachmentRecord(f.id)],
    uses: [{ tenant: 't', id: f.id, call: f.call }],
    events: [eventRecord(at, { session: sessionOf[f.call], call: f.call })],
  })),
  wait.map((id) => (at: number): Change => ({
    guards: [{ kind: 'open', wait: id }],
    resolveWait: { id, resolution: `{"value":${at}}` },
    events: [eventRecord(at)],
  })),
)

const worker = fc.constantFrom(...workers)
/** Store commands other than commit; their answers are compared. */
const command: fc.Arbitrary<{ say: string; run(store: Store, at: number): unknown }> = fc.oneof(
  worker.map((id) => ({ say: `renew ${id}`, run: (store: Store) => store.renew(id, 600_000) })),
  worker.map((id) => ({ say: `leave ${id}`, run: (store: Store) => store.leave(id) })),
  fc
    .record({
      id: worker,
      limit: fc.constantFrom(1, 2, 10),
      tools: fc.constantFrom(['tool'], ['other'], ['other', 'tool']),
    })
    .map((c) => ({
      say: `claim ${c.id} ${c.limit}`,
      run: async (store: Store) => {
        await store.renew(c.id, 600_000)
        return store.claim(c.id, c.tools, c.limit)
      },
    })),
  fc.constant({
    say: 'prune',
    run: (store: Store, at: number) => store.erase({ settledBefore: at - 2, after: '', limit: 100 }),
  }),
  fc.constantFrom('s', 's2').map((session) => ({
    say: `erase ${session}`,
    run: (store: Store) => store.erase({ of: { tenant: 't', session }, after: '', limit: 100 }),
  })),
  fc.constant({ say: 'erase all', run: (store: Store) => store.erase({ of: { tenant: 't' }, after: '', limit: 100 }) }),
  fc.constant({ say: 'list', run: (store: Store) => store.unsettled({ after: '', limit: 100 }) }),
)

async function record(store: Store): Promise<unknown> {
  const calls = await Promise.all(uids.map(async (id) => store.call(id)))
  const steps = await Promise.all(
    uids.map(async (id) =>
      (await store.steps(id)).map((step) => ({ ...step })).toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    ),
  )
  const open = await Promise.all(waits.map(async (id) => ({ ...(await store.wait(id)) })))
  const holds = (await store.holds())
    .map((hold) => ({ ...hold }))
    .toSorted((a, b) => (a.name + a.holder < b.name + b.holder ? -1 : 1))
  const events = (await store.events({ after: 0, limit: 1_000 })).map(({ at, seq, position, session }) => ({
    at,
    seq,
    position,
    session,
  }))
  const kept = await Promise.all(files.map(async (id) => (await store.attachment('t', id))?.id))
  const erased = await Promise.all(
    [undefined, 's', 's2'].map(async (session) => {
      const { count, position } = await store.erased(session ? { tenant: 't', session } : undefined)
      // The count of position numbers that a command consumes differs between stores, so only its sign is compared.
      return { any: count > 0, position }
    }),
  )
  const due = [await store.nextDeadline(), (await store.dueWaits(1e15, 10)).map(({ id }) => id)]
  const things = (await store.documentsOf({ of: 'o', tenant: 't', after: '', limit: 10 }))
    .map((each) => ({ ...each }))
    .toSorted((a, b) => (a.session < b.session ? -1 : 1))
  return { calls, steps, open, events, holds, kept, erased, due, things }
}

test('DUR-7, DUR-10, DUR-11: random changes and commands give equal results on all stores', async () => {
  let run = 0
  const group = fc.array(change, { minLength: 1, maxLength: 8 })
  const ops = fc.array(fc.oneof({ weight: 2, arbitrary: group }, { weight: 1, arbitrary: command }), {
    minLength: 1,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(ops, async (made) => {
      run++
      const stores = [
        memoryStore({ clock: systemClock }),
        sqliteStore({ file: join(folder, `${run}.db`), clock: systemClock, commit: 'process' }),
        { ...postgres, close: empty },
      ]
      try {
        let at = 0
        const used = new Set<string>()
        for (const store of stores) await store.renew('w', 600_000)
        const same = (answers: readonly unknown[]): void => {
          const [memory, sqlite, postgres] = JSON.parse(JSON.stringify(answers)) as unknown[]
          expect(sqlite).toEqual(memory)
          expect(postgres).toEqual(memory)
        }
        for (const store of stores)
          await store.commit({ guards: [], insertWaits: waits.map((id) => waitRecord(id, 'u1')), events: [] })
        for (const op of made) {
          if (Array.isArray(op)) {
            const changes = op.map((make) => make(++at, used))
            same(await Promise.all(stores.map((store) => Promise.all(changes.map((each) => store.commit(each))))))
          } else same(await Promise.all(stores.map(async (store) => ({ [op.say]: await op.run(store, at) }))))
        }
        same(await Promise.all(stores.map(record)))
      } finally {
        await Promise.all(stores.map((store) => store.close()))
      }
    }),
    { numRuns: 300, interruptAfterTimeLimit: 35_000 },
  )
}, 120_000)
