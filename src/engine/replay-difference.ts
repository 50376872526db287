// A readable difference between two recorded forms: the path, the recorded value, the value now. At most eight entries;
// none if the content is equal, in any order of keys. Used for replay_mismatch errors.

import { PawlError } from '../core/errors.ts'
import { decode, isAttachment, type Json } from '../core/tool-value.ts'

const maxDifferences = 8
const maxLength = 60

export function difference(recorded: string | null, given: string | null): string[] {
  const found: string[] = []
  compare(recorded === null ? undefined : decode(recorded), given === null ? undefined : decode(given), 'input', found)
  return found
}

const show = (value: Json | undefined): string => {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > maxLength ? `${text.slice(0, maxLength)}… (${text.length} characters)` : text
}

function compare(a: Json | undefined, b: Json | undefined, path: string, found: string[]): void {
  if (found.length >= maxDifferences || Object.is(a, b)) return
  const both =
    typeof a === 'object' && typeof b === 'object' && a !== null && b !== null && !isAttachment(a) && !isAttachment(b)
  if (both && Array.isArray(a) === Array.isArray(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const at = Array.isArray(a) ? `${path}[${key}]` : `${path}.${key}`
      compare(ownProperty(a, key), ownProperty(b, key), at, found)
    }
    return
  }
  if (JSON.stringify(a) !== JSON.stringify(b)) found.push(`${path} was ${show(a)} on record and is ${show(b)} now`)
}

const ownProperty = (of: object, key: string): Json | undefined =>
  Object.hasOwn(of, key) ? (of as Record<string, Json>)[key] : undefined

/** A different input under a recorded key must fail: silently running the step again could repeat its effect. */
export function rejectChangedInput(key: string, recorded: string | null, given: string | null): void {
  const differences = difference(recorded, given)
  if (differences.length === 0) return
  throw new PawlError('replay_mismatch', `Step '${key}': ${differences.join('; ')}.`, {
    details: { step: key, differs: differences },
  })
}
