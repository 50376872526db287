// The part of recentCalls() that the stores share: picks the tenant's calls from a window of all calls.

import type { CallRecord } from './records/call-record.ts'
import type { RecentCalls, RecentCallsQuery } from './store.ts'

/** @param window Calls of all tenants below `before`, newest first, at most `scan` of them. */
export function recentCallsOf(window: readonly CallRecord[], { tenant, scan }: RecentCallsQuery): RecentCalls {
  const calls = tenant === undefined ? window : window.filter(({ position }) => position.tenant === tenant)
  return { calls, next: window.length < scan ? null : (window.at(-1)?.uid ?? null) }
}
