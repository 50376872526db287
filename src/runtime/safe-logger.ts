// The host's logger, as everything here uses it: what it throws, or rejects with later, must not change the fate of a call (CALL-2), and
// secrets are not told to it (DUR-12).

import type { Redactor } from '../security/redact.ts'
import type { Logger } from '../tools/context/context.ts'

export function neverThrowing(logger: Logger, redact: Redactor): Logger {
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void => {
      try {
        const given: unknown = logger[level](redact.text(message), redact.deep(fields))
        if (given instanceof Promise) given.catch(() => {})
      } catch {
        // There is no other place to say so.
      }
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Where nobody gave another. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => console.warn(`pawl: ${message}`, fields ?? ''),
  error: (message, fields) => console.error(`pawl: ${message}`, fields ?? ''),
}
