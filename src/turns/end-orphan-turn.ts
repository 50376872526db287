// Ends a cancelled turn that no worker holds and whose model is not registered here: no worker would pick up the
// cancellation, and the session would stay blocked. Called by the worker that cancels it.

import { type HeadRow, isTurn, turnTool } from '../store/records/conversation.ts'
import { type CallRecord, progressOf } from '../store/records/call-record.ts'
import { eventOf } from '../store/records/event.ts'
import type { CancelReason } from '../engine/engine.ts'
import type { Outcome } from '../core/outcome.ts'
import { encode } from '../core/tool-value.ts'
import type { Store } from '../store/store.ts'
import type { TurnHost } from './ports.ts'
import { stopCalls } from './stop-calls.ts'
import { lostTurnUsage } from './usage.ts'
import { collections } from '../store/collections.ts'

/** The cancellation of the call must already be recorded. */
export async function endOrphanTurn(host: TurnHost, uid: string, reason: CancelReason): Promise<void> {
  const { store, clock } = host
  const call = await store.call(uid)
  if (
    !call ||
    call.state === 'settled' ||
    !isTurn(call) ||
    host.models.has(call.tool.slice(turnTool('').length)) ||
    (await isOwnedByLiveWorker(store, call))
  )
    return
  const { position, fence, attempt } = call
  const at = clock.now()
  const head = collections.conversation.name(position)
  const document = await store.document(head)
  const row = document && collections.conversation.parse(document.value)
  const freedHead =
    row?.turn === uid ? [{ ...head, value: JSON.stringify({ born: row.born, turn: null } satisfies HeadRow) }] : []
  const outcome: Outcome = { status: 'cancelled', cancellation: { message: reason.reason, source: 'cancellation' } }
  const { tenant, session } = position
  const committed = await store.commit({
    // If a worker claims it in the meantime, that worker ends it.
    guards: [{ kind: 'holds', call: uid, fence }],
    updateCall: {
      uid,
      progress: { ...progressOf(call), state: 'settled', outcome: encode(outcome), settledAt: at },
      release: true,
    },
    documents: [
      ...freedHead,
      collections.turnQueued.remove(position, uid),
      ...(await lostTurnUsage(store, position, uid)),
      ...host.wakes.rows(position, uid),
    ],
    events: [eventOf({ tenant, session, call: uid }, 'call.settled', at, { status: 'cancelled', attempts: attempt })],
  })
  if (committed.ok) await stopCalls(host, position, position.id, reason)
}

const pageSize = 200

async function isOwnedByLiveWorker(store: Store, { uid, position: { tenant, session } }: CallRecord): Promise<boolean> {
  for (let after = ''; ;) {
    const open = await store.unsettled({ of: { tenant, session }, after, limit: pageSize })
    const own = open.find((each) => each.uid === uid)
    if (own) return own.owner !== null && own.alive
    const last = open.at(-1)
    if (!last || open.length < pageSize) return true
    after = last.uid
  }
}
