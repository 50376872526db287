// Wraps the host's logger: an error it throws or rejects with must not change the outcome of a call, and it never sees
// secrets.

import { isThenable } from '../core/maybe-promise.ts'
import type { Redactor } from '../security/redact.ts'
import type { Logger } from '../tools/context/tool-context.ts'

export function safeLogger(logger: Logger, redact: Redactor): Logger {
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void => {
      try {
        const returned: unknown = logger[level](redact.text(message), redact.deep(fields))
        if (isThenable(returned)) returned.then(undefined, () => {})
      } catch {
        // There is no other place to report it.
      }
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** The default logger. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => console.warn(`pawl: ${message}`, fields ?? ''),
  error: (message, fields) => console.error(`pawl: ${message}`, fields ?? ''),
}
