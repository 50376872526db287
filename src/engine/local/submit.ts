// Records new calls: owned by this worker, or unowned until a worker claims them. Called by the local engine.

import type { Observers } from '../../core/observer.ts'
import { type CallRecord, attachmentsIn, type CallOptions, sealedUid } from '../../store/records/call-record.ts'
import { eventOf } from '../../store/records/event.ts'
import type { Change, Store, Written } from '../../store/store.ts'
import type { ExtraWrites, NewCall, SubmitResult } from '../engine.ts'
import type { EngineState } from './engine-state.ts'
import { observedName } from '../observed-call.ts'
import { activeTraceparent } from '../trace-scope.ts'

/** Resolves when the store has answered. */
export function submit(
  store: Store,
  record: CallRecord,
  newCall: NewCall,
  onAnswer: (answer: Written) => void,
): Promise<void> {
  return new Promise((resolve) => {
    store.write(insertChange(record, newCall.options?.name), (answer) => {
      onAnswer(answer)
      resolve()
    })
  })
}

/** Records the call with extra writes in one commit. Returns the existing call if the position is taken. */
export async function submitWith(
  host: EngineState,
  newCall: NewCall,
  extra: (uid: string) => ExtraWrites,
): Promise<SubmitResult> {
  const [record] = newRecord(newCall, host, false)
  const { guards = [], documents = [], events } = extra(record.uid)
  const change = insertChange(record, newCall.options?.name)
  const all = { ...change, guards: [...change.guards, ...guards], documents, events: [...change.events, ...events] }
  const committed = await host.store.commit(all)
  if (committed.ok) return { as: 'put', uid: record.uid }
  if (committed.refused.kind !== 'absent') return { as: 'refused' }
  const existing = await host.store.callAt(newCall.position)
  // The call was erased in between: the caller can retry and will find the position free.
  return existing ? { as: 'there', uid: existing.uid } : { as: 'refused' }
}

/** Inserts a call at a free position. `name` is the name the model used for the tool. */
export function insertChange(record: CallRecord, name = record.tool): Change {
  const { position, uid, createdAt, input } = record
  const { tenant, session } = position
  const events = [eventOf({ tenant, session, call: uid }, 'call.received', createdAt, { tool: name })]
  const uses = attachmentsIn(input).map((id) => ({ tenant, id, call: uid }))
  return { guards: [{ kind: 'absent', position }], insertCall: record, ...(uses.length > 0 ? { uses } : {}), events }
}

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
  const uid = sealed ? sealedUid(id) : id
  const trace = traceOf(newCall, uid, host.observers)
  const hasFirstSecret = keys.current === keys.first
  const options =
    hasFirstSecret && trace === null
      ? newCall.options
      : {
          ...newCall.options,
          ...(hasFirstSecret ? {} : { secret: keys.current.id }),
          ...(trace === null ? {} : { trace }),
        }
  const record: CallRecord = {
    uid,
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

/** The trace context to store with a new call; null if there is none. */
function traceOf({ position, tool, options }: NewCall, call: string, { tracing }: Observers): string | null {
  if (!tracing) return activeTraceparent()
  const { tenant, session } = position
  const parent = tracing.active() ?? activeTraceparent()
  return tracing.requested({ call, tool: observedName(tool, options ?? {}), tenant, session }, parent)
}
