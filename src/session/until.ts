// run(calls, { until }): returns before everything is settled, with what is open told as it stands. The calls go on; the same batch asked
// again joins them.

import type { Asked } from '../engine/engine.ts'
import { milliseconds } from '../kernel/duration.ts'
import type { Clock } from '../kernel/time.ts'
import type { Store } from '../store/store.ts'
import type { CallAsk, CallOutcome, OpenCall, Until } from './ask.ts'
import type { Batch } from './gather.ts'

export async function untilOpen(
  batch: Batch,
  until: Until,
  { store, clock }: { store: Store; clock: Clock },
): Promise<(CallOutcome | OpenCall)[]> {
  const patience = until === 'waiting' ? null : milliseconds(until, 'until')
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
        if (batch.missing === 0 || (until === 'waiting' && (await allWait(batch, store)))) return resolve()
      }
    } finally {
      looking = false
    }
  }
  const lookAgain = (): void => void look().catch(reject)
  batch.onDone = lookAgain
  batch.outcomes.catch(reject)
  const stopListening = store.onHint(lookAgain)
  const callOff = patience === null ? () => {} : clock.timer(patience, resolve)
  const letGo = clock.hold()
  try {
    lookAgain()
    await promise
    return await Promise.all(batch.calls.map(async (_, order) => batch.outcomeOf(order) ?? (await openCall(batch, order, store))))
  } finally {
    batch.onDone = null
    stopListening()
    callOff()
    letGo()
  }
}

async function allWait(batch: Batch, store: Store): Promise<boolean> {
  for (const [order, { position }] of batch.asks.entries()) {
    if (batch.outcomeOf(order)) continue
    if ((await store.callAt(position))?.state !== 'parked' && !batch.outcomeOf(order)) return false
  }
  return true
}

/** As it stands on record. The key of what it waits for is the body's to hand out, not ours. */
async function openCall({ calls, asks }: Batch, order: number, store: Store): Promise<OpenCall> {
  const { id: callId, name } = calls[order] as CallAsk
  const record = await store.callAt((asks[order] as Asked).position)
  const wait = record?.state === 'parked' && record.wait !== null ? await store.wait(record.wait) : undefined
  if (!wait || wait.resolution !== null) return { status: 'running', callId, name }
  return { status: 'waiting', for: 'completion', waitId: wait.id, until: wait.deadline, callId, name }
}
