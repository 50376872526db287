// The semaphore slots of one call, recorded with it. The write that ends the attempt releases them (leased-call.ts).

import type { CallOptions } from '../../../store/records/call-record.ts'
import type { TakeSlots } from '../../../store/store.ts'
import type { SlotRequest, NoSlotFree, SemaphoresPort } from '../../engine.ts'
import type { LeasedCall } from './leased-call.ts'

export class CallSemaphores implements SemaphoresPort {
  readonly #leased: LeasedCall
  readonly #options: CallOptions

  constructor(leased: LeasedCall, options: CallOptions) {
    this.#leased = leased
    this.#options = options
  }

  release(): void {
    const leased = this.#leased
    if (leased.mayHoldSlots && !(leased.stopped && 'over' in leased.stopped))
      leased.writeLazily(leased.fenced({ ...leased.releaseSlots(), events: [] }))
  }

  async acquire(slots: readonly SlotRequest[]): Promise<void> {
    await this.#leased.write(this.#leased.fenced({ takeSlots: this.takeRequest(slots), events: [] }))
  }

  async awaitSlot(slots: readonly SlotRequest[], full: NoSlotFree, signal: AbortSignal): Promise<void> {
    const leased = this.#leased
    const take = this.takeRequest(slots)
    await leased.write(
      leased.fenced({ queueForSlot: { holder: take.holder, worker: take.worker, name: full.semaphore }, events: [] }),
    )
    // Waits only for the full semaphore. If another one is full afterwards, the call queues there.
    const awaited = take.slots.filter(({ name }) => name === full.semaphore)
    await leased.host.semaphores.awaitSlot({ ...take, slots: awaited }, signal)
  }

  /** The request as part of a change. */
  takeRequest(slots: readonly SlotRequest[]): TakeSlots {
    const leased = this.#leased
    leased.mayHoldSlots = true
    const { uid: holder } = leased.request
    const { root, above = [] } = this.#options
    const entry = `${holder}#${leased.progress.attempt}`
    const requests = slots.map(({ name, capacity, lastsMs: ms }) => ({
      name,
      capacity,
      ...(ms && { lasts: { ms, entry } }),
    }))
    const own = { holder, worker: leased.host.lease.worker, slots: requests }
    return root === undefined ? own : { ...own, above: [root, ...above] }
  }
}
