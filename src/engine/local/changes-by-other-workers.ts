// Reads what other processes wrote about calls and waits that this process waits for. The feed names what changed, so
// only the changed records are read; if more was written than this process waits for, it reads the awaited records
// instead.
//
// Everything up to a feed position has been read. Code that starts to wait later subscribes first and reads second
// (`checkCall` for a call, `Waiters.answer` for a wait), so no change is missed in between.

import type { CallRecord } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import type { Store } from '../../store/store.ts'
import type { CancelReason } from '../engine.ts'
import { parseCancel } from './cancellation/write-cancel.ts'
import type { ActiveCall } from './active-calls.ts'
import { unlessUnreadable } from '../../store/skip-unreadable.ts'
import type { Timers, Waiters } from './waits/timers.ts'
import { stepKeys } from '../../store/journal-keys.ts'

const pageSize = 256

interface RemoteChangesPorts {
  readonly store: Store
  readonly waiters: Waiters
  readonly timers: Timers
  readonly activeCalls: ReadonlyMap<string, ActiveCall>
  /** A call that this process waits for was settled elsewhere. */
  onSettled(record: CallRecord): void
  /** The record of the call cannot be decrypted or parsed. */
  onUnreadable(active: ActiveCall, error: unknown): void
}

/** Applies a cancel recorded by another worker. A cancel requested on this worker has already been applied. */
async function applyCancel(active: ActiveCall | undefined, why: CancelReason): Promise<void> {
  const { execution } = active ?? {}
  // If this fails, the pipeline cancels the waits.
  if (execution?.leased.applyRemoteCancel(why)) await execution.cancelWaits().catch(() => {})
}

export class RemoteChanges {
  readonly #ports: RemoteChangesPorts
  #seenPosition = 0
  #erasures = 0
  #looking: Promise<void> | null = null
  #lookAgain = false
  /** True if the last check for changes failed. */
  lastLookFailed = false
  /** Number of checks so far, to detect that another one ran during an await. */
  lookCount = 0

  constructor(ports: RemoteChangesPorts) {
    this.#ports = ports
  }

  /** Checks for changes, one check at a time; a hint during a check triggers another. */
  look(): Promise<void> {
    this.#lookAgain = true
    this.#looking ??= (async () => {
      try {
        this.lastLookFailed = true
        while (this.#lookAgain) {
          this.#lookAgain = false
          await this.#look()
        }
        this.lastLookFailed = false
      } finally {
        this.#looking = null
      }
    })()
    return this.#looking
  }

  /**
   * A call that does not run here may have been settled elsewhere. A call that runs here is checked when it is
   * released.
   */
  async checkCall(active: ActiveCall | undefined): Promise<void> {
    if (!active) return
    active.changedWhileDriven = active.execution !== null
    if (active.execution) return
    const { store, activeCalls, onSettled, onUnreadable } = this.#ports
    const record = await unlessUnreadable(
      () => store.call(active.uid),
      (error) => onUnreadable(active, error),
    )
    if (!record && active.isRecorded)
      return onUnreadable(active, new PawlError('store_unavailable', 'The call was erased.'))
    if (record?.state === 'settled' && activeCalls.get(active.uid) === active && !active.execution) onSettled(record)
  }

  async checkCancel(active: ActiveCall): Promise<void> {
    const cancelStep =
      active.execution && (await this.#ports.store.steps(active.uid)).find(({ key }) => key === stepKeys.cancel)
    if (cancelStep) await applyCancel(active, parseCancel(cancelStep))
  }

  async #look(): Promise<void> {
    this.lookCount++
    const { store, waiters, timers, activeCalls } = this.#ports
    // Read before the changes: anything written during this check has a later position.
    const end = await store.lastPosition()
    if (end <= this.#seenPosition) return
    // Erasing appends no event, so if the count has changed, every call is checked.
    const { count } = activeCalls.size > 0 ? await store.erased() : { count: this.#erasures }
    const erased = count !== this.#erasures
    this.#erasures = count
    if (erased || end - this.#seenPosition > activeCalls.size + waiters.count) {
      await waiters.checkAll()
      for (const active of activeCalls.values()) {
        await this.checkCall(active)
        await this.checkCancel(active)
      }
    } else await this.#readEvents(end)
    const next = await store.nextDeadline()
    if (next !== undefined) timers.wakeAt(next)
    this.#seenPosition = end
  }

  async #readEvents(end: number): Promise<void> {
    const { store, waiters, activeCalls } = this.#ports
    for (let after = this.#seenPosition; after < end;) {
      const events = await store.events({ after, limit: pageSize })
      for (const { type, call, body, position } of events) {
        after = position
        if (type === 'wait.resolved') await waiters.onRemoteAnswer(body.wait)
        else if (type === 'call.settled') await this.checkCall(activeCalls.get(call))
        else if (type === 'call.cancelling') await applyCancel(activeCalls.get(call), body)
      }
      if (events.length === 0) return
    }
  }
}
