// The recorded form of a cancel: a later execution of the call is stopped from its start.

import type { CallRecord, StepRecord, WaitRecord } from '../../../store/records/call-record.ts'
import { eventOf, type EventSubject } from '../../../store/records/event.ts'
import type { Change } from '../../../store/store.ts'
import { cancelOfCall } from '../../../store/records/wait-resolution.ts'
import { stepKeys } from '../../../store/journal-keys.ts'
import type { CancelReason, Stop } from '../../engine.ts'

export const stopOfCancel = ({ reason, ...rest }: CancelReason): Stop => ({ cancel: reason, ...rest })
export const cancelOfStop = ({ cancel, ...rest }: Extract<Stop, { cancel: string }>): CancelReason => ({
  reason: cancel,
  ...rest,
})

export function cancelChange(
  subject: EventSubject,
  at: number,
  { reason, by, withParent }: CancelReason,
): Required<Pick<Change, 'steps' | 'events'>> {
  const { call } = subject
  const step: StepRecord = {
    call,
    key: stepKeys.cancel,
    state: 'done',
    input: null,
    value: JSON.stringify({ reason, by, withParent }),
    round: 1,
    at,
  }
  return { steps: [step], events: [eventOf(subject, 'call.cancelling', at, { reason, by })] }
}

/** The reason recorded by a step under `stepKeys.cancel`. */
export const parseCancel = ({ value }: StepRecord): CancelReason => JSON.parse(value as string) as CancelReason

/** A cancel that was recorded before this execution. */
export function recordedCancel(journal: {
  step(key: string): StepRecord | undefined
  readonly waits: readonly WaitRecord[]
}): CancelReason | null {
  const step = journal.step(stepKeys.cancel)
  if (step) return parseCancel(step)
  // The cancel itself could not be written, but a wait was answered with it.
  for (const wait of journal.waits) {
    const why = cancelOfCall(wait)
    if (why !== null) return { ...why, by: null }
  }
  return null
}

/** A cancel of a call that does not run on this worker. */
export function remoteCancelChange({ uid, position }: CallRecord, at: number, why: CancelReason): Change {
  const { tenant, session } = position
  return { ...cancelChange({ tenant, session, call: uid }, at, why), guards: [{ kind: 'unsettled', call: uid }] }
}
