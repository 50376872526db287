import type { CallRecord } from '../../journal/call-state.ts'
import type { Asked } from '../engine.ts'

/** A call that nobody has asked for before, as it goes on record. */
export function newRecord(
  { position, principal, tool, input, hash, options }: Asked,
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
    fence: 1,
    owner,
  }
}
