// The schedules of all sessions by their next slot, for operators and servers. Called by runtime.schedules.upcoming().

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import type { Foundation } from '../engine/foundation.ts'
import { collections } from '../store/collections.ts'
import type { StoredDocument } from '../store/store.ts'
import { readRow, type Schedule, toSchedule } from './schedule-row.ts'

/** A schedule of any session. Its texts are redacted. */
export interface UpcomingSchedule extends Schedule {
  /** Tenant of the schedule. */
  readonly tenant: string
  /** Session of the schedule. */
  readonly session: string
}

/** A page of upcoming schedules. */
export interface UpcomingPage {
  /** The next slot first. */
  readonly schedules: readonly UpcomingSchedule[]
  /** Pass it as `after` for the next page; null at the end. */
  readonly next: string | null
}

/** Which schedules runtime.schedules.upcoming() returns. Default: those of all tenants. */
export interface UpcomingQuery {
  /** Only schedules of this tenant. */
  readonly tenant?: string
  /** The page starts after this cursor; pass `next` of the previous page. */
  readonly after?: string
  /** Maximum number of schedules; default 100, at most 500. */
  readonly limit?: number
}

/** The schedules of all sessions. */
export interface RuntimeSchedules {
  /**
   * The schedules that have a next slot, earliest first. Paused and ended ones have none: `session.schedules.list()`
   * returns them. A page may have fewer than `limit`, or none, although `next` is set.
   *
   * @example
   * const { schedules } = await runtime.schedules.upcoming({ tenant: 'acme', limit: 10 })
   */
  upcoming(query?: UpcomingQuery): Promise<UpcomingPage>
}

export const upcomingOptions = {
  tenant: option.string,
  after: option.string,
  limit: option.wholeNumber(1, 500),
} satisfies OptionTable<UpcomingQuery>

/** Rows that one page reads. Wakes and deliveries of events are among them. */
const maxScanned = 2_000
const windowSize = 100

type Host = Pick<Foundation, 'store' | 'redact' | 'knownSecrets'>

export async function upcomingSchedules(host: Host, query: UpcomingQuery = {}): Promise<UpcomingPage> {
  checkOptions(query, upcomingOptions, 'schedules.upcoming()')
  const { tenant, after = '', limit = 100 } = query
  const of = { of: collections.due.of, ...(tenant === undefined ? {} : { tenant }) }
  const schedules: UpcomingSchedule[] = []
  let from = after
  try {
    for (let scanned = 0; scanned < maxScanned; scanned += windowSize) {
      const rows = await host.store.documentsOf({ ...of, after: from, limit: windowSize })
      for (const row of rows) {
        const found = await scheduleOf(host, row)
        if (found && schedules.push(found) === limit) return { schedules, next: row.key }
      }
      from = rows.at(-1)?.key ?? from
      if (rows.length < windowSize) return { schedules, next: null }
    }
  } catch (cause) {
    throw cause instanceof PawlError ? cause : new PawlError('store_unavailable', 'The read failed.', { cause })
  }
  return { schedules, next: from }
}

/** Undefined: the row is no schedule's, or the schedule has moved on since. */
async function scheduleOf(host: Host, due: StoredDocument): Promise<UpcomingSchedule | undefined> {
  const { schedule: id } = collections.due.parse(due.value) as { readonly schedule?: string }
  if (id === undefined) return undefined
  const scope = { tenant: due.tenant, session: due.session }
  const stored = await host.store.document(collections.schedule.name(scope, id))
  if (!stored) return undefined
  await host.knownSecrets.refresh(scope)
  return host.redact.deep({ ...toSchedule(id, readRow(stored)), ...scope })
}
