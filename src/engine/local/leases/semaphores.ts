// Waits for slots of fleet-wide semaphores. Slots are recorded with the call that holds them; this file only tracks the
// calls of this worker that were rejected and wait.

import { parseCallOptions } from '../../../store/records/call-record.ts'
import { PawlError } from '../../../core/errors.ts'
import type { Clock } from '../../../core/clock.ts'
import type { SlotHold, Store, TakeSlots } from '../../../store/store.ts'
import type { Logger } from '../../../tools/context/tool-context.ts'

/** Poll interval in addition to hints: a worker may have died, or a timed slot expired. */
const pollMs = 500

interface SlotWaiter {
  readonly take: TakeSlots
  readonly wake: (error?: Error) => void
}

export class FleetSemaphores {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #waiters = new Set<SlotWaiter>()
  #isChecking = false
  #checkAgain = false
  /** The next check also looks for deadlocks. */
  #deadlockCheckDue = false
  /** Empty while no call waits. */
  readonly #stopListeners: (() => void)[] = []

  constructor(host: { store: Store; clock: Clock; logger: Logger }) {
    this.#store = host.store
    this.#clock = host.clock
    this.#logger = host.logger
  }

  /** Resolves when a slot may be free. The queue ticket is already recorded. */
  awaitSlot(take: TakeSlots, signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (signal.aborted) return resolve()
      const wake = (error?: Error): void => {
        if (!this.#waiters.delete(waiter)) return
        signal.removeEventListener('abort', onAbort)
        if (this.#waiters.size === 0) for (const stop of this.#stopListeners.splice(0)) stop()
        if (error) reject(error)
        else resolve()
      }
      const onAbort = (): void => wake()
      const waiter: SlotWaiter = { take, wake }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', onAbort)
      if (this.#stopListeners.length === 0)
        this.#stopListeners.push(
          this.#clock.every(pollMs, () => this.#check(true)),
          this.#store.onHint(() => this.#check(false)),
        )
      // Registered first, checked second, so that a slot released in between is not missed.
      this.#check(false)
    })
  }

  #check(forDeadlocks: boolean): void {
    this.#deadlockCheckDue ||= forDeadlocks
    if (this.#isChecking) return void (this.#checkAgain = true)
    this.#isChecking = true
    const withDeadlocks = this.#deadlockCheckDue
    this.#deadlockCheckDue = false
    this.#checkOnce(withDeadlocks)
      .catch((error: unknown) => this.#logger.warn('Semaphores could not be checked; retrying soon', { error }))
      .finally(() => {
        this.#isChecking = false
        const again = this.#checkAgain
        this.#checkAgain = false
        if (again && this.#waiters.size > 0) this.#check(false)
      })
  }

  async #checkOnce(forDeadlocks: boolean): Promise<void> {
    const waiters = [...this.#waiters]
    const full = await this.#store.full(waiters.map(({ take }) => take))
    const stillFull = waiters.filter(({ wake }, index) => {
      if (!full[index]) wake()
      return full[index]
    })
    // Only a nested call can wait for its own ancestors.
    if (forDeadlocks && stillFull.some(({ take }) => take.above)) await this.#failDeadlocks(stillFull)
  }

  /**
   * Finds deadlocks across workers. A queued call waits for all holders of its semaphore, and a call waits for its
   * nested calls. The youngest call of a cycle fails, on whichever worker finds it.
   */
  async #failDeadlocks(stillFull: readonly SlotWaiter[]): Promise<void> {
    const holds = await this.#store.holds()
    const queued = holds.filter((hold) => hold.ticket !== null)
    const ancestors = new Map<string, readonly string[]>()
    for (const { holder } of queued) ancestors.set(holder, await this.#ancestorsOf(holder))
    for (const { take, wake } of stillFull) {
      const deadlocked = deadlockOf(take.holder, queued, holds, ancestors)
      if (deadlocked !== null && deadlocked.every((uid) => uid <= take.holder)) {
        wake(new PawlError('would_deadlock', `The call is ${take.holder}.`))
      }
    }
  }

  async #ancestorsOf(uid: string): Promise<readonly string[]> {
    const record = await this.#store.call(uid)
    const { root, above = [] } = record?.options ? parseCallOptions(record.options) : {}
    return root === undefined ? [] : [root, ...above]
  }
}

/** The queued calls that are deadlocked with this one, including itself; null if there is no deadlock. */
function deadlockOf(
  uid: string,
  queued: readonly SlotHold[],
  holds: readonly SlotHold[],
  ancestors: ReadonlyMap<string, readonly string[]>,
): string[] | null {
  const seen = new Set<string>()
  const chain = new Set([uid, ...(ancestors.get(uid) ?? [])])
  /** True if every slot of its semaphore is held by a call that cannot continue before `uid` does. */
  const isStuck = (waiter: string): boolean => {
    seen.add(waiter)
    const { name } = queued.find((each) => each.holder === waiter) as SlotHold
    const holders = holds.filter(
      (each) => each.name === name && each.ticket === null && !(ancestors.get(waiter) ?? []).includes(each.holder),
    )
    return (
      holders.length > 0 &&
      holders.every(
        ({ holder }) =>
          chain.has(holder) ||
          [...ancestors].some(
            ([waiterUid, calls]) => calls.includes(holder) && (seen.has(waiterUid) ? false : isStuck(waiterUid)),
          ),
      )
    )
  }
  return queued.some((each) => each.holder === uid) && isStuck(uid) ? [...seen] : null
}
