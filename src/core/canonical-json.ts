// Canonical JSON (RFC 8785): equal values give equal text. Keys are sorted by UTF-16 code units; numbers and strings
// are written as JSON.stringify writes them. Hashes of arguments are computed over this text.

import type { Json } from './tool-value.ts'

/** True if all keys are already in canonical order, so that JSON.stringify produces the canonical text. */
export function hasSortedKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(hasSortedKeys)
  let last = ''
  for (const key in value) {
    if (key < last || !hasSortedKeys((value as Record<string, unknown>)[key])) return false
    last = key
  }
  return true
}

export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  let text = ''
  for (const key of Object.keys(value).toSorted())
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`
  return `{${text}}`
}

/** Canonical form of a JSON text. */
export const canonicalText = (text: string): string => canonicalJson(JSON.parse(text) as Json)

/** A tool name and canonical arguments as one string: the content of a call, over which its hash is computed. */
export const contentText = (name: string, content: string): string => `[${JSON.stringify(name)},${content}]`
