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

export const longestName = 512

/** Names of ours are kept in indexes and in several databases: not too long, and nothing they cannot hold. */
export const isName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= longestName &&
  value.isWellFormed() &&
  !value.includes('\0')
