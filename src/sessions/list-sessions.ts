// runtime.sessions: lists the sessions that have calls, for operators and servers. Called by read-call-records.ts.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { announceSession } from '../store/journal-keys.ts'
import type { Store } from '../store/store.ts'

/** A session that has at least one recorded call. */
export interface SessionSummary {
  /** Tenant of the session. */
  readonly tenant: string
  /** Id of the session. */
  readonly session: string
  /** When its newest call was recorded, in milliseconds since 1970. A call that was erased since may still count. */
  readonly lastCallAt: number
}

/** Which sessions runtime.sessions.list() returns. Default: those of all tenants. */
export interface SessionsQuery {
  /**
   * Only sessions of this tenant. Default: all tenants. PostgreSQL finds them by stepping through the sessions of all
   * tenants, so a page may cost one row for each session in the store.
   */
  readonly tenant?: string
  /** The page starts after this session; pass the last item of the previous page. It may have been erased since. */
  readonly after?: (Pick<SessionSummary, 'tenant' | 'session'> & Partial<SessionSummary>) | undefined
  /** Maximum number of sessions; default 100, at most 1,000. */
  readonly limit?: number
}

/** Lists the sessions of all tenants, for operators. */
export interface RuntimeSessions {
  /**
   * A page of the sessions that have recorded calls, in a stable order, not by name or time. Sessions of agents are
   * among them. Only the last page is shorter than `limit`. The cost depends on the sessions, not on their calls.
   *
   * @example
   * const page = await runtime.sessions.list({ tenant: 'acme' })
   * const next = await runtime.sessions.list({ tenant: 'acme', after: page.at(-1) })
   */
  list(query?: SessionsQuery): Promise<SessionSummary[]>
}

const maxLimit = 1_000

export const sessionsQueryOptions = {
  tenant: option.string,
  after: option.nested({
    tenant: option.required(option.string),
    session: option.required(option.string),
    lastCallAt: option.number,
  }),
  limit: option.wholeNumber(1, maxLimit),
} satisfies OptionTable<SessionsQuery>

/** Every announcement of a wait is a call in a session of its own, which the runtime uses for nothing else. */
const internalPrefix = announceSession('')

export async function listSessions(store: Store, query: SessionsQuery = {}): Promise<SessionSummary[]> {
  checkOptions(query, sessionsQueryOptions, 'sessions.list()')
  const { tenant, after, limit = 100 } = query
  if (tenant !== undefined && after !== undefined && after.tenant !== tenant)
    throw new PawlError('config_invalid', '`after` is a session of another tenant than `tenant`.')
  return store.sessions({
    limit,
    exceptPrefix: internalPrefix,
    ...(tenant === undefined ? {} : { tenant }),
    ...(after ? { after: { tenant: after.tenant, session: after.session } } : {}),
  })
}
