// A worker process for the scheduler kill tests: fires due slots by a shared clock that the test moves, a minute per
// second or faster. It is killed, or stopped until its lease has expired and other workers have fired its slots. Both
// happen from outside, or at the n-th write that fires a slot.

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
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
  /** File with the current time: the test writes it, all workers read it. */
  readonly clock: string
  readonly killAt?: { readonly write: number; readonly when: 'before' | 'after' }
  /** Stops the process before the n-th write that fires a slot. */
  readonly stopAt?: number
  /**
   * A planted defect: the slot is written in two commits, or without the guard that lets only the first worker fire it.
   */
  readonly plant?: 'two changes' | 'no guard'
}

export const leaseMs = 1_000

/** Sets the time that all workers read. */
export function setClock(file: string, now: number): void {
  // Written in place, so that a reader sees either the old time or the new one.
  const fd = openSync(file, constants.O_RDWR | constants.O_CREAT)
  writeSync(fd, new Float64Array([now]), 0, 8, 0)
  closeSync(fd)
}

const lookMs = 5

/** Reads the time of day from the file; leases use the clock of the machine. */
export function sharedClock(file: string): Clock {
  const fd = openSync(file, 'r')
  const read = new Float64Array(1)
  const now = (): number => {
    readSync(fd, read, 0, 8, 0)
    return Math.floor(read[0] as number)
  }
  return {
    ...systemClock,
    now,
    timer(ms, fire) {
      const due = now() + ms
      let callOff = (): void => {}
      const look = (): void => {
        if (now() >= due) fire()
        else callOff = systemClock.timer(lookMs, look)
      }
      callOff = systemClock.timer(0, look)
      return () => callOff()
    },
  }
}

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
      const { insertCall, guards, documents = [], ...rest } = change
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

const fires = ({ documents = [] }: Change): boolean => documents.some(({ of, value }) => of === 'due' && value === null)

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
        // SIGSTOP may arrive late: spin here until it does.
        for (const until = performance.now() + 50; performance.now() < until;);
      }
      return store.commit(change)
    },
  }
}

if (process.env.PAWL_SCHEDULE_ORDERS !== undefined) {
  const orders = JSON.parse(process.env.PAWL_SCHEDULE_ORDERS) as ScheduleOrders
  const clock = sharedClock(orders.clock)
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
  // The parent is gone, so this process must end itself.
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
  setInterval(() => {}, 1_000)
}
