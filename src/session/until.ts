// run(calls, { until }): returns before everything is settled, with what is open told as it stands. The calls go on; the same batch asked
// again joins them.

import { milliseconds } from '../kernel/duration.ts'
import type { Clock } from '../kernel/time.ts'
import type { Store } from '../store/store.ts'
import type { CallOutcome, OpenCall, Until } from './ask.ts'
import type { Underway } from './batch.ts'

export async function untilOpen(
  calls: readonly Underway[],
  until: Until,
  { store, clock }: { store: Store; clock: Clock },
): Promise<(CallOutcome | OpenCall)[]> {
  const patience = until === 'waiting' ? null : milliseconds(until, 'until')
  const ended = new Map<number, CallOutcome>()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let news = true
  let looking = false
  /** One look at a time; what happens during one makes another. */
  const look = async (): Promise<void> => {
    news = true
    if (looking) return
    looking = true
    try {
      while (news) {
        news = false
        if (ended.size === calls.length || (until === 'waiting' && (await allWait()))) return resolve()
      }
    } finally {
      looking = false
    }
  }
  const allWait = async (): Promise<boolean> => {
    for (const [index, { position }] of calls.entries()) {
      if (!ended.has(index) && (await store.callAt(position))?.state !== 'parked' && !ended.has(index)) return false
    }
    return true
  }
  for (const [index, { outcome }] of calls.entries()) {
    outcome.then((each) => {
      ended.set(index, each)
      look().catch(reject)
    }, reject)
  }
  const stopListening = store.onHint(() => void look().catch(reject))
  const callOff = patience === null ? () => {} : clock.timer(patience, resolve)
  const letGo = clock.hold()
  try {
    look().catch(reject)
    await promise
    return await Promise.all(calls.map(async (call, index) => ended.get(index) ?? (await openCall(call, store))))
  } finally {
    stopListening()
    callOff()
    letGo()
  }
}

/** As it stands on record. The key of what it waits for is the body's to hand out, not ours. */
async function openCall({ call, position }: Underway, store: Store): Promise<OpenCall> {
  const about = { callId: call.id, name: call.name }
  const record = await store.callAt(position)
  const wait = record?.state === 'parked' && record.wait !== null ? await store.wait(record.wait) : undefined
  if (!wait || wait.resolution !== null) return { status: 'running', ...about }
  return { status: 'waiting', for: 'completion', waitId: wait.id, until: wait.deadline, ...about }
}
