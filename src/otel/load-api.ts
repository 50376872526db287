// Loads the optional package `@opentelemetry/api`. The host owns the SDK; this package is only its interface.

import { PawlError } from '../core/errors.ts'

// Bundlers accept a missing package only if the import itself has a handler.
export const api = await import('@opentelemetry/api').catch((cause: unknown) => {
  throw new PawlError(
    'config_invalid',
    "pawl/otel needs the package '@opentelemetry/api': npm install @opentelemetry/api.",
    {
      cause,
    },
  )
})
