// The calls that a body made before its worker died, and the agents that it let work. A body that is taken up again finds them when it comes to them; one that ends before
// because it is cancelled never does, and nobody else would ever stop them (TIME-3).

import type { CallOptions, CallRecord } from '../../../store/records/call-record.ts'
import { isTurn, parentName, type ParentRow, workingName } from '../../../store/records/conversation.ts'
import { iterateDocuments } from '../../../store/iterate-documents.ts'
import type { Store } from '../../../store/store.ts'
import type { Stop } from '../../engine.ts'
import type { Cancels } from './cancellation.ts'
import type { EngineState } from '../engine-state.ts'

const page = 200

/** For a call that ended as cancelled. If its body had not begun before this worker took it up, it has made none. */
export function takeDown(
  { request, stopped }: { request: CallRecord; stopped: Stop | null },
  { store, logger }: EngineState,
  cancels: Cancels,
): void {
  if (request.attempt === 0) return
  const why =
    stopped && 'cancel' in stopped
      ? { reason: stopped.cancel, by: stopped.by }
      : { reason: 'The call above it ended', by: null }
  cancels
    .surely(`under ${request.uid}`, async () => {
      for (const uid of await openUnder(store, request)) await cancels.cancel(uid, why)
      for (const uid of await agentsUnder(store, request)) await cancels.cancel(uid, why)
    })
    .catch((error: unknown) =>
      logger.warn('Calls under a cancelled one could not be cancelled', { call: request.uid, error }),
    )
}

/** Open calls under this one. They were made after it, so what came before is not read. */
async function openUnder(store: Store, { uid, position }: CallRecord): Promise<string[]> {
  const found: string[] = []
  for (let after = uid; ;) {
    const calls = await store.callsOf(position, { after, limit: page })
    for (const { uid: child, state, options } of calls) {
      if (state === 'settled' || options === null) continue
      const { root, above = [] } = JSON.parse(options) as CallOptions
      if (root === uid || above.includes(uid)) found.push(child)
    }
    if (calls.length < page) return found
    after = (calls.at(-1) as CallRecord).uid
  }
}

/** Open turns of the agents that it let work, in sessions of their own. */
async function agentsUnder(store: Store, { uid, position: { tenant, session } }: CallRecord): Promise<string[]> {
  const found: string[] = []
  for await (const { key: agent } of iterateDocuments(store, {
    of: workingName({ tenant, session }, '').of,
    tenant,
    session,
  })) {
    const kept = await store.document(parentName({ tenant, session: agent }))
    if (!kept || (JSON.parse(kept.value) as ParentRow).call !== uid) continue
    for (const call of await store.unsettled({ of: { tenant, session: agent }, after: '', limit: page }))
      if (isTurn(call)) found.push(call.uid)
  }
  return found
}
