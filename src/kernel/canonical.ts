// WORDS: one text for one content (RFC 8785): keys sorted by UTF-16 code units, numbers and strings as JSON.stringify writes them.

import type { Json } from './value.ts'

export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  let text = ''
  for (const key of Object.keys(value).toSorted())
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonical(value[key] as Json)}`
  return `{${text}}`
}
