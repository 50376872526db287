// Answers to waits, from outside or from the clock: the first writer wins, and everyone hears what it wrote.

import type { Clock } from '../../kernel/time.ts'
import type { Resolution, WaitRecord } from '../../journal/call-state.ts'
import { eventOf } from '../../journal/event.ts'
import type { Change, Store } from '../../store/store.ts'
import { hashKey, looksLikeKey } from '../../wait/key.ts'
import { decodeResolution, encodeResolution, kindOf } from '../../wait/resolution.ts'
import type { ResolveAnswer } from '../engine.ts'
import type { Waiters } from './wake.ts'

export class Answers {
  readonly #store: Store
  readonly #clock: Clock
  readonly #waiters: Waiters

  constructor(host: { store: Store; clock: Clock; waiters: Waiters }) {
    this.#store = host.store
    this.#clock = host.clock
    this.#waiters = host.waiters
  }

  async resolve(key: string, resolution: Resolution): Promise<ResolveAnswer> {
    if (!looksLikeKey(key)) return { answer: 'unknown_or_revoked' }
    const wait = await this.#store.waitByKeyHash(hashKey(key))
    if (!wait) return { answer: 'unknown_or_revoked' }
    // Past the deadline the clock was first, even if its timer has not fired yet.
    const late = this.#clock.now() >= wait.deadline && wait.resolution === null
    const first = await this.#write(wait, late ? { timeout: true } : resolution)
    return first && !late ? { answer: 'accepted' } : { answer: 'already_resolved', terminal: await this.given(wait.id) }
  }

  async cancel(wait: WaitRecord, why: { reason: string; by: string | null }): Promise<boolean> {
    return this.#write(wait, { cancelled: why.reason }, why)
  }

  async expire(wait: WaitRecord): Promise<void> {
    await this.#write(wait, { timeout: true })
  }

  /** The answer on record of a wait that has one. */
  async given(wait: string): Promise<Resolution> {
    const record = await this.#store.wait(wait)
    return decodeResolution((record as WaitRecord).resolution as string)
  }

  /** True if this answer was the first. Whoever stands in the wait gets it in its recorded form. */
  async #write(wait: WaitRecord, resolution: Resolution, cancel?: { reason: string; by: string | null }): Promise<boolean> {
    const call = await this.#store.call(wait.call)
    if (!call) return false
    const subject = { tenant: call.position.tenant, session: call.position.session, call: call.uid }
    const at = this.#clock.now()
    const text = encodeResolution(resolution)
    const resolved = eventOf(subject, 'wait.resolved', at, { wait: wait.id, by: kindOf(resolution) })
    const change: Change = {
      guards: [{ kind: 'open', wait: wait.id }],
      resolveWait: { id: wait.id, resolution: text },
      events: cancel ? [eventOf(subject, 'call.cancelling', at, cancel), resolved] : [resolved],
    }
    const committed = await this.#store.commit(change).catch((error: unknown) => {
      // It may be on record all the same, and a second answer would be refused: whoever stands in the wait must still hear of it.
      this.#waiters.doubted(wait.id)
      throw error
    })
    if (committed.ok) this.#waiters.deliver(wait.id, decodeResolution(text))
    return committed.ok
  }
}
