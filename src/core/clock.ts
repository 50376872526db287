// WORDS: the clock port. Nothing else in Pawl reads the time or sets a timer, so that time can be moved by hand.

export interface Clock {
  /** Wall time in milliseconds since 1970; what people and deadlines mean. */
  now(): number
  /** Milliseconds that never step back, the same for all processes of one machine; what leases mean. */
  monotonic(): number
  /** Calls `fire` once after `ms` (any length; beyond 24.8 days too). Returns how to call it off. */
  timer(ms: number, fire: () => void): () => void
  /** Calls `chore` about every `ms` until called off: heartbeats and polls, whose exact number means nothing. */
  every(ms: number, chore: () => void): () => void
  /** Keeps the program alive until let go: somebody waits for something only time or the outside brings. */
  hold(): () => void
}

/** setTimeout wraps around above 2^31-1 ms, so long timers are walked in legs. */
const longestLeg = 2_000_000_000

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic() {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1000 + Math.floor(nanoseconds / 1_000_000)
  },
  timer(ms, fire) {
    let left = Math.max(0, ms)
    let handle: ReturnType<typeof setTimeout>
    const leg = (): void => {
      const now = Math.min(left, longestLeg)
      left -= now
      handle = setTimeout(left > 0 ? leg : fire, now)
      // A timer alone must not keep a finished program alive; what somebody waits for holds it.
      handle.unref?.()
    }
    leg()
    return () => clearTimeout(handle)
  },
  every(ms, chore) {
    const handle = setInterval(chore, ms)
    handle.unref?.()
    return () => clearInterval(handle)
  },
  hold() {
    const handle = setInterval(() => {}, longestLeg)
    return () => clearInterval(handle)
  },
}
