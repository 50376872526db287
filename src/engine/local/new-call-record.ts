// Builds the record of a new call. Called by the local engine and by code that submits calls.

import { type CallOptions, type CallRecord, sealedUid } from '../../store/records/call-record.ts'
import type { NewCall } from '../engine.ts'
import type { EngineState } from './engine-state.ts'

/**
 * Record of a new call, owned by this worker (`isOurs`) or unowned, and its options with the id of the current secret.
 */
export function newRecord(
  newCall: NewCall,
  host: EngineState,
  isOurs: boolean,
): readonly [CallRecord, CallOptions | null] {
  const { ids, keys, lease, clock } = host
  const { position, principal, tool, input, hash, line, sealed = false } = newCall
  const id = ids.next()
  const options = keys.current === keys.first ? newCall.options : { ...newCall.options, secret: keys.current.id }
  const record: CallRecord = {
    uid: sealed ? sealedUid(id) : id,
    position,
    principal,
    tool,
    input,
    hash,
    options: options && JSON.stringify(options),
    line,
    createdAt: clock.now(),
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
    fence: isOurs ? 1 : 0,
    owner: isOurs ? lease.worker : null,
  }
  return [record, options]
}
