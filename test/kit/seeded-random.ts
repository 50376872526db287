// A seeded random number generator: the same seed gives the same numbers.

export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    // mulberry32: small and well distributed; not for secrets
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
