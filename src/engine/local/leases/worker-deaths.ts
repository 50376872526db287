// Counts worker deaths per call. The store counts them when the next worker claims the call, so a call that kills its
// worker before anything is written is counted too. Progress resets the count.

import type { StepRecord, WaitRecord } from '../../../store/records/call-record.ts'
import type { Change } from '../../../store/store.ts'
import type { LeasedCall } from './leased-call.ts'

const sleepKey = /^sleep:/

/**
 * True if the journal shows an open wait or sleep: a worker that died then probably did not die because of this call.
 */
export function hasOpenWait(steps: Iterable<StepRecord>, waits: Iterable<WaitRecord>, now: number): boolean {
  for (const { key, value } of steps) if (sleepKey.test(key) && Number(value) > now) return true
  for (const { resolution } of waits) if (resolution === null) return true
  return false
}

/** Applied with the end of a step: the call made progress, so earlier deaths were not its fault. */
export function resetDeaths(leased: LeasedCall): Pick<Change, 'updateCall'> {
  if (leased.progress.deaths === 0) return {}
  leased.progress = { ...leased.progress, deaths: 0 }
  return { updateCall: leased.update() }
}

/**
 * The call waits before its body starts again, so a worker death during that time is not its fault. The record shows a
 * started body, so the next claim will count one death; until the body starts, the recorded number is one lower.
 */
export function exemptNextDeath(leased: LeasedCall): void {
  const { deaths } = leased.progress
  if (leased.unrecordedDeaths > 0 || deaths === 0) return
  leased.unrecordedDeaths = 1
  leased.progress = { ...leased.progress, deaths: deaths - 1 }
  leased.writeLazily(leased.fenced({ updateCall: leased.update(), events: [] }))
}

/**
 * Before the body starts, the record does not show whether a worker ran host code or only queued. So a claimed call
 * records one death in advance and removes it afterwards.
 */
export async function countDeathWhile<T>(leased: LeasedCall, run: () => Promise<T>): Promise<T> {
  const { deaths } = leased.progress
  const withDeaths = (to: number): Change => {
    leased.progress = { ...leased.progress, deaths: to }
    return leased.fenced({ updateCall: leased.update(), events: [] })
  }
  await leased.write(withDeaths(deaths + 1))
  try {
    return await run()
  } finally {
    if (!leased.stopped || 'cancel' in leased.stopped) leased.writeLazily(withDeaths(deaths))
  }
}
