// Seeds that once broke a law, and what they found. They are always run. A change to the programs makes other histories of them; then they stand
// for themselves.

export const kept: readonly number[] = [
  58, // an answer to a wait was on record, its writer heard of a failure, and the body waited for ever
]
