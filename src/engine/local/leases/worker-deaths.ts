// Workers that died over a call (DUR-8). The store counts them when it hands the call to the next one, so that a call which kills its
// worker before anything can be written is counted too. A call that gets anywhere starts anew.

import type { StepRecord, WaitRecord } from '../../../store/records/call-record.ts'
import type { Change } from '../../../store/store.ts'
import type { LeasedCall } from './leased-call.ts'

const sleepKey = /^sleep:/

/** A body sleeps or waits by the record: a worker that died then may only have been there. */
export function isResting(steps: Iterable<StepRecord>, waits: Iterable<WaitRecord>, now: number): boolean {
  for (const { key, value } of steps) if (sleepKey.test(key) && Number(value) > now) return true
  for (const { resolution } of waits) if (resolution === null) return true
  return false
}

/** With the end of a step: what died over the call before did not die of it. */
export function forgiven(held: LeasedCall): Pick<Change, 'updateCall'> {
  if (held.progress.deaths === 0) return {}
  held.progress = { ...held.progress, deaths: 0 }
  return { updateCall: held.update() }
}

/**
 * It has to wait before its body begins again: who dies meanwhile does not die of it. The record shows a body that had begun, so the next claim will
 * count one; until it begins, the record tells of one less.
 */
export function spare(held: LeasedCall): void {
  const { deaths } = held.progress
  if (held.spared > 0 || deaths === 0) return
  held.spared = 1
  held.progress = { ...held.progress, deaths: deaths - 1 }
  held.ride(held.held({ updateCall: held.update(), events: [] }))
}

/** Before the body the record does not show who was at work on a call and who only waited in line. So a call that was claimed once says it. */
export async function atRisk<T>(held: LeasedCall, run: () => Promise<T>): Promise<T> {
  const { deaths } = held.progress
  const counted = (to: number): Change => {
    held.progress = { ...held.progress, deaths: to }
    return held.held({ updateCall: held.update(), events: [] })
  }
  await held.write(counted(deaths + 1))
  try {
    return await run()
  } finally {
    if (!held.stopped || 'cancel' in held.stopped) held.ride(counted(deaths))
  }
}
