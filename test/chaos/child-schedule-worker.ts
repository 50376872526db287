// A worker for the kill tests of schedules: fires what is due by a clock on which a minute passes in a tenth of a second. It is killed from
// outside, or kills itself at the n-th write that fires something, before or after it is durable. Or it is stopped, from outside or by itself at such
// a write, until its lease is over and others have fired what it was about to.

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { tool } from 'pawl'
import { openRuntime } from '../../src/runtime.ts'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { note } from './effect-ledger.ts'

export interface ScheduleOrders {
  readonly db: string
  readonly postgres?: { readonly connection: object; readonly schema: string }
  readonly ledger: string
  /** When the fast clock began, and how fast it is. */
  readonly from: number
  readonly factor: number
  readonly killAt?: { readonly write: number; readonly when: 'before' | 'after' }
  /** Stops before this write of those that fire something. */
  readonly stopAt?: number
  /** A defect on purpose: what is fired is written in two changes, or whoever was first. */
  readonly plant?: 'two changes' | 'no guard'
}

export const leaseMs = 1_000

/** Time of day runs faster; leases are those of the machine. */
export const fastClock = (from: number, factor: number): Clock => ({
  ...systemClock,
  now: () => Math.floor(from + (Date.now() - from) * factor),
  timer: (ms, fire) => systemClock.timer(Math.ceil(ms / factor), fire),
})

const schema: unknown = { type: 'object' }
export const tickTool = (started: (slot: string) => void) =>
  tool({
    name: 'tick',
    description: 'Notes that it ran',
    input: schema as StandardSchemaV1<object>,
    onCrash: 'rerun',
    concurrency: 'parallel',
    background: true,
    execute: (_, ctx) => started(`${ctx.session}/${ctx.task?.id}`),
  })

export async function openScheduleStore({ db, postgres }: ScheduleOrders, clock: Clock): Promise<Store> {
  if (!postgres) return sqliteStore({ file: db, clock, commit: 'process' })
  const { postgresStore } = await import('../../src/store/postgres/postgres-store.ts')
  return postgresStore({ ...postgres, clock })
}

export const keys = { secret: 'a secret that all workers of the chaos share' }

function broken(store: Store, { plant }: ScheduleOrders): Store {
  if (!plant) return store
  return {
    ...store,
    async commit(change) {
      const { insertCall, guards, documents: documents = [], ...rest } = change
      if (!insertCall || !documents.some(({ of }) => of === 'due')) return store.commit(change)
      if (plant === 'no guard') return store.commit({ ...change, guards: guards.filter(({ kind }) => kind !== 'kept') })
      const isOurs = ({ of }: { of: string }): boolean => of === 'due' || of === 'schedule'
      const moved = await store.commit({
        guards: guards.filter(({ kind }) => kind === 'kept'),
        documents: documents.filter(isOurs),
        events: [],
      })
      if (!moved.ok) return moved
      await new Promise((resolve) => setTimeout(resolve, 5))
      return store.commit({
        ...rest,
        insertCall,
        guards: guards.filter(({ kind }) => kind !== 'kept'),
        documents: documents.filter((each) => !isOurs(each)),
      })
    },
  }
}

const fires = ({ documents: documents = [] }: Change): boolean => documents.some(({ of, value }) => of === 'due' && value === null)

function killing(store: Store, { killAt }: ScheduleOrders): Store {
  if (!killAt) return store
  let writes = 0
  return {
    ...store,
    commit(change) {
      const here = fires(change) && ++writes === killAt.write
      if (here && killAt.when === 'before') process.kill(process.pid, 'SIGKILL')
      const committed = store.commit(change)
      return here ? committed.then((answer) => (process.kill(process.pid, 'SIGKILL'), answer)) : committed
    },
  }
}

function stopping(store: Store, { stopAt }: ScheduleOrders): Store {
  if (stopAt === undefined) return store
  let writes = 0
  return {
    ...store,
    async commit(change) {
      if (fires(change) && ++writes === stopAt) {
        await new Promise<void>((resolve) => process.send?.('stopping', () => resolve()))
        process.kill(process.pid, 'SIGSTOP')
        // The signal may take a moment to arrive: go nowhere until it has.
        for (const until = performance.now() + 50; performance.now() < until;);
      }
      return store.commit(change)
    },
  }
}

if (process.env.PAWL_SCHEDULE_ORDERS !== undefined) {
  const orders = JSON.parse(process.env.PAWL_SCHEDULE_ORDERS) as ScheduleOrders
  const clock = fastClock(orders.from, orders.factor)
  const store = await openScheduleStore(orders, clock)
  await openRuntime({
    store: stopping(broken(killing(store, orders), orders), orders),
    tools: [tickTool((slot) => note(orders.ledger, slot, 'start'))],
    lease: leaseMs,
    poisonAfter: 1_000,
    clock,
    keys,
    logger: { debug() {}, info() {}, warn() {}, error: (message, fields) => console.error(message, fields) },
  })
  // Nobody is left to be told, or to end it.
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
  setInterval(() => {}, 1_000)
}
