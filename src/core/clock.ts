// The clock port. No other module reads the time or sets a timer, so tests can control time.

/** Source of time and timers. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. Used for deadlines and for everything shown to people. */
  now(): number
  /** Monotonic milliseconds, shared by all processes of one machine. Used for leases. */
  monotonic(): number
  /** Calls `fire` once after `ms`, which may exceed 24.8 days. Returns a function that cancels the timer. */
  timer(ms: number, fire: () => void): () => void
  /** Calls `chore` about every `ms` until cancelled. For heartbeats and polls, whose exact count does not matter. */
  every(ms: number, chore: () => void): () => void
  /** Keeps the process alive until the returned function is called. Used while a caller waits for time or an event. */
  hold(): () => void
}

/** setTimeout overflows above 2^31-1 ms, so a longer timer is split into several. */
const maxTimeoutMs = 2_000_000_000

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic() {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1000 + Math.floor(nanoseconds / 1_000_000)
  },
  timer(ms, fire) {
    let left = Math.max(0, ms)
    let handle: ReturnType<typeof setTimeout>
    const armNext = (): void => {
      const now = Math.min(left, maxTimeoutMs)
      left -= now
      handle = setTimeout(left > 0 ? armNext : fire, now)
      // A timer alone must not keep a finished program alive; a waiting caller uses hold() for that.
      handle.unref?.()
    }
    armNext()
    return () => clearTimeout(handle)
  },
  every(ms, chore) {
    const handle = setInterval(chore, ms)
    handle.unref?.()
    return () => clearInterval(handle)
  },
  hold() {
    const handle = setInterval(() => {}, maxTimeoutMs)
    return () => clearInterval(handle)
  },
}
