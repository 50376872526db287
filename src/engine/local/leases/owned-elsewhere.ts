// A call that was to be ours and is another's: another worker holds it, or another process put it on record first. Whoever waits here hears what that
// one makes of it.

import type { CallRecord } from '../../../store/records/call-record.ts'
import { noTimes } from '../../../store/records/call-times.ts'
import { PawlError } from '../../../core/errors.ts'
import { failure } from '../../../core/outcome.ts'
import { encode } from '../../../core/value.ts'
import type { Store } from '../../../store/store.ts'
import { sameContent } from '../../call-content.ts'
import type { ActiveCall } from '../active-calls.ts'
import type { ActiveCalls } from '../active-calls.ts'

export async function heldElsewhere(
  live: ActiveCall,
  lives: ActiveCalls,
  store: Store,
  watch: (record: CallRecord) => ActiveCall,
  look: (other: ActiveCall) => void,
): Promise<void> {
  const own = live.execution?.request
  live.release()
  const record = await store.callAt(live.position)
  if (lives.byUid.get(live.uid) !== live) return // it has been told meanwhile
  if (!record) return live.reject(new PawlError('store_unavailable', 'A call is no longer on record.'))
  if (record.hash !== live.hash && !(own && sameContent(record, own))) {
    const message = `Another call with id '${live.position.id}' was recorded first`
    return lives.ended(
      live,
      record,
      0,
      encode(failure({ class: 'invalid_request', code: 'call_conflict', message })),
      noTimes,
    )
  }
  if (record.uid === live.uid) return void watch(record)
  lives.forget(live)
  const other = watch(record)
  look(other)
  other.settled().then(live.resolve, (error: unknown) => live.reject(error))
}
