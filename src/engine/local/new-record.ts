import type { CallRecord } from '../../journal/call-state.ts'
import type { Asked } from '../engine.ts'

/** A call that nobody has asked for before, as it goes on record: held by who asks, or by nobody yet. */
export function newRecord(
  { position, principal, tool, input, hash, options, line }: Asked,
  uid: string,
  owner: string | null,
  at: number,
): CallRecord {
  return {
    uid,
    position,
    principal,
    tool,
    input,
    hash,
    options: options && JSON.stringify(options),
    line,
    createdAt: at,
    state: 'received',
    args: null,
    terms: null,
    attempt: 0,
    startedAt: null,
    wait: null,
    outcome: null,
    settledAt: null,
    deaths: 0,
    trouble: null,
    fence: owner === null ? 0 : 1,
    owner,
  }
}
