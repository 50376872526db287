// Texts from tools, models and callers, as people read them: characters that are invisible, or that reverse the
// direction of others, are shown as escapes, so that a name cannot look like another one.

import { showHidden } from '../../../src/server/export/escape-html.ts'

export { showHidden as shown }

/** The same for every text inside a value that is only shown. */
export function deepShown<T>(value: T): T {
  if (typeof value === 'string') return showHidden(value) as T
  if (Array.isArray(value)) return value.map(deepShown) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [showHidden(name), deepShown(each)])) as T
}
