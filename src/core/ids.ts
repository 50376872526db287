// The id port, and helpers for ids and keys that are derived from names.

/** Source of unique ids. */
export interface Ids {
  /**
   * A new unique id, roughly ordered by time because that makes database indexes more efficient. Never used for
   * ordering.
   */
  next(): string
}

/** Joins parts into one key, each with its length, so that different parts never collide ("a","bc" and "ab","c"). */
export function lengthPrefixed(...parts: readonly (string | number)[]): string {
  let text = ''
  for (const part of parts) text += `${String(part).length}:${part},`
  return text
}

export const maxNameLength = 512

/** Names are stored in indexes of several databases: limited length, no NUL, no lone surrogates. */
export const isName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= maxNameLength &&
  value.isWellFormed() &&
  !value.includes('\0')
