// Reads a number or JSON that a person typed. A number that JavaScript would change is refused.

const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** Without the sign, the point, the exponent, and the zeros around it. */
const digitsOf = (text: string): string =>
  text
    .replace(/e.*$/i, '')
    .replaceAll(/\D/g, '')
    .replaceAll(/^0+|0+$/g, '')

/** As the server checks it: larger whole numbers may have been rounded. From 10^21 on they have an exponent. */
const isExact = (value: number): boolean =>
  !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21

export function readNumber(text: string): number {
  if (!number.test(text.trim())) throw new Error('This is not a number.')
  const value = Number(text)
  if (!isExact(value) || digitsOf(text) !== digitsOf(String(value)))
    throw new Error(`The number ${text.trim()} cannot be kept exactly.`)
  return value
}

export function readJson(text: string): unknown {
  try {
    return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
      // Older browsers do not say how a number was written.
      if (typeof value === 'number' && context?.source !== undefined) readNumber(context.source)
      return value
    })
  } catch (error) {
    throw error instanceof SyntaxError ? new Error(`This is not JSON: ${error.message}`, { cause: error }) : error
  }
}
