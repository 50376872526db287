// A readable difference between two recorded forms: where they part, what was on record, what came. At most eight places; none
// if they hold the same content, in whatever order of keys.

import { PawlError } from '../core/errors.ts'
import { decode, isAttachment, type Json } from '../core/value.ts'

const most = 8
const longest = 60

export function difference(recorded: string | null, given: string | null): string[] {
  const found: string[] = []
  compare(recorded === null ? undefined : decode(recorded), given === null ? undefined : decode(given), 'input', found)
  return found
}

const show = (value: Json | undefined): string => {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text
}

function compare(a: Json | undefined, b: Json | undefined, path: string, found: string[]): void {
  if (found.length >= most || Object.is(a, b)) return
  const both =
    typeof a === 'object' && typeof b === 'object' && a !== null && b !== null && !isAttachment(a) && !isAttachment(b)
  if (both && Array.isArray(a) === Array.isArray(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const at = Array.isArray(a) ? `${path}[${key}]` : `${path}.${key}`
      compare(own(a, key), own(b, key), at, found)
    }
    return
  }
  if (JSON.stringify(a) !== JSON.stringify(b)) found.push(`${path} was ${show(a)} on record and is ${show(b)} now`)
}

const own = (of: object, key: string): Json | undefined =>
  Object.hasOwn(of, key) ? (of as Record<string, Json>)[key] : undefined

/** DUR-4: another input under a recorded key is never a silent re-run. */
export function refuseOtherInput(key: string, recorded: string | null, given: string | null): void {
  const differs = difference(recorded, given)
  if (differs.length === 0) return
  throw new PawlError('replay_mismatch', `Step '${key}': ${differs.join('; ')}.`, { details: { step: key, differs } })
}
