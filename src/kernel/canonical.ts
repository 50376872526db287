// WORDS: one text for one content (RFC 8785): keys sorted by UTF-16 code units, numbers and strings as JSON.stringify writes them.

import type { Json } from './value.ts'

/** The canonical text of a JSON text and the value it stands for: often the text itself. */
export const canonicalText = (text: string, value: Json): string => (isSorted(value) ? text : canonical(value))

function isSorted(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isSorted)
  let last = ''
  for (const key in value) {
    if (key < last || !isSorted(value[key] as Json)) return false
    last = key
  }
  return true
}

export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  let text = ''
  for (const key of Object.keys(value).toSorted())
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonical(value[key] as Json)}`
  return `{${text}}`
}
