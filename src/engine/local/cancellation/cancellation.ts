// Cancels calls that run here, are parked, or belong to another worker. A cancel that the store did not accept is
// retried until it is accepted, because the caller may no longer be there to retry it.

import { isStoreOrLeaseLost } from '../../../core/errors.ts'
import type { CancelReason } from '../../engine.ts'
import type { LocalExecution } from '../local-execution.ts'
import type { ActiveCalls } from '../active-calls.ts'
import type { EngineState } from '../engine-state.ts'

export class Cancellations {
  readonly #host: EngineState
  readonly #activeCalls: ActiveCalls
  /** Work to retry, by name. For the cancel of a call the name is its uid, and `#reasons` has the reason. */
  readonly #pending = new Map<string, () => Promise<unknown>>()
  readonly #reasons = new Map<string, CancelReason>()

  constructor(host: EngineState, activeCalls: ActiveCalls) {
    this.#host = host
    this.#activeCalls = activeCalls
  }

  async cancel(uid: string, why: CancelReason): Promise<boolean> {
    this.#reasons.set(uid, why)
    try {
      return await this.retryUntilStored(uid, () => this.#cancel(uid, why))
    } finally {
      if (!this.#pending.has(uid)) this.#reasons.delete(uid)
    }
  }

  /** Stops a resumed call whose cancel is not recorded yet; the record follows. */
  applyPending({ request, leased }: LocalExecution): void {
    const why = this.#reasons.get(request.uid)
    if (why) leased.applyRemoteCancel(why)
  }

  /** Runs the work now and, if the store fails, again with every heartbeat. */
  async retryUntilStored<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      // An unreadable record stays unreadable, so it is not retried.
      if (isStoreOrLeaseLost(error)) this.#pending.set(name, work)
      throw error
    }
  }

  async retryPending(): Promise<void> {
    for (const [name, work] of this.#pending) {
      this.#pending.delete(name)
      await this.retryUntilStored(name, work)
      this.#reasons.delete(name)
    }
  }

  async #cancel(uid: string, why: CancelReason): Promise<boolean> {
    const { store, answers, drivers } = this.#host
    const execution = this.#activeCalls.byUid.get(uid)?.execution
    // An execution that has lost the call records nothing more, so its cancel would be lost as well.
    if (execution && !(execution.stopped && 'over' in execution.stopped)) {
      const written = execution.leased.cancel(why)
      written.catch(() => {}) // awaited below, after the waits
      // Cancel the waits at the same time, so that no answer is accepted that the body would not see.
      await execution.cancelWaits().catch(() => {}) // the pipeline cancels them if this fails
      if ((await written) || execution.leased.releaseState !== 'parked') return written
    }
    await this.#activeCalls.byUid.get(uid)?.recording
    const record = await store.call(uid)
    const wait = record?.state === 'parked' && record.wait !== null ? await store.wait(record.wait) : undefined
    // No worker owns a parked call: its wait is answered with the cancellation, which competes with every other answer.
    if (record && wait) return answers.cancelParked(wait, record, why)
    if (!record || record.state === 'settled') return false
    // Another worker owns it, or no worker does yet. The worker that resumes it finds the recorded cancel.
    const { execution: current } = this.#activeCalls.byUid.get(uid) ?? {}
    if (current && current !== execution) return this.#cancel(uid, why)
    const written = await answers.cancelElsewhere(record, why)
    if (written) this.#activeCalls.byUid.get(uid)?.execution?.leased.applyRemoteCancel(why)
    if (written) await drivers.onUnheard(uid, why)
    return written
  }
}
