// Answers to waits, from outside or from the clock: the first writer wins, and everyone hears what it wrote.

import type { Clock } from '../../../core/clock.ts'
import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { encode } from '../../../core/value.ts'
import {
  type CallRecord,
  progressOf,
  type Resolution,
  type WaitRecord,
  waitTermsOf,
} from '../../../store/records/call-record.ts'
import { itemName } from '../../../store/records/approval-request.ts'
import { eventOf } from '../../../store/records/event.ts'
import { attachmentsIn } from '../../../store/records/attachment-refs.ts'
import type { Change, Store } from '../../../store/store.ts'
import { hashKey, looksLikeKey, sameHash } from '../../wait-key.ts'
import {
  decodeResolution,
  encodeCancelOfCall,
  encodeResolution,
  kindOf,
  timedOut,
} from '../../../store/records/resolution.ts'
import type { AlsoWritten, ResolveAnswer } from '../../engine.ts'
import { announceTool } from './announce-tool.ts'
import { cancelKey, cancelling, cancellingOutside, type Why } from '../cancellation/cancel-record.ts'
import { unlessUnreadable } from '../../../store/read-or-report.ts'
import type { Waiters } from './timers.ts'

/** What is wrong with a value that would be the outcome of a parked call; nothing if it may be (WAIT-6). `must`: it may not be taken unseen. */
export type JudgeValue = (call: CallRecord, value: unknown, must: boolean) => MaybePromise<readonly string[]>

interface AnswersHost {
  readonly store: Store
  readonly clock: Clock
  readonly waiters: Waiters
  readonly judge: JudgeValue
}

export class Answers {
  readonly #host: AnswersHost

  constructor(host: AnswersHost) {
    this.#host = host
  }

  async resolve(key: string, resolution: Resolution): Promise<ResolveAnswer> {
    const { store } = this.#host
    if (!looksLikeKey(key)) return { answer: 'unknown_or_revoked' }
    const hash = hashKey(key)
    const wait = await store.waitByKeyHash(hash)
    const call = wait && sameHash(wait.keyHash, hash) ? await store.call(wait.call) : undefined
    // What is asked of people no key answers: decide() does.
    if (!wait || !call || waitTermsOf(wait).asks) return { answer: 'unknown_or_revoked' }
    return this.answered(wait, call, resolution)
  }

  async answered(wait: WaitRecord, call: CallRecord, resolution: Resolution): Promise<ResolveAnswer> {
    const { clock, judge } = this.#host
    if (wait.resolution !== null) return { answer: 'already_resolved', terminal: decodeResolution(wait.resolution) }
    // Its call ended without it: nobody will ever hear an answer.
    if (call.state === 'settled') return { answer: 'unknown_or_revoked' }
    // Past the deadline the clock was first, even if its timer has not fired yet.
    if (clock.now() < wait.deadline) {
      // Of a call that is not parked yet nobody knows whether the value is its outcome or only something its body waits for: it is kept, and
      // checked when it lands, if it does.
      const isResult = (call.state === 'parked' && call.wait === wait.id) || waitTermsOf(wait).asks?.kind === 'client'
      if ('value' in resolution && isResult) {
        const problems = await judge(call, resolution.value, waitTermsOf(wait).checked === true)
        if (problems.length > 0) return { answer: 'invalid', problems }
      }
      if (await this.#write(wait, resolution, call)) return { answer: 'accepted' }
    } else await this.#write(wait, timedOut(wait), call)
    return { answer: 'already_resolved', terminal: await this.given(wait.id) }
  }

  /** A decision, with what else it writes. False if another answer was first, or a guard of it is not true any more. */
  async decide(wait: WaitRecord, call: CallRecord, resolution: Resolution, also: AlsoWritten): Promise<boolean> {
    return this.#write(wait, resolution, call, also)
  }

  /** What was asked is no longer what would run. */
  async callOff(wait: WaitRecord, call: CallRecord, why: string): Promise<boolean> {
    return this.#write(wait, { cancelled: why, at: this.#host.clock.now() }, call)
  }

  /** Of a parked call, which nobody holds: the cancel is on record with the answer, and competes with every other one. */
  async cancelParked(wait: WaitRecord, call: CallRecord, why: Why): Promise<boolean> {
    const { tenant, session } = call.position
    return this.#write(
      wait,
      { cancelled: why.reason },
      call,
      cancelling({ tenant, session, call: call.uid }, this.#host.clock.now(), why),
    )
  }

  /** Of a call whose cancel is on record. */
  async cancel(wait: WaitRecord, call: CallRecord, why: Why): Promise<boolean> {
    return this.#write(wait, { cancelled: why.reason }, call, undefined, encodeCancelOfCall(why.reason))
  }

  /** A call that another worker has, or nobody yet. */
  async cancelElsewhere(call: CallRecord, why: Why): Promise<boolean> {
    const { store, clock } = this.#host
    if (call.tool === announceTool && call.owner === null) return (await store.commit(givenUp(call, clock.now()))).ok
    if ((await store.steps(call.uid)).some(({ key }) => key === cancelKey)) return false
    const { ok } = await store.commit(cancellingOutside(call, clock.now(), why))
    // No answer is taken any more that nobody would hear.
    if (ok) for (const wait of await store.waitsOf(call.uid)) await this.cancel(wait, call, why)
    return ok
  }

  /** False if its call cannot be read: then it stays as it is. */
  async expire(wait: WaitRecord): Promise<boolean> {
    const { store } = this.#host
    let isReadable = true
    const call = await unlessUnreadable(
      () => store.call(wait.call),
      () => void (isReadable = false),
    )
    if (call) await this.#write(wait, timedOut(wait), call)
    return isReadable
  }

  /** The answer on record of a wait that has one. */
  async given(wait: string): Promise<Resolution> {
    const record = await this.#host.store.wait(wait)
    return decodeResolution((record as WaitRecord).resolution as string)
  }

  /** True if this answer was the first. Whoever stands in the wait gets it in its recorded form. */
  async #write(
    wait: WaitRecord,
    resolution: Resolution,
    call: CallRecord,
    also?: Partial<Pick<Change, 'guards' | 'steps' | 'documents'>> & Pick<Change, 'events'>,
    text = encodeResolution(resolution),
  ): Promise<boolean> {
    const { store, clock, waiters } = this.#host
    const subject = { tenant: call.position.tenant, session: call.position.session, call: call.uid }
    const said = attachmentsIn(text)
    const resolved = eventOf(subject, 'wait.resolved', clock.now(), { wait: wait.id, by: kindOf(resolution) })
    const { asks } = waitTermsOf(wait)
    const gone = asks ? [{ ...itemName(asks.kind, subject, wait.id), value: null }] : []
    const documents = [...gone, ...(also?.documents ?? [])]
    const change: Change = {
      resolveWait: { id: wait.id, resolution: text },
      ...(said.length > 0 ? { uses: said.map((id) => ({ tenant: subject.tenant, id, call: call.uid })) } : {}),
      ...also,
      guards: [{ kind: 'open', wait: wait.id }, ...(also?.guards ?? [])],
      ...(documents.length > 0 ? { documents: documents } : {}),
      events: also ? [...also.events, resolved] : [resolved],
    }
    const committed = await store.commit(change).catch((error: unknown) => {
      // It may be on record all the same, and a second answer would be refused: whoever stands in the wait must still hear of it.
      waiters.doubted(wait.id)
      throw error
    })
    if (committed.ok) waiters.deliver(wait.id, decodeResolution(text))
    return committed.ok
  }
}

/** A delivery that nobody has may never be anybody's, where nobody announces: it ends here. */
function givenUp(call: CallRecord, at: number): Change {
  const { uid, fence, position } = call
  const outcome = encode({
    status: 'cancelled',
    cancellation: { message: 'What it was to announce is no longer wanted', source: 'cancellation' },
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
