// Answers waits: with an answer from a caller, or because the deadline has passed. The first answer wins; later callers
// get the recorded one.

import type { Clock } from '../../../core/clock.ts'
import type { Observers } from '../../../core/observer.ts'
import { encode } from '../../../core/tool-value.ts'
import {
  type CallRecord,
  type Resolution,
  type WaitRecord,
  attachmentsIn,
  progressOf,
  waitTermsOf,
} from '../../../store/records/call-record.ts'
import { eventOf } from '../../../store/records/event.ts'
import type { Change, Store } from '../../../store/store.ts'
import { hashKey, looksLikeKey, sameHash } from '../../wait-key.ts'
import {
  decodeResolution,
  cancelOfCall,
  encodeCancelOfCall,
  encodeResolution,
  resolutionKind,
  timeoutResolution,
} from '../../../store/records/wait-resolution.ts'
import type { CancelReason, ExtraWrites, ResolveAnswer } from '../../engine.ts'
import type { Drivers } from '../../drivers.ts'
import { observedCall } from '../../observed-call.ts'
import { activeTraceparent } from '../../trace-scope.ts'
import { cancelChange, remoteCancelChange } from '../cancellation/write-cancel.ts'
import { unlessUnreadable } from '../../../store/skip-unreadable.ts'
import type { Waiters } from './timers.ts'
import { itemsOf } from '../../../store/collections.ts'
import { announceTool, stepKeys } from '../../../store/journal-keys.ts'

interface WaitAnswersHost {
  readonly store: Store
  readonly clock: Clock
  readonly waiters: Waiters
  readonly drivers: Drivers
  readonly observers: Observers
}

export class WaitAnswers {
  readonly #host: WaitAnswersHost

  constructor(host: WaitAnswersHost) {
    this.#host = host
  }

  async resolve(key: string, resolution: Resolution): Promise<ResolveAnswer> {
    const { store } = this.#host
    if (!looksLikeKey(key)) return { answer: 'unknown_or_revoked' }
    const hash = hashKey(key)
    const wait = await store.waitByKeyHash(hash)
    const call = wait && sameHash(wait.keyHash, hash) ? await store.call(wait.call) : undefined
    // A wait that people answer cannot be answered by key, only by decide().
    if (!wait || !call || waitTermsOf(wait).asks) return { answer: 'unknown_or_revoked' }
    return this.answer(wait, call, resolution)
  }

  async answer(wait: WaitRecord, call: CallRecord, resolution: Resolution): Promise<ResolveAnswer> {
    const { clock, drivers } = this.#host
    if (wait.resolution !== null) return { answer: 'already_resolved', terminal: decodeResolution(wait.resolution) }
    // The call has settled, so an answer would have no effect.
    if (call.state === 'settled') return { answer: 'unknown_or_revoked' }
    // After the deadline the timeout wins, even if its timer has not fired yet.
    if (clock.now() < wait.deadline) {
      // Until the call is parked, it is unknown whether the value is its outcome or only input for its body. It is
      // stored unchecked, and checked when it becomes the outcome.
      const isResult = (call.state === 'parked' && call.wait === wait.id) || waitTermsOf(wait).asks?.kind === 'client'
      if ('value' in resolution && isResult) {
        const problems = await drivers.validateAnswer(call, resolution.value, waitTermsOf(wait).checked === true)
        if (problems.length > 0) return { answer: 'invalid', problems }
      }
      if (await this.#write(wait, resolution, call)) return { answer: 'accepted' }
    } else await this.#write(wait, timeoutResolution(wait), call)
    return { answer: 'already_resolved', terminal: await this.recordedAnswer(wait.id) }
  }

  /** Records a decision with extra writes. False if another answer came first or a guard failed. */
  async decide(wait: WaitRecord, call: CallRecord, resolution: Resolution, extra: ExtraWrites): Promise<boolean> {
    return this.#write(wait, resolution, call, extra)
  }

  /** Closes a wait whose question no longer applies because the planned call has changed. */
  async withdraw(wait: WaitRecord, call: CallRecord, why: string): Promise<boolean> {
    return this.#write(wait, { cancelled: why, at: this.#host.clock.now() }, call)
  }

  /** Cancels a parked call: the cancel is recorded with the answer and competes with every other answer. */
  async cancelParked(wait: WaitRecord, call: CallRecord, why: CancelReason): Promise<boolean> {
    const { tenant, session } = call.position
    return this.#write(
      wait,
      { cancelled: why.reason },
      call,
      cancelChange({ tenant, session, call: call.uid }, this.#host.clock.now(), why),
      encodeCancelOfCall(why),
    )
  }

  /** Answers a wait of a call whose cancel is already recorded. */
  async cancel(wait: WaitRecord, call: CallRecord, why: CancelReason): Promise<boolean> {
    return this.#write(wait, { cancelled: why.reason }, call, undefined, encodeCancelOfCall(why))
  }

  /** Cancels a call that another worker owns, or that no worker owns yet. */
  async cancelElsewhere(call: CallRecord, why: CancelReason): Promise<boolean> {
    const { store, clock } = this.#host
    if (call.tool === announceTool && call.owner === null)
      return (await store.commit(dropDelivery(call, clock.now()))).ok
    if ((await store.steps(call.uid)).some(({ key }) => key === stepKeys.cancel)) return false
    const { ok } = await store.commit(remoteCancelChange(call, clock.now(), why))
    // Close the waits, so that no answer is accepted that the call would ignore.
    if (ok) for (const wait of await store.waitsOf(call.uid)) await this.cancel(wait, call, why)
    return ok
  }

  /** False if the call cannot be read; the wait then stays open. */
  async expire(wait: WaitRecord): Promise<boolean> {
    const { store } = this.#host
    let isReadable = true
    const call = await unlessUnreadable(
      () => store.call(wait.call),
      () => void (isReadable = false),
    )
    if (call) await this.#write(wait, timeoutResolution(wait), call)
    return isReadable
  }

  /** True if the wait ended because its call was cancelled, not by an external answer. */
  async isCancelledWithCall(wait: string): Promise<boolean> {
    const record = await this.#host.store.wait(wait)
    return cancelOfCall(record as WaitRecord) !== null
  }

  /** The recorded answer of an answered wait. */
  async recordedAnswer(wait: string): Promise<Resolution> {
    const record = await this.#host.store.wait(wait)
    return decodeResolution((record as WaitRecord).resolution as string)
  }

  /** True if this answer was the first. Waiting bodies get it in its recorded form. */
  async #write(
    wait: WaitRecord,
    resolution: Resolution,
    call: CallRecord,
    extra?: Partial<Pick<Change, 'guards' | 'steps' | 'documents'>> & Pick<Change, 'events'>,
    text = encodeResolution(resolution),
  ): Promise<boolean> {
    const { store, clock, waiters, observers } = this.#host
    const subject = { tenant: call.position.tenant, session: call.position.session, call: call.uid }
    const attachments = attachmentsIn(text)
    const resolved = eventOf(subject, 'wait.resolved', clock.now(), { wait: wait.id, by: resolutionKind(resolution) })
    const { asks } = waitTermsOf(wait)
    const closedItems = asks ? [itemsOf(asks.kind).remove(subject, wait.id)] : []
    const documents = [...closedItems, ...(extra?.documents ?? [])]
    const change: Change = {
      resolveWait: { id: wait.id, resolution: text },
      ...(attachments.length > 0
        ? { uses: attachments.map((id) => ({ tenant: subject.tenant, id, call: call.uid })) }
        : {}),
      ...extra,
      guards: [{ kind: 'open', wait: wait.id }, ...(extra?.guards ?? [])],
      ...(documents.length > 0 ? { documents } : {}),
      events: extra ? [...extra.events, resolved] : [resolved],
    }
    const committed = await store.commit(change).catch((error: unknown) => {
      // The answer may have been recorded anyway, and a second one would be rejected: waiting bodies must check.
      waiters.markUncertain(wait.id)
      throw error
    })
    if (!committed.ok) return false
    waiters.deliver(wait.id, decodeResolution(text))
    const observer = observers.current
    if (observer) {
      const at = clock.now()
      observer({
        type: 'waitResolved',
        ...observedCall(call),
        at,
        wait: wait.id,
        kind: asks?.kind ?? 'external',
        by: resolutionKind(resolution),
        durationMs: at - wait.createdAt,
        attempt: call.attempt,
        // A timer runs in the trace of whatever set it.
        answeredIn: 'timeout' in resolution ? null : (observers.tracing?.active() ?? activeTraceparent()),
      })
    }
    return true
  }
}

/** Settles a delivery that no worker owns: if no worker has `announce`, it would never be claimed. */
function dropDelivery(call: CallRecord, at: number): Change {
  const { uid, fence, position } = call
  const outcome = encode({
    status: 'cancelled',
    cancellation: { message: 'The announced wait has ended', source: 'cancellation' },
  })
  const progress = { ...progressOf(call), state: 'settled' as const, outcome, settledAt: at }
  const settled = eventOf({ ...position, call: uid }, 'call.settled', at, {
    status: 'cancelled',
    attempts: call.attempt,
  })
  return {
    guards: [{ kind: 'holds', call: uid, fence }],
    updateCall: { uid, progress, release: true },
    events: [settled],
  }
}
