// The host's logger, as everything here uses it: what it throws, or rejects with later, must not change the fate of a call (CALL-2).

import type { Logger } from '../tool/context.ts'

export function neverThrowing(logger: Logger): Logger {
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void => {
      try {
        const given: unknown = logger[level](message, fields)
        if (given instanceof Promise) given.catch(() => {})
      } catch {
        // There is no other place to say so.
      }
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
