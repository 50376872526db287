const longest = 200

/** What somebody gave, for the words of a refusal: not everything has a text (a bigint, what holds itself). */
export function formatValue(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, longest).toWellFormed()
  } catch {
    return `a ${typeof value}`
  }
}
