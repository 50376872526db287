// Locations for session files in tests: each store, and a folder.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FilesOptions, openFiles } from '../../../src/storage/files/session-files.ts'
import type { Scope } from '../../../src/core/scope.ts'
import type { SessionFiles } from '../../../src/core/session-files-interface.ts'
import { hostSecret } from '../../../src/security/host-secrets.ts'
import { Seal } from '../../../src/security/seal.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { encryptedStore } from '../../../src/store/encrypted-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { manualClock, type ManualClock } from '../../../src/testing/manual-clock.ts'

export interface Keeping {
  readonly kind: string
  readonly clock: ManualClock
  readonly store: Store
  readonly of: Scope
  /** The folder, if the files are in one. */
  readonly folder: string | undefined
  /** Opens the same files again. */
  open(options?: Partial<FilesOptions>): SessionFiles
  end(): Promise<void>
}

let ids = 0
export const countedIds = { next: () => `id-${String(++ids).padStart(8, '0')}` }

export const keepingOn = (kind: string, store: Store, clock: ManualClock, folder?: string): Keeping => {
  const of = { tenant: 't', session: 's' }
  return {
    kind,
    clock,
    store,
    of,
    folder,
    open: (options = {}) =>
      openFiles({ store, clock, ids: countedIds, of, ...(folder === undefined ? {} : { folder }), ...options }),
    async end() {
      await store.close()
    },
  }
}

export const temporary = (): string => mkdtempSync(join(tmpdir(), 'pawl-files-'))

/** The locations that need no server. */
export const keepings: Readonly<Record<string, () => Keeping>> = {
  memory() {
    const clock = manualClock()
    return keepingOn('memory', memoryStore({ clock }), clock)
  },
  'sealed memory'() {
    const clock = manualClock()
    const secret = hostSecret(Buffer.alloc(32, 7))
    const seal = new Seal({ current: secret, first: secret, all: [secret] }, true)
    return keepingOn('memory', encryptedStore(memoryStore({ clock }), { seal }), clock)
  },
  sqlite() {
    const clock = manualClock()
    const place = temporary()
    const keeping = keepingOn('sqlite', sqliteStore({ file: join(place, 'store.db'), clock, commit: 'process' }), clock)
    return removing(keeping, place)
  },
  'a folder'() {
    const clock = manualClock()
    const place = temporary()
    const folder = join(place, 'root')
    mkdirSync(folder)
    return removing(keepingOn('folder', memoryStore({ clock }), clock, folder), place)
  },
}

const removing = (keeping: Keeping, place: string): Keeping => ({
  ...keeping,
  async end() {
    await keeping.end()
    rmSync(place, { recursive: true, force: true })
  },
})
