// A call this worker holds: its record as far as we have written it, and writes that are checked against the fence. When a write is
// refused, or the lease may have been lost, the execution stops counting.

import { PawlError } from '../../kernel/errors.ts'
import { type CallProgress, type CallRecord, checkMove } from '../../journal/call-state.ts'
import { eventOf } from '../../journal/event.ts'
import { accountedFor } from '../../journal/times.ts'
import type { AttachmentRecord, Change, Committed } from '../../store/store.ts'
import type { Stop } from '../engine.ts'
import type { Host } from './host.ts'

export class HeldCall {
  readonly request: CallRecord
  readonly host: Host
  readonly event: ReturnType<typeof eventOf>
  progress: CallProgress
  attachments: AttachmentRecord[] = []
  stopped: Stop | null = null
  readonly #listeners = new Set<(why: Stop) => void>()
  /** The lapse of the lease after which this call was last seen to be ours. */
  #heldSince: number

  constructor(host: Host, record: CallRecord) {
    this.host = host
    this.request = record
    this.#heldSince = host.lease.lapses
    const { state, args, terms, attempt, startedAt, wait, outcome, settledAt } = record
    this.progress = { state, args, terms, attempt, startedAt, wait, outcome, settledAt }
    this.event = eventOf({ tenant: record.position.tenant, session: record.position.session, call: record.uid })
  }

  onStop(listener: (why: Stop) => void): () => void {
    if (this.stopped) listener(this.stopped)
    else this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** This execution no longer counts: it records nothing more. Stronger than a cancel that came before. */
  end(over: PawlError): void {
    if (this.stopped && 'over' in this.stopped) return
    this.#stop({ over })
  }

  /** Somebody asked the call to stop; how it ends is the pipeline's to say. False if it is over already. */
  cancel(why: { reason: string; by: string | null }): boolean {
    if (this.stopped) return false
    this.ride(this.held({ events: [this.event('call.cancelling', this.host.clock.now(), why)] }))
    this.#stop({ cancel: why.reason, by: why.by })
    return true
  }

  move(to: Partial<CallProgress> & Pick<CallProgress, 'state'>): void {
    checkMove(this.progress.state, to.state)
    this.progress = { ...this.progress, ...to }
  }

  /** Where the time went until now goes on record with what is written next. */
  account(at: number, waited: number): void {
    const { createdAt } = this.request
    this.progress = { ...this.progress, terms: accountedFor({ createdAt, ...this.progress }, at, waited) }
  }

  update(release = false): NonNullable<Change['updateCall']> {
    return { uid: this.request.uid, progress: this.progress, release }
  }

  /** A change by the holder: refused unless the fence is still ours. Takes the waiting attachments along. */
  held(change: Omit<Change, 'guards'>): Change {
    const { uid, fence } = this.request
    const { attachments } = this
    this.attachments = []
    return { guards: [{ kind: 'holds', call: uid, fence }], ...change, ...(attachments.length > 0 ? { attachments } : {}) }
  }

  check(): void {
    if (this.stopped && 'over' in this.stopped) throw this.stopped.over
  }

  /** Durable when it resolves. Throws if it was refused, or if the execution ended while the disk was busy: then the body must not go on. */
  async write(change: Change): Promise<void> {
    this.check()
    await this.finish(change)
    this.check()
  }

  /** Durable no later than what follows it. */
  ride(change: Change): void {
    this.check()
    this.host.store.commit(change, { ride: true }).then(
      (committed) => {
        if (!committed.ok) this.end(new PawlError('lease_lost'))
      },
      (error: unknown) => this.end(lostStore(error)),
    )
  }

  /** Whether it is on record. A store that does not answer ends the execution: what a body makes of the error no longer counts. */
  async finish(change: Change): Promise<boolean> {
    let committed: Committed
    try {
      committed = await this.host.store.commit(change)
    } catch (error) {
      this.end(lostStore(error))
      throw error
    }
    if (!committed.ok) this.end(new PawlError('lease_lost'))
    return committed.ok
  }

  /**
   * Whether an effect may start now. Asked in the same synchronous stretch that starts it: a process that is stopped in between
   * and woken after its lease has run out would otherwise act on an old answer.
   */
  surelyHeld(): boolean {
    this.check()
    const { lease } = this.host
    return lease.fresh() && lease.lapses === this.#heldSince
  }

  /** The lease had run out: others may have taken the call. Asks the store. */
  async verifyHeld(): Promise<void> {
    const { lease, store } = this.host
    const { uid, fence, position } = this.request
    let record: CallRecord | undefined
    try {
      if (!lease.fresh()) await lease.renew()
      // Asked by place: while we were away, another worker may even have put the same call on record under a uid of its own.
      record = await store.callAt(position)
    } catch (error) {
      this.end(lostStore(error))
      this.check()
    }
    const { lapses } = lease
    if (record && (record.uid !== uid || record.fence !== fence || record.state === 'settled')) this.end(new PawlError('lease_lost'))
    this.#heldSince = lapses
  }

  #stop(why: Stop): void {
    this.stopped = why
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener(why)
  }
}

const lostStore = (error: unknown): PawlError =>
  error instanceof PawlError ? error : new PawlError('store_unavailable', `It answered: ${(error as Error).message}.`, { cause: error })
