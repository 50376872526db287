// The events of one call, for the handle that session.call() returns: the events of its session, filtered.

import type { Scope } from '../core/scope.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { Feed, FeedEvent, ReadFeed } from '../feed/event-feed.ts'
import type { ReadOptions } from '../feed/read-options.ts'
import type { LiveEvent } from '../feed/live-events.ts'
import type { CallPosition } from '../store/records/call-record.ts'
import { keyBatch } from '../store/journal-keys.ts'

/** Where a call of session.call() is recorded. */
export const callPosition = (
  of: Scope,
  batch: string,
  { id, idempotencyKey: key }: { readonly id: string; readonly idempotencyKey?: string },
): CallPosition => ({ ...of, ...(key === undefined ? { batch, id } : { batch: keyBatch, id: key }), occurrence: 0 })

/** @param outcome Settles when the call is over, also if it was never recorded. */
export function callEvents(
  host: Pick<Foundation, 'store'> & { readonly feed: Feed },
  position: CallPosition,
  outcome: Promise<unknown>,
): ReadFeed {
  const { tenant, session } = position
  const uidOf = async (): Promise<string | undefined> => (await host.store.callAt(position))?.uid
  async function* read(options: ReadOptions & { live?: true } = {}): AsyncGenerator<FeedEvent | LiveEvent, void, void> {
    const unrecorded = new AbortController()
    const stopIfUnrecorded = (): void => {
      uidOf().then(
        (uid) => uid === undefined && unrecorded.abort(),
        () => unrecorded.abort(),
      )
    }
    outcome.then(stopIfUnrecorded, stopIfUnrecorded)
    const signal = options.signal ? AbortSignal.any([options.signal, unrecorded.signal]) : unrecorded.signal
    let uid: string | undefined
    for await (const event of host.feed.reader({ tenant, session })({ ...options, signal } as Omit<
      ReadOptions,
      'until'
    > & {
      live: true
    })) {
      uid ??= await uidOf()
      if (event.call !== uid) continue
      yield event
      if (event.type === 'call.settled') return
    }
  }
  return read as ReadFeed
}
