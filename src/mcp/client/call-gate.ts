// Limits the calls of one server: how many run at the same time, and how many begin within a period.

import { systemClock } from '../../core/clock.ts'

export interface GateLimits {
  readonly concurrency: number
  readonly rate: { readonly calls: number; readonly perMs: number } | null
}

export class CallGate {
  readonly #limits: GateLimits
  #running = 0
  /** When calls of the current period began, oldest first. */
  #began: number[] = []
  readonly #waiting: (() => void)[] = []
  #cancelTimer = (): void => {}

  constructor(limits: GateLimits) {
    this.#limits = limits
  }

  /** Resolves when the call may run, with the function that ends its turn. Rejects if the signal aborts before that. */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (this.#waiting.length > 0 || !this.#mayBegin()) await this.#wait(signal)
    else this.#begin()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#running--
      this.#next()
    }
  }

  #begin(): void {
    this.#running++
    if (this.#limits.rate) this.#began.push(systemClock.monotonic())
  }

  #mayBegin(): boolean {
    const { concurrency, rate } = this.#limits
    if (this.#running >= concurrency) return false
    if (!rate) return true
    const since = systemClock.monotonic() - rate.perMs
    this.#began = this.#began.filter((at) => at > since)
    return this.#began.length < rate.calls
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        reject(signal.reason as Error)
      }
      const begin = (): void => {
        signal.removeEventListener('abort', onAbort)
        this.#begin()
        resolve()
      }
      if (signal.aborted) return reject(signal.reason as Error)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(begin)
      this.#arm()
    })
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#mayBegin()) this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#arm()
  }

  /** Calls that wait for the rate are woken by a timer. */
  #arm(): void {
    this.#cancelTimer()
    const { rate, concurrency } = this.#limits
    const oldest = this.#began[0]
    if (!rate || oldest === undefined || this.#running >= concurrency) return
    const ms = Math.max(1, oldest + rate.perMs - systemClock.monotonic() + 1)
    this.#cancelTimer = systemClock.timer(ms, () => this.#next())
  }
}
