// Every store passes src/testing/store-cases: here the stores that need no server. PostgreSQL runs the same cases in
// test/store/postgres.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { hostSecret } from '../../src/security/host-secrets.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { Seal } from '../../src/security/seal.ts'
import { encryptedStore } from '../../src/store/encrypted-store.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { reasonToSkip, storeCases, type StoreTraits, titleOf } from '../../src/testing/store-cases/store-cases.ts'

interface Harness {
  readonly name: string
  readonly traits: StoreTraits
  /** A fresh location; `handle` opens the store there and `remove` deletes it. */
  place(clock: Clock): { handle(): Store; remove(): void }
}

const sqlite = (commit: 'power' | 'process', writer: 'inline' | 'thread'): Harness => ({
  name: `sqlite, ${commit}, ${writer}`,
  traits: { persistent: true, clock: 'given' },
  place(clock) {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-store-'))
    return {
      handle: () => sqliteStore({ file: join(folder, 'store.db'), clock, commit, writer }),
      remove: () => rmSync(folder, { recursive: true, force: true }),
    }
  },
})

const secret = hostSecret(Buffer.alloc(32, 7))
const seal = new Seal({ current: secret, first: secret, all: [secret] }, true)
/** The same store with everything encrypted, which must not be observable. */
const sealing = (harness: Harness): Harness => ({
  ...harness,
  name: `${harness.name}, sealed`,
  place(clock) {
    const place = harness.place(clock)
    return { ...place, handle: () => encryptedStore(place.handle(), { seal }) }
  },
})

const memory: Harness = {
  name: 'memory',
  traits: { persistent: false, clock: 'given' },
  place: (clock) => ({ handle: () => memoryStore({ clock }), remove: () => {} }),
}

const harnesses: readonly Harness[] = [
  memory,
  sqlite('power', 'inline'),
  sqlite('power', 'thread'),
  sqlite('process', 'inline'),
  sealing(memory),
  sealing(sqlite('power', 'inline')),
]

test('KIT-2: store cases have distinct titles, and every topic has some', () => {
  const titles = storeCases.map(titleOf)
  expect(new Set(titles).size).toBe(titles.length)
  expect([...new Set(storeCases.map((each) => each.topic))].toSorted()).toEqual([
    'claim',
    'commit',
    'documents',
    'feed',
    'fence',
    'hint',
    'lease',
    'list',
    'migrate',
    'payload',
    'retention',
    'semaphore',
    'timer',
    'wait',
  ])
})

for (const { name, traits, place } of harnesses) {
  describe(`KIT-2: ${name}`, () => {
    for (const each of storeCases) {
      const skip = reasonToSkip(each, traits)
      test(titleOf(each), async (context) => {
        if (skip) return context.skip(skip)
        const opened: Store[] = []
        const places: { remove(): void }[] = []
        try {
          await each.run(async (clock) => {
            const own = place(clock)
            places.push(own)
            const handle = (): Store => {
              const store = own.handle()
              opened.push(store)
              return store
            }
            return { store: handle(), again: async () => handle() }
          })
        } finally {
          await Promise.allSettled(opened.map((store) => store.close()))
          for (const own of places) own.remove()
        }
      })
    }
  })
}
