// Set-up for the tests of known failures of other projects: a store that outlives its workers, a manual clock, and
// tools whose effects are recorded outside the store.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallOutcome, createRuntime, type EventRecord, type InboxItem, type OpenCall, type Runtime, type RuntimeOptions, type Session, type Tool, tool } from 'pawl' // prettier-ignore
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, vi } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../src/store/store.ts'
import { quiet } from './stores/fresh-store.ts'
import { mortal, storeOf } from './stores/killable-store.ts'

export interface Refund {
  readonly order: string
  readonly cents: number
}

export const bea = { by: 'user:bea' }
export const cem = { by: 'user:cem' }

/** The refunds that happened, in order. */
export class Ledger {
  readonly refunds: Refund[] = []
  get cents(): number[] {
    return this.refunds.map(({ cents }) => cents).toSorted((a, b) => a - b)
  }
}

type More = Partial<Omit<Parameters<typeof tool>[0], 'input' | 'execute'>>

/** A destructive tool, so its calls need approval. */
export const refunding = (ledger: Ledger, more: More & { name?: string } = {}): Tool =>
  tool({
    name: 'refund',
    description: 'Refund an order. Money goes back.',
    hints: { destructive: true },
    input: z.object({ order: z.string(), cents: z.number() }),
    ...more,
    execute: (input: Refund) => {
      ledger.refunds.push(input)
      return { refunded: input.cents }
    },
  } as never)

export const ask = (cents: number, id = 'c1', name = 'refund') => ({ id, name, input: { order: 'A1', cents } })

/** A killable worker: after die() the store does not answer it and drops its writes. */
export interface Doomed {
  readonly runtime: Runtime
  die(): void
}

export interface Ground {
  readonly clock: ManualClock
  readonly ledger: Ledger
  /** Opens a worker. Each has its own store object, like another process (memory has only one). */
  open(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
  doomed(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Doomed>
}

export function onGround(name: string, define: (ground: Ground) => void): void {
  describe.each(['memory', 'sqlite'] as const)(`${name} (%s)`, (kind) => {
    let dir: string
    let clock: ManualClock
    let ledger: Ledger
    let shared: Store | null = null
    const stores = new Set<Store>()
    const open: Runtime[] = []

    beforeEach(() => {
      dir = mkdtempSync(join(tmpdir(), 'pawl-pain-'))
      clock = manualClock()
      ledger = new Ledger()
    })
    afterEach(async () => {
      await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
      await Promise.all([...stores].map((store) => store.close()))
      stores.clear()
      shared = null
      rmSync(dir, { recursive: true, force: true })
    })

    const storeHere = (): Store => {
      const store = kind === 'memory' && shared ? shared : storeOf(kind, join(dir, 'agent.db'), clock)
      shared = store
      stores.add(store)
      return store
    }
    const started = (store: Store, tools: readonly Tool[], options: Partial<RuntimeOptions> = {}): Promise<Runtime> =>
      createRuntime({ clock, logger: quiet, keys: { secret: 'k'.repeat(32) }, ...options, store, tools })
    define({
      get clock() {
        return clock
      },
      get ledger() {
        return ledger
      },
      async open(tools, options) {
        const runtime = await started(storeHere(), tools, options)
        open.push(runtime)
        return runtime
      },
      async doomed(tools, options) {
        const { store, die } = mortal(storeHere())
        return { runtime: await started(store, tools, options), die }
      },
    })
  })
}

export const session = (runtime: Runtime, id = 'chat', more: object = {}): Session =>
  runtime.session(id, { tenant: 'acme', principal: 'user:ada', ...more })

/** The inbox, once it has this many items. */
export const waiting = (runtime: Runtime, count = 1): Promise<InboxItem[]> =>
  vi.waitUntil(async () => {
    const items = await runtime.inbox({ limit: 1_000 })
    return items.length === count && items
  }, { interval: 1, timeout: 10_000 }) // prettier-ignore

export const only = async (runtime: Runtime): Promise<InboxItem> => (await waiting(runtime))[0] as InboxItem

/** The new inbox item of the same call after its tool or arguments changed. */
export const askedAgain = (runtime: Runtime, before: InboxItem): Promise<InboxItem> =>
  vi.waitUntil(async () => (await runtime.inbox()).find(({ id, call }) => call === before.call && id !== before.id), {
    interval: 1,
  })

export const codeOf = (outcome: CallOutcome | OpenCall | undefined): string =>
  outcome?.status === 'failure' ? outcome.failure.code : (outcome?.status ?? 'none')

export const textOf = (outcome: Pick<CallOutcome, 'parts'> | undefined): string =>
  outcome?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''

/** The events of a session until this many calls have settled. */
export async function eventsOf(of: Session, settled = 1): Promise<EventRecord[]> {
  const events: EventRecord[] = []
  for await (const event of of.events({ internal: true })) {
    events.push(event as EventRecord)
    if (event.type === 'call.settled' && --settled === 0) break
  }
  return events
}

/** For runs that are not awaited because their worker dies. */
export const unheard = (promise: Promise<unknown>): void => void promise.catch(() => {})
