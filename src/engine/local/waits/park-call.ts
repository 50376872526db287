// Parks a call on an external wait: afterwards no worker owns it, and it takes up only one row in the store.

import { checkMove } from '../../../store/records/call-record.ts'
import type { Guard } from '../../../store/store.ts'
import type { Wait } from '../../engine.ts'
import type { LeasedCall } from '../leases/leased-call.ts'
import type { CallWaits } from './waits-of-call.ts'

/** `answered`: the wait is already answered and the call is still ours. `lost`: another worker holds the call. */
export type ParkResult = 'parked' | 'answered' | 'lost'

export async function park(leased: LeasedCall, waits: CallWaits, wait: Wait): Promise<ParkResult> {
  checkMove(leased.progress.state, 'parked')
  const progress = { ...leased.progress, state: 'parked' as const, wait: wait.id, deaths: 0 }
  const heldSlots = leased.mayHoldSlots
  const event = leased.event('call.parked', leased.host.clock.now(), { wait: wait.id, deadline: wait.deadline })
  const change = leased.fenced({
    updateCall: { uid: leased.request.uid, progress, release: true },
    ...leased.releaseSlots(),
    events: [event],
  })
  leased.setReleaseState('under way')
  let refused: Guard['kind'] | null = 'holds'
  try {
    refused = await waits.park(wait, change)
    if (refused === null) return 'parked'
    leased.mayHoldSlots = heldSlots
    return refused === 'open' ? 'answered' : 'lost'
  } finally {
    leased.setReleaseState(refused === null ? 'parked' : 'not yet')
  }
}
