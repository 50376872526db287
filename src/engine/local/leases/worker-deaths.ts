// Counts worker deaths per call, and decides which of them count against it (decision 0039). The store counts a death
// when the next worker claims the call. Whether the call's code was running then, and whether it was alone, is read
// from the mark: a step that is written before the code of a call runs again after a death. Progress resets the count.

import type { CallRecord, StepRecord, WaitRecord } from '../../../store/records/call-record.ts'
import { type DeathMark, type Deaths, noDeaths, parseDeathMark } from '../../../store/records/death-mark.ts'
import { stepKeys } from '../../../store/journal-keys.ts'
import type { Change } from '../../../store/store.ts'
import type { LeasedCall } from './leased-call.ts'
import type { Blame } from './find-culprit.ts'

const sleepKey = /^sleep:/

/**
 * True if the journal shows an open wait or sleep: a worker that died then probably did not die because of this call.
 */
export function hasOpenWait(steps: Iterable<StepRecord>, waits: Iterable<WaitRecord>, now: number): boolean {
  for (const { key, value } of steps) if (sleepKey.test(key) && Number(value) > now) return true
  for (const { resolution } of waits) if (resolution === null) return true
  return false
}

/** Before a trial, a worker must have been up this many times as long as the call ran before the last death. */
const uptimeFactor = 5
/** A death on trial counts if the worker had been up at least this many times as long as the call then ran. */
const countedFactor = 2
const minUptimeMs = 1_000
const maxUptimeMs = 2 * 60_000

const boundedUptimeMs = (ms: number): number => Math.min(Math.max(ms, minUptimeMs), maxUptimeMs)

/**
 * How long a worker must have been up before a trial. Workers that are killed from outside rarely live this long and
 * then die soon after the call has started.
 */
export const requiredUptimeMs = ({ ranMs }: Deaths): number => boundedUptimeMs(uptimeFactor * ranMs)

/**
 * Sets the deaths of a claimed call. The store also counts workers in which it only waited; those are left out. Returns
 * true if the last worker died: one that hands the call over records the same number in the mark and in the call.
 */
export function restoreDeaths(leased: LeasedCall, mark: StepRecord | undefined, blame: Blame = 'company'): boolean {
  const { request, host } = leased
  leased.isMarked = mark !== undefined || request.deaths > 0
  if (request.deaths === 0) {
    // Handed over while it waited: from now on it runs here.
    if (mark && parseDeathMark(mark).fence === null) markLazily(leased, true)
    return false
  }
  leased.deaths = judgeDeaths(request, mark, blame, host.clock.now())
  leased.progress = { ...leased.progress, deaths: leased.deaths.all }
  // The next worker must know this judgment, even if this one dies before the call runs.
  if (leased.deaths.all > 1) markLazily(leased, false)
  return !mark || request.deaths !== parseDeathMark(mark).all
}

/** The deaths of a call that was just claimed. */
export function judgeDeaths(record: CallRecord, step: StepRecord | undefined, blame: Blame, now: number): Deaths {
  if (record.deaths === 0) return noDeaths
  const mark = step && parseDeathMark(step)
  const ranSince = (from: number): number => Math.max(0, now - from)
  // The first death, or the first since the call parked. A second worker may have died before it wrote a mark.
  if (!step || !mark || record.deaths < mark.all) {
    const ranMs = ranSince(record.startedAt ?? record.createdAt)
    return { all: Math.min(record.deaths, 2), counted: blame === 'alone' ? 1 : 0, ranMs }
  }
  // The worker that wrote the mark ran the call and died. Workers after it only held the call, or they had written one.
  const hasRunAndDied = mark.fence !== null && mark.fence < record.fence && record.deaths > mark.all
  if (!hasRunAndDied) return { all: mark.all, counted: mark.counted, ranMs: mark.ranMs }
  const ranMs = ranSince(step.at)
  return { all: mark.all + 1, counted: mark.counted + (isCounted(mark, blame, ranMs) ? 1 : 0), ranMs }
}

/** A call that ran on trial was the only suspect. Otherwise only a call that was alone in its worker is counted. */
function isCounted({ uptimeMs }: DeathMark, blame: Blame, ranMs: number): boolean {
  if (uptimeMs === null || blame === 'ancestor') return blame === 'alone'
  return uptimeMs >= boundedUptimeMs(countedFactor * ranMs)
}

/** The mark of the call as it runs from now on. */
export function deathMark(
  leased: LeasedCall,
  isRunning: boolean,
  uptimeMs: number | null = null,
  waitsForTask = false,
): StepRecord {
  const { request, host, deaths } = leased
  const fence = isRunning ? request.fence : null
  const mark: DeathMark = { ...deaths, fence, uptimeMs, ...(waitsForTask && { waitsForTask }) }
  const value = JSON.stringify(mark)
  return {
    call: request.uid,
    key: stepKeys.deaths,
    state: 'started',
    input: null,
    value,
    round: 0,
    at: host.clock.now(),
  }
}

/** The mark of a call that is handed back: the next worker holds it, but this one no longer runs it. */
export const markOfRest = (leased: LeasedCall): Pick<Change, 'steps'> =>
  leased.isMarked ? { steps: [deathMark(leased, false)] } : {}

/** Applied with the end of a step: the call made progress, so earlier deaths were not its fault. */
export function resetDeaths(leased: LeasedCall): Pick<Change, 'updateCall'> & { readonly steps: StepRecord[] } {
  if (leased.deaths.all === 0) return { steps: [] }
  leased.deaths = noDeaths
  leased.progress = { ...leased.progress, deaths: 0 }
  return { updateCall: leased.update(), steps: [deathMark(leased, true)] }
}

type MarkArguments = Parameters<typeof deathMark> extends [LeasedCall, ...infer Rest] ? Rest : never

/** Records, without waiting, whether code of the call runs, so that a worker death is judged by that. */
export function markLazily(leased: LeasedCall, ...how: MarkArguments): void {
  if (!leased.isMarked || leased.releaseState !== 'not yet') return
  if (leased.stopped && 'over' in leased.stopped) return
  const steps = [deathMark(leased, ...how)]
  leased.writeLazily(leased.fenced({ updateCall: leased.update(), steps, events: [] }))
}

/**
 * Before the body starts, the record does not show whether a worker ran host code or only queued. So a claimed call
 * records one death in advance and removes it afterwards.
 */
export async function countDeathWhile<T>(
  leased: LeasedCall,
  uptimeMs: number | null,
  run: () => Promise<T>,
): Promise<T> {
  const { all } = leased.deaths
  const withDeaths = (deaths: number, isRunning: boolean): Change => {
    leased.progress = { ...leased.progress, deaths }
    const steps = leased.isMarked ? { steps: [deathMark(leased, isRunning, uptimeMs)] } : {}
    return leased.fenced({ updateCall: leased.update(), ...steps, events: [] })
  }
  await leased.write(withDeaths(all + 1, true))
  try {
    return await run()
  } finally {
    if (!leased.stopped || 'cancel' in leased.stopped) leased.writeLazily(withDeaths(all, false))
  }
}
