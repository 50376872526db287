const maxLength = 200

/** A value as short text for an error message. Also works for values without JSON text (BigInt, cycles). */
export function formatValue(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, maxLength).toWellFormed()
  } catch {
    return `a ${typeof value}`
  }
}
