// Cancels the nested calls and agent turns that a body started before its worker died. A body that resumes
// finds them itself. If the call is cancelled before its body resumes, nothing else would stop them.

import { type CallRecord, parseCallOptions } from '../../../store/records/call-record.ts'
import { isTurn } from '../../../store/records/conversation.ts'
import type { Store } from '../../../store/store.ts'
import type { Stop } from '../../engine.ts'
import type { Cancellations } from './cancellation.ts'
import type { EngineState } from '../engine-state.ts'
import { collections } from '../../../store/collections.ts'

const pageSize = 200

/** For a call that settled as cancelled or unknown. If its body had not started before, it has no children. */
export function stopChildren(
  { request, stopped }: { request: CallRecord; stopped: Stop | null },
  { store, logger }: EngineState,
  cancellations: Cancellations,
): void {
  if (request.attempt === 0) return
  const why =
    stopped && 'cancel' in stopped
      ? { reason: stopped.cancel, by: stopped.by }
      : { reason: 'The parent call ended', by: null }
  cancellations
    .retryUntilStored(`under ${request.uid}`, async () => {
      for (const uid of await openChildCalls(store, request)) await cancellations.cancel(uid, why)
      for (const uid of await openAgentTurns(store, request)) await cancellations.cancel(uid, why)
    })
    .catch((error: unknown) =>
      logger.warn('Nested calls of a cancelled call could not be cancelled', { call: request.uid, error }),
    )
}

/** Open nested calls. They are younger than their parent, so older calls are not read. */
async function openChildCalls(store: Store, { uid, position }: CallRecord): Promise<string[]> {
  const found: string[] = []
  for (let after = uid; ;) {
    const calls = await store.callsOf(position, { after, limit: pageSize })
    for (const { uid: child, state, options } of calls) {
      if (state === 'settled' || options === null) continue
      const { root, above = [] } = parseCallOptions(options)
      if (root === uid || above.includes(uid)) found.push(child)
    }
    if (calls.length < pageSize) return found
    after = (calls.at(-1) as CallRecord).uid
  }
}

/** Open turns of agents this call started, in their own sessions. */
async function openAgentTurns(store: Store, { uid, position: { tenant, session } }: CallRecord): Promise<string[]> {
  const found: string[] = []
  for await (const { key: agent } of collections.sessionWorking.iterate(store, { tenant, session })) {
    const parent = await store.document(collections.sessionParent.name({ tenant, session: agent }))
    if (!parent || collections.sessionParent.parse(parent.value).call !== uid) continue
    for (const call of await store.unsettled({ of: { tenant, session: agent }, after: '', limit: pageSize }))
      if (isTurn(call)) found.push(call.uid)
  }
  return found
}
