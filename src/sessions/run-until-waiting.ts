// run(calls, { until }): returns before every call is settled, with the open calls described by their records. The
// calls continue; running the same batch again joins them.

import { PendingAsks } from '../tasks/pending-questions.ts'
import type { NewCall } from '../engine/engine.ts'
import { waitTermsOf } from '../store/records/call-record.ts'
import { decode } from '../core/tool-value.ts'
import { milliseconds } from '../core/duration.ts'
import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { CallAsk, CallOutcome, OpenCall, Until } from './call-request.ts'
import type { Batch } from './collect-outcomes.ts'
import { placeholder } from './placeholder-result.ts'
import { collections } from '../store/collections.ts'

export async function waitUntil(
  batch: Batch,
  until: Until,
  { store, clock }: { store: Store; clock: Clock },
): Promise<(CallOutcome | OpenCall)[]> {
  const timeoutMs = until === 'waiting' ? null : milliseconds(until, 'until')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let hasChanged = true
  let isChecking = false
  let lastBusy = 0
  /** One check at a time; a change during a check causes another. */
  const check = async (): Promise<void> => {
    hasChanged = true
    if (isChecking) return
    isChecking = true
    try {
      while (hasChanged) {
        hasChanged = false
        if (batch.missing === 0) return resolve()
        if (until !== 'waiting') continue
        // Start with the call that was busy last time: it most likely still is.
        const found = await findBusyCall(batch, store, lastBusy)
        if (found === null) return resolve()
        lastBusy = found
      }
    } finally {
      isChecking = false
    }
  }
  const recheck = (): void => void check().catch(reject)
  batch.onDone = recheck
  batch.outcomes.catch(reject)
  const stopListening = store.onHint(recheck)
  const cancelTimer = timeoutMs === null ? () => {} : clock.timer(timeoutMs, resolve)
  const release = clock.hold()
  try {
    recheck()
    await promise
    return await Promise.all(
      batch.calls.map(async (_, order) => batch.outcomeOf(order) ?? (await openCall(batch, order, store))),
    )
  } finally {
    batch.onDone = null
    stopListening()
    cancelTimer()
    release()
  }
}

/**
 * Index of the first call, from `from` on and wrapping around, that neither waits nor is settled; null if there is
 * none.
 */
async function findBusyCall(batch: Batch, store: Store, from: number): Promise<number | null> {
  const { requests } = batch
  const pendingAsks = new PendingAsks(store)
  for (let count = 0; count < requests.length; count++) {
    const order = (from + count) % requests.length
    if (batch.outcomeOf(order)) continue
    const record = await store.callAt((requests[order] as NewCall).position)
    if (record?.state !== 'parked' && !(record && (await pendingAsks.of(record))) && !batch.outcomeOf(order))
      return order
  }
  return null
}

/** Describes an open call by its record. The wait key is not included: only the body may hand it out. */
async function openCall({ calls, requests }: Batch, order: number, store: Store): Promise<OpenCall> {
  const { id: callId, name, meta } = calls[order] as CallAsk
  const identity = meta === undefined ? { callId, name } : { callId, name, meta }
  const record = await store.callAt((requests[order] as NewCall).position)
  const wait = record?.state === 'parked' && record.wait !== null ? await store.wait(record.wait) : undefined
  const nestedAsk = record && !wait ? await new PendingAsks(store).of(record) : null
  if (nestedAsk) {
    const { id: waitId, item } = nestedAsk
    return {
      status: 'waiting',
      for: item.kind,
      waitId,
      until: item.deadline,
      ...identity,
      parts: placeholder(item.kind),
    }
  }
  if (!wait || wait.resolution !== null) return { status: 'running', ...identity, parts: placeholder('running') }
  const waitsFor = waitTermsOf(wait).asks?.kind ?? 'completion'
  const document =
    waitsFor === 'client' && record
      ? await store.document(collections.client.name(record.position, wait.id))
      : undefined
  const input = document ? { input: decode(collections.inbox.parse(document.value).args) } : {}
  return {
    status: 'waiting',
    for: waitsFor,
    waitId: wait.id,
    until: wait.deadline,
    ...identity,
    parts: placeholder(waitsFor),
    ...input,
  }
}
