// A held call comes to wait for the outside: from here on nobody owns it, and it costs one row.

import { checkMove } from '../../../store/records/call-record.ts'
import type { Guard } from '../../../store/store.ts'
import type { Wait } from '../../engine.ts'
import type { LeasedCall } from '../leases/leased-call.ts'
import type { CallWaits } from './call-waits.ts'

/** `answered`: the wait has its answer already, and the call is still ours. `lost`: it is not. */
export type Parked = 'parked' | 'answered' | 'lost'

export async function park(held: LeasedCall, waits: CallWaits, wait: Wait): Promise<Parked> {
  checkMove(held.progress.state, 'parked')
  const progress = { ...held.progress, state: 'parked' as const, wait: wait.id, deaths: 0 }
  const had = held.mayHavePlaces
  const parked = held.event('call.parked', held.host.clock.now(), { wait: wait.id, deadline: wait.deadline })
  const change = held.held({
    updateCall: { uid: held.request.uid, progress, release: true },
    ...held.giving(),
    events: [parked],
  })
  held.letsGo('under way')
  let refused: Guard['kind'] | null = 'holds'
  try {
    refused = await waits.park(wait, change)
    if (refused === null) return 'parked'
    held.mayHavePlaces = had
    return refused === 'open' ? 'answered' : 'lost'
  } finally {
    held.letsGo(refused === null ? 'parked' : 'not yet')
  }
}
