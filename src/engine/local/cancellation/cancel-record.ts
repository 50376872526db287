// A cancel as it goes on record: whoever takes the call up later finds it stopped from the beginning.

import type { CallRecord, StepRecord, WaitRecord } from '../../../store/records/call-record.ts'
import { eventOf, type EventSubject } from '../../../store/records/event.ts'
import type { Change } from '../../../store/store.ts'
import { cancelOfCall } from '../../../store/records/resolution.ts'

/** Why, and who asked. */
export interface Why {
  readonly reason: string
  readonly by: string | null
}

/** Under this key a cancel holds over a crash. */
export const cancelKey = 'cancel'

export function cancelling(
  subject: EventSubject,
  at: number,
  { reason, by }: Why,
): Required<Pick<Change, 'steps' | 'events'>> {
  const { call } = subject
  const step: StepRecord = {
    call,
    key: cancelKey,
    state: 'done',
    input: null,
    value: JSON.stringify({ reason, by }),
    round: 1,
    at,
  }
  return { steps: [step], events: [eventOf(subject, 'call.cancelling', at, { reason, by })] }
}

/** That it was told to stop before this execution. */
export function cancelBefore(known: {
  step(key: string): StepRecord | undefined
  readonly waits: readonly WaitRecord[]
}): Why | null {
  const step = known.step(cancelKey)
  if (step) return JSON.parse(step.value as string) as Why
  // The store was away when it was to be recorded, but not when a wait ended with it.
  for (const wait of known.waits) {
    const reason = cancelOfCall(wait)
    if (reason !== null) return { reason, by: null }
  }
  return null
}

/** Of a call that is not held here. */
export function cancellingOutside({ uid, position }: CallRecord, at: number, why: Why): Change {
  const { tenant, session } = position
  return { ...cancelling({ tenant, session, call: uid }, at, why), guards: [{ kind: 'unsettled', call: uid }] }
}
