// The calls of open batches that are watched for a move to the background, by this or another worker. Batches add
// their calls (sessions/move-calls-to-background.ts); moving a call checks it here.

import type { Clock } from '../core/clock.ts'
import type { Hint, Store } from '../store/store.ts'

/** Polling interval after writes of other processes: they are frequent, and a move is not urgent. */
const pollMs = 1_000

export class MovedCalls {
  readonly #store: Pick<Store, 'onHint'>
  readonly #clock: Clock
  /** By call uid: several batches may wait for one call. */
  readonly #watched = new Map<string, Set<() => void>>()
  /** Set while calls are watched. */
  #stopListening: (() => void) | null = null
  /** Cancel functions of pending timers: the poll of all calls, and retries of single calls. */
  readonly #pendingTimers = new Set<() => void>()
  #isPollScheduled = false

  constructor({ store, clock }: { readonly store: Pick<Store, 'onHint'>; readonly clock: Clock }) {
    this.#clock = clock
    this.#store = store
  }

  /** Calls `check` whenever the call may have been moved. Returns a function that stops this. */
  watch(uid: string, check: () => void): () => void {
    this.#stopListening ??= this.#store.onHint((hint) => this.#onHint(hint))
    const checks = this.#watched.get(uid) ?? new Set()
    this.#watched.set(uid, checks.add(check))
    return () => {
      checks.delete(check)
      if (checks.size === 0 && this.#watched.get(uid) === checks) this.#watched.delete(uid)
      if (this.#watched.size === 0) this.#stop()
    }
  }

  /** Called after this worker moved the call. */
  check(uid: string): void {
    for (const check of this.#watched.get(uid) ?? []) check()
  }

  /** Runs it after the polling interval, unless the runtime closes first. */
  retry(run: () => void): void {
    const cancelTimer = this.#clock.timer(pollMs, () => {
      this.#pendingTimers.delete(cancelTimer)
      run()
    })
    this.#pendingTimers.add(cancelTimer)
  }

  close(): void {
    this.#stop()
    for (const cancelTimer of this.#pendingTimers) cancelTimer()
    this.#watched.clear()
  }

  #stop(): void {
    this.#stopListening?.()
    this.#stopListening = null
  }

  #onHint({ outside }: Hint): void {
    if (!outside || this.#isPollScheduled) return
    this.#isPollScheduled = true
    this.retry(() => {
      this.#isPollScheduled = false
      for (const uid of this.#watched.keys()) this.check(uid)
    })
  }
}
