// WORDS: the port for fresh ids, and ids derived from what they name.

export interface Ids {
  /** A new id, unique and roughly ordered by time (good for indexes); never used for ordering. */
  next(): string
}

/** The parts of an identity, framed so that no choice of parts can imitate another ("a","bc" is not "ab","c"). */
export function frame(...parts: readonly (string | number)[]): string {
  let framed = ''
  for (const part of parts) framed += `${String(part).length}:${part},`
  return framed
}
