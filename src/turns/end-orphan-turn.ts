// A turn whose model nobody here knows, and which no worker holds, could not be told to stop: it is ended by whoever cancels it, so that its session is free.

import { headName, type HeadRow, isTurn, turnTool } from '../store/records/conversation.ts'
import { type CallRecord, progressOf } from '../store/records/call-record.ts'
import { eventOf } from '../store/records/event.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Clock } from '../core/clock.ts'
import { encode } from '../core/value.ts'
import type { Store } from '../store/store.ts'
import type { TurnHost } from './ports.ts'
import { stopCalls, type StopHost } from './stop-calls.ts'
import { rowOfLost } from './usage.ts'

interface OrphanHost extends StopHost {
  readonly clock: Clock
  readonly wakes: TurnHost['wakes']
  model(name: string): unknown
}

interface Why {
  readonly reason: string
  readonly by: string | null
}

/** Of a call whose cancel is on record. */
export async function endOrphan(host: OrphanHost, uid: string, why: Why): Promise<void> {
  const { store, clock } = host
  const call = await store.call(uid)
  if (
    !call ||
    call.state === 'settled' ||
    !isTurn(call) ||
    host.model(call.tool.slice(turnTool('').length)) ||
    (await isHeld(store, call))
  )
    return
  const { position, fence, attempt } = call
  const at = clock.now()
  const head = headName(position)
  const kept = await store.document(head)
  const row = kept && (JSON.parse(kept.value) as HeadRow)
  const free =
    row?.turn === uid ? [{ ...head, value: JSON.stringify({ born: row.born, turn: null } satisfies HeadRow) }] : []
  const outcome: Outcome = { status: 'cancelled', cancellation: { message: why.reason, source: 'cancellation' } }
  const { tenant, session } = position
  const ended = await store.commit({
    // Whoever claimed it meanwhile ends it.
    guards: [{ kind: 'holds', call: uid, fence }],
    updateCall: {
      uid,
      progress: { ...progressOf(call), state: 'settled', outcome: encode(outcome), settledAt: at },
      release: true,
    },
    documents: [...free, ...(await rowOfLost(store, position, uid)), ...host.wakes.rows(position, uid)],
    events: [eventOf({ tenant, session, call: uid }, 'call.settled', at, { status: 'cancelled', attempts: attempt })],
  })
  if (ended.ok) await stopCalls(host, position, position.id, why)
}

const page = 200

async function isHeld(store: Store, { uid, position: { tenant, session } }: CallRecord): Promise<boolean> {
  for (let after = ''; ;) {
    const open = await store.unsettled({ of: { tenant, session }, after, limit: page })
    const mine = open.find((each) => each.uid === uid)
    if (mine) return mine.owner !== null && mine.alive
    const last = open.at(-1)
    if (!last || open.length < page) return true
    after = last.uid
  }
}
