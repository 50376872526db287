// Handles a call that another worker holds or another process recorded first: waiters here get the result from there.
// Called by the local engine.

import type { CallRecord } from '../../../store/records/call-record.ts'
import { noTimes } from '../../../store/records/call-times.ts'
import { PawlError } from '../../../core/errors.ts'
import { failure } from '../../../core/outcome.ts'
import { encode } from '../../../core/tool-value.ts'
import type { Store } from '../../../store/store.ts'
import { sameContent } from '../../compare-call-content.ts'
import type { ActiveCall } from '../active-calls.ts'
import type { ActiveCalls } from '../active-calls.ts'

export async function followOtherOwner(
  active: ActiveCall,
  activeCalls: ActiveCalls,
  store: Store,
  watch: (record: CallRecord) => ActiveCall,
  check: (other: ActiveCall) => void,
): Promise<void> {
  const own = active.execution?.request
  active.release()
  const record = await store.callAt(active.position)
  if (activeCalls.byUid.get(active.uid) !== active) return // it has been settled or removed since
  if (!record) return active.reject(new PawlError('store_unavailable', 'The call is no longer recorded.'))
  if (record.hash !== active.hash && !(own && sameContent(record, own))) {
    const message = `Another call with id '${active.position.id}' was recorded first`
    return activeCalls.settle(
      active,
      record,
      0,
      encode(failure({ class: 'invalid_request', code: 'call_conflict', message })),
      noTimes,
    )
  }
  if (record.uid === active.uid) return void watch(record)
  activeCalls.remove(active)
  const other = watch(record)
  check(other)
  other.settled().then(active.resolve, (error: unknown) => active.reject(error))
}
