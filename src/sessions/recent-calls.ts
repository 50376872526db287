// The newest calls of all sessions: rows for a table, without arguments and results. Called by runtime-calls.ts.

import { option, type OptionTable } from '../core/check-options.ts'
import { type OutcomeStatus, outcomeStatuses } from '../core/outcome.ts'
import { taskBatch } from '../store/journal-keys.ts'
import { type CallRecord, type CallState, callStates } from '../store/records/call-record.ts'
import { type CallReader, summaryOf } from './session-calls.ts'

/** A call of any session as a row: without arguments and results. Its texts are redacted. */
export interface RecentCall {
  /** Unique in the store and ordered by creation. */
  readonly uid: string
  /** Tenant of the call. */
  readonly tenant: string
  /** Session of the call. */
  readonly session: string
  /** The model's id of the call. */
  readonly callId: string
  /** The batch it was run in. */
  readonly batch: string
  /** The tool name the model used. */
  readonly name: string
  /** The principal of the session that made the call. */
  readonly principal: string | null
  /** Where the call is. */
  readonly state: CallState
  /** Null until the call is settled. */
  readonly status: OutcomeStatus | null
  /** Why it failed, was cancelled or is unknown; null otherwise. */
  readonly message: string | null
  /** The code of the failure, such as `denied_by_person`; null if it did not fail. */
  readonly code: string | null
  /** How many times the body was started. */
  readonly attempts: number
  /** When it was recorded, in milliseconds since 1970. */
  readonly createdAt: number
  /** When the last attempt started. */
  readonly startedAt: number | null
  /** When it was settled; null while it is open. */
  readonly settledAt: number | null
}

/** A page of recent calls. */
export interface RecentCallPage {
  /** Newest first. */
  readonly calls: readonly RecentCall[]
  /** Pass it as `before` for the next page; null at the end. */
  readonly next: string | null
}

/** Which calls runtime.calls.recent() returns. Default: the newest of all tenants. */
export interface RecentCallsOptions {
  /** Only calls of this tenant. Default: all tenants. */
  readonly tenant?: string
  /** Only calls of this session. */
  readonly session?: string
  /** Outcome status or call state. */
  readonly status?: OutcomeStatus | CallState
  /** Tool name as requested or as recorded. */
  readonly tool?: string
  /** Only calls that were started as background tasks. The `callId` of the row is the id of the task. */
  readonly tasks?: boolean
  /** Only calls that were recorded at this instant or later, in milliseconds since 1970. */
  readonly since?: number
  /** Only calls that were recorded before this instant, in milliseconds since 1970. */
  readonly until?: number
  /** The page starts below this uid; pass `next` of the previous page. */
  readonly before?: string
  /** Maximum number of calls; default 100, at most 1,000. */
  readonly limit?: number
}

export const recentCallsOptions = {
  tenant: option.string,
  session: option.string,
  status: option.oneOf(...callStates, ...outcomeStatuses),
  tool: option.string,
  tasks: option.boolean,
  since: option.wholeNumber(0),
  until: option.wholeNumber(0),
  before: option.string,
  limit: option.wholeNumber(1, 1_000),
} satisfies OptionTable<RecentCallsOptions>

/** Calls that one page looks at, so that a filter that matches little does not read the whole store. */
const maxScanned = 5_000
const windowSize = 200
/** A longer message is shown with the call itself. */
const maxMessage = 300

export async function listRecentCalls(host: CallReader, options: RecentCallsOptions): Promise<RecentCallPage> {
  const { tenant, session, status, tool, tasks = false, before = null, limit = 100 } = options
  const { since = 0, until = Infinity } = options
  const calls: RecentCall[] = []
  const known = new Set<string>()
  let from = before
  for (let scanned = 0; scanned < maxScanned; scanned += windowSize) {
    const of = tenant === undefined ? {} : { tenant }
    const found = await host.store.recentCalls({ ...of, before: from, scan: windowSize })
    for (const record of found.calls) {
      // The order of the uids is that of the recording, so all further calls are older.
      if (record.createdAt < since) return { calls, next: null }
      if (record.createdAt >= until) continue
      if (session !== undefined && record.position.session !== session) continue
      if (tasks && record.position.batch !== taskBatch) continue
      const row = await rowOf(host, record, known)
      if (tool !== undefined && row.name !== tool && record.tool !== tool) continue
      if (status !== undefined && row.state !== status && row.status !== status) continue
      if (calls.push(row) === limit) return { calls, next: record.uid }
    }
    from = found.next
    if (from === null) break
  }
  return { calls, next: from }
}

async function rowOf(host: CallReader, record: CallRecord, known: Set<string>): Promise<RecentCall> {
  const { tenant, session } = record.position
  const scope = JSON.stringify([tenant, session])
  // The secrets of the session, once for each page.
  if (!known.has(scope)) await host.knownSecrets.refresh({ tenant, session })
  known.add(scope)
  const { uid, callId, batch, name, principal, state, attempts, createdAt, startedAt, settledAt, outcome } = summaryOf(
    record,
    host.redact,
  )
  const message =
    outcome?.status === 'failure'
      ? outcome.failure.message
      : outcome?.status === 'cancelled'
        ? outcome.cancellation.message
        : outcome?.status === 'unknown'
          ? outcome.unknown.message
          : null
  const row: RecentCall = {
    uid,
    tenant,
    session,
    callId,
    batch,
    name,
    principal,
    state,
    status: outcome?.status ?? null,
    message: message === null ? null : message.slice(0, maxMessage),
    code: outcome?.status === 'failure' ? outcome.failure.code : null,
    attempts,
    createdAt,
    startedAt,
    settledAt,
  }
  return host.redact.deep(row)
}
