import type { CallOptions, CallRecord } from '../../store/records/call-record.ts'
import { sealedUid } from '../../store/records/sealed-uid.ts'
import type { Asked } from '../engine.ts'
import type { EngineState } from './engine-state.ts'

/** A call that nobody has asked for before, as it goes on record, held by who asks or by nobody yet; and what came with it. */
export function newRecord(asked: Asked, host: EngineState, ours: boolean): readonly [CallRecord, CallOptions | null] {
  const { ids, keys, lease, clock } = host
  const { position, principal, tool, input, hash, line, sealed = false } = asked
  const id = ids.next()
  const options = keys.current === keys.first ? asked.options : { ...asked.options, secret: keys.current.id }
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
    fence: ours ? 1 : 0,
    owner: ours ? lease.worker : null,
  }
  return [record, options]
}
