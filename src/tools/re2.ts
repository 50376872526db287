// The linear-time engine for patterns that strangers write. Loaded when the first pattern is: most programs have none, and it costs
// a third of the time that importing Pawl takes. require() because tools are defined synchronously.

import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

let engine: typeof RE2JS | undefined

export function linearEngine(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  return engine
}
