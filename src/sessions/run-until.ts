// run(calls, { until }): returns before everything is settled, with what is open told as it stands. The calls go on; the same batch asked
// again joins them.

import { PendingAsks } from '../tasks/pending-asks.ts'
import type { Asked } from '../engine/engine.ts'
import { type AskItem, itemName } from '../store/records/approval-request.ts'
import { waitTermsOf } from '../store/records/call-record.ts'
import { decode } from '../core/value.ts'
import { milliseconds } from '../core/duration.ts'
import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { CallAsk, CallOutcome, OpenCall, Until } from './call-request.ts'
import type { Batch } from './collect-outcomes.ts'
import { placeholder } from './placeholder-result.ts'

export async function untilOpen(
  batch: Batch,
  until: Until,
  { store, clock }: { store: Store; clock: Clock },
): Promise<(CallOutcome | OpenCall)[]> {
  const patience = until === 'waiting' ? null : milliseconds(until, 'until')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let news = true
  let looking = false
  let busy = 0
  /** One look at a time; what happens during one makes another. */
  const look = async (): Promise<void> => {
    news = true
    if (looking) return
    looking = true
    try {
      while (news) {
        news = false
        if (batch.missing === 0) return resolve()
        if (until !== 'waiting') continue
        // Who did not wait is asked first the next time: of many, most have not changed.
        const found = await notWaiting(batch, store, busy)
        if (found === null) return resolve()
        busy = found
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
    return await Promise.all(
      batch.calls.map(async (_, order) => batch.outcomeOf(order) ?? (await openCall(batch, order, store))),
    )
  } finally {
    batch.onDone = null
    stopListening()
    callOff()
    letGo()
  }
}

/** The first from `from` on, and round, that neither waits nor is settled; null if there is none. */
async function notWaiting(batch: Batch, store: Store, from: number): Promise<number | null> {
  const { asks } = batch
  const asked = new PendingAsks(store)
  for (let count = 0; count < asks.length; count++) {
    const order = (from + count) % asks.length
    if (batch.outcomeOf(order)) continue
    const record = await store.callAt((asks[order] as Asked).position)
    if (record?.state !== 'parked' && !(record && (await asked.of(record))) && !batch.outcomeOf(order)) return order
  }
  return null
}

/** As it stands on record. The key of what it waits for is the body's to hand out, not ours. */
async function openCall({ calls, asks }: Batch, order: number, store: Store): Promise<OpenCall> {
  const { id: callId, name, meta } = calls[order] as CallAsk
  const about = meta === undefined ? { callId, name } : { callId, name, meta }
  const record = await store.callAt((asks[order] as Asked).position)
  const wait = record?.state === 'parked' && record.wait !== null ? await store.wait(record.wait) : undefined
  const under = record && !wait ? await new PendingAsks(store).of(record) : null
  if (under) {
    const { id: waitId, item } = under
    return { status: 'waiting', for: item.kind, waitId, until: item.deadline, ...about, parts: placeholder(item.kind) }
  }
  if (!wait || wait.resolution !== null) return { status: 'running', ...about, parts: placeholder('running') }
  const waitsFor = waitTermsOf(wait).asks?.kind ?? 'completion'
  const kept =
    waitsFor === 'client' && record ? await store.document(itemName('client', record.position, wait.id)) : undefined
  const input = kept ? { input: decode((JSON.parse(kept.value) as AskItem).args) } : {}
  return {
    status: 'waiting',
    for: waitsFor,
    waitId: wait.id,
    until: wait.deadline,
    ...about,
    parts: placeholder(waitsFor),
    ...input,
  }
}
