// The schedules of all sessions, for operators and servers: those with a next slot, and those that are paused or ended.
// Called by runtime.schedules.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import type { Foundation } from '../engine/foundation.ts'
import { collections } from '../store/collections.ts'
import type { StoredDocument } from '../store/store.ts'
import { readRow, type Schedule, toSchedule } from './schedule-row.ts'

/** A schedule of any session. Its texts are redacted. */
export interface ListedSchedule extends Schedule {
  /** Tenant of the schedule. */
  readonly tenant: string
  /** Session of the schedule. */
  readonly session: string
}

/** A page of the upcoming schedules of all sessions. */
export interface SchedulePage {
  /** The next slot first. */
  readonly schedules: readonly ListedSchedule[]
  /** Pass it as `after` for the next page; null at the end. */
  readonly next: string | null
}

/** Which schedules runtime.schedules.upcoming() returns. Default: those of all tenants. */
export interface SchedulesQuery {
  /** Only schedules of this tenant. */
  readonly tenant?: string
  /** The page starts after this cursor; pass `next` of the previous page. */
  readonly after?: string
  /** Maximum number of schedules; default 100, at most 500. */
  readonly limit?: number
}

/** The paused and ended schedules of all sessions. */
export interface StoppedSchedules {
  /** Ordered by id. */
  readonly schedules: readonly ListedSchedule[]
  /** False: there may be more, because of `limit` or because there are more than 10,000 schedules. */
  readonly complete: boolean
}

/** The schedules of all sessions. */
export interface RuntimeSchedules {
  /**
   * The schedules that have a next slot, earliest first. A page may have fewer than `limit`, or none, although `next` is
   * set.
   *
   * @example
   * const { schedules } = await runtime.schedules.upcoming({ tenant: 'acme', limit: 10 })
   */
  upcoming(query?: SchedulesQuery): Promise<SchedulePage>
  /**
   * The schedules that have no next slot, because they are paused or have ended.
   *
   * @example
   * const { schedules } = await runtime.schedules.stopped({ tenant: 'acme' })
   */
  stopped(query?: Omit<SchedulesQuery, 'after'>): Promise<StoppedSchedules>
}

export const stoppedQueryOptions = {
  tenant: option.string,
  limit: option.wholeNumber(1, 500),
} satisfies OptionTable<Omit<SchedulesQuery, 'after'>>
export const schedulesQueryOptions = {
  ...stoppedQueryOptions,
  after: option.string,
} satisfies OptionTable<SchedulesQuery>

/** Due rows that one page reads. Wakes and deliveries of events are among them. */
const maxScanned = 2_000
const windowSize = 100
/** Rows of schedules that one list of stopped ones reads. */
const maxSchedules = 10_000

type Host = Pick<Foundation, 'store' | 'redact' | 'knownSecrets'>

export const schedulesOfAllSessions = (host: Host): RuntimeSchedules => ({
  async upcoming(query = {}) {
    checkOptions(query, schedulesQueryOptions, 'schedules.upcoming()')
    return reading(() => upcoming(host, query))
  },
  async stopped(query = {}) {
    checkOptions(query, stoppedQueryOptions, 'schedules.stopped()')
    return reading(() => stopped(host, query))
  },
})

async function reading<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    throw cause instanceof PawlError ? cause : new PawlError('store_unavailable', 'The read failed.', { cause })
  }
}

async function upcoming({ store, ...host }: Host, query: SchedulesQuery): Promise<SchedulePage> {
  const { tenant, after = '', limit = 100 } = query
  const of = { of: collections.due.of, ...(tenant === undefined ? {} : { tenant }) }
  const schedules: ListedSchedule[] = []
  let from = after
  for (let scanned = 0; scanned < maxScanned; scanned += windowSize) {
    const rows = await store.documentsOf({ ...of, after: from, limit: windowSize })
    for (const row of rows) {
      const found = await dueSchedule({ store, ...host }, row)
      if (found && schedules.push(found) === limit) return { schedules, next: row.key }
    }
    from = rows.at(-1)?.key ?? from
    if (rows.length < windowSize) return { schedules, next: null }
  }
  return { schedules, next: from }
}

/** Undefined: the row is no schedule's, or the schedule has moved on since. */
async function dueSchedule(host: Host, due: StoredDocument): Promise<ListedSchedule | undefined> {
  const { schedule: id } = collections.due.parse(due.value) as { readonly schedule?: string }
  if (id === undefined) return undefined
  const stored = await host.store.document(collections.schedule.name(due, id))
  return stored && listed(host, stored)
}

/** Sessions may use the same ids, so their rows cannot be paged by key: all are read at once, up to a limit. */
async function stopped(host: Host, { tenant, limit = 100 }: SchedulesQuery): Promise<StoppedSchedules> {
  const of = { of: collections.schedule.of, ...(tenant === undefined ? {} : { tenant }) }
  const rows = await host.store.documentsOf({ ...of, after: '', limit: maxSchedules })
  const found = rows.filter((row) => readRow(row).state !== 'active')
  const schedules = await Promise.all(found.slice(0, limit).map((row) => listed(host, row)))
  return { schedules, complete: rows.length < maxSchedules && found.length <= limit }
}

async function listed({ redact, knownSecrets }: Host, stored: StoredDocument): Promise<ListedSchedule> {
  const { tenant, session, key: id } = stored
  await knownSecrets.refresh({ tenant, session })
  return redact.deep({ ...toSchedule(id, readRow(stored)), tenant, session })
}
