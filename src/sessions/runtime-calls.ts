// runtime.calls: reads recorded calls of all sessions, for operators and servers. Called by read-call-records.ts.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { formatValue } from '../core/format-value.ts'
import { type CallDetails, type CallReader, detailsOf } from './session-calls.ts'
import { listRecentCalls, recentCallsOptions, type RecentCallPage, type RecentCallsOptions } from './recent-calls.ts'

/** A call of any session, for operators. */
export interface RuntimeCall extends CallDetails {
  /** Tenant of the call. */
  readonly tenant: string
  /** Session of the call. */
  readonly session: string
}

/** Options of runtime.calls.get(). */
export interface RuntimeCallOptions {
  /** Only a call of this tenant. Default: any tenant. */
  readonly tenant?: string
  /** Replaces secrets and hidden arguments, as in the feed. Default: false. */
  readonly redacted?: boolean
}

/** Reads recorded calls of all sessions, for operators. */
export interface RuntimeCalls {
  /**
   * The call with this uid, as `session.calls.get({ uid })` returns it, with its tenant and session; undefined if there
   * is none.
   *
   * @example
   * const call = await runtime.calls.get(event.call, { tenant: 'acme' })
   */
  get(uid: string, options?: RuntimeCallOptions): Promise<RuntimeCall | undefined>
  /**
   * The newest calls of all sessions, newest first, without arguments and results. A page looks at no more than 5,000
   * calls, so it may have fewer than `limit`, or none, although `next` is set.
   *
   * @example
   * const { calls, next } = await runtime.calls.recent({ tenant: 'acme', status: 'failure' })
   */
  recent(options?: RecentCallsOptions): Promise<RecentCallPage>
}

export const runtimeCallOptions = {
  tenant: option.string,
  redacted: option.boolean,
} satisfies OptionTable<RuntimeCallOptions>

/** Finds the session of a call by its uid, then reads the call as its session does. */
export function callsOfRuntime(host: CallReader): RuntimeCalls {
  return {
    async get(uid, options) {
      checkOptions(options, runtimeCallOptions, 'calls.get()')
      if (typeof uid !== 'string')
        throw new PawlError('call_invalid', `The call is ${formatValue(uid)}; it must be the uid of a call.`)
      const record = await host.store.call(uid)
      if (!record || (options?.tenant ?? record.position.tenant) !== record.position.tenant) return undefined
      const { tenant, session } = record.position
      return { ...(await detailsOf(host, record, options?.redacted)), tenant, session }
    },
    async recent(options = {}) {
      checkOptions(options, recentCallsOptions, 'calls.recent()')
      return listRecentCalls(host, options)
    },
  }
}
