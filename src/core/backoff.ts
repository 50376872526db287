// Exponential backoff, used by all retries.

/** The delay before retry number `retries` (from 0): it doubles each time, up to `maxMs`. */
export const backoffMs = (retries: number, baseMs: number, maxMs: number): number =>
  Math.min(maxMs, baseMs * 2 ** retries)
