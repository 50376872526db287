// Loads the linear-time regular expression engine for untrusted patterns. Loaded with the first pattern: most programs
// have none, and it takes a third of Pawl's import time. It uses require() because tools are defined synchronously.

import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

let engine: typeof RE2JS | undefined

export function loadRe2(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  return engine
}
