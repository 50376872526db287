// Exponential backoff, for everything that is tried again.

/** The delay before retry number `retries` (from 0): it doubles each time, up to `maxMs`. */
export const backoffMs = (retries: number, baseMs: number, maxMs: number): number =>
  Math.min(maxMs, baseMs * 2 ** retries)
