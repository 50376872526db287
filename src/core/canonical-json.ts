// WORDS: one text for one content (RFC 8785): keys sorted by UTF-16 code units, numbers and strings as JSON.stringify writes them.

import type { Json } from './value.ts'

/** Whether the keys of a value stand as they do in its canonical text: then JSON.stringify makes that text. */
export function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isSorted)
  let last = ''
  for (const key in value) {
    if (key < last || !isSorted((value as Record<string, unknown>)[key])) return false
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
