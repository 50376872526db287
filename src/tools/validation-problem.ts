// Describes validation problems so that a model can fix its arguments: where, what was expected, what was received.

import { isAttachment, type Json } from '../core/tool-value.ts'

/** A plain JSON Schema (draft-07 or 2020-12). */
export type JsonSchema = { [key: string]: Json }

export interface Problem {
  /** Path in the value: '' for the whole value, `items[2].sku` for a part. */
  readonly path: string
  readonly message: string
}

export type CheckResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** No message shows more of a received value than this many characters. */
const maxShown = 60

const plainKey = /^[A-Za-z_$][\w$-]{0,63}$/

/** `items[2].sku`; a key that would be ambiguous in that form is quoted: `["a.b"]`. */
export function pathText(keys: readonly (string | number)[]): string {
  let text = ''
  for (const key of keys) {
    if (typeof key === 'number') text += `[${key}]`
    else if (plainKey.test(key)) text += text ? `.${key}` : key
    else text += `[${quote(key, maxShown)}]`
  }
  return text
}

/** A short description of a value, at most about sixty characters. */
export function describeReceived(value: unknown): string {
  if (typeof value === 'string') return quote(value, maxShown - 2)
  if (typeof value !== 'object' || value === null) return String(value).slice(0, maxShown)
  if (isAttachment(value)) return 'an attachment'
  const whole = shortJson(value, maxShown)
  if (whole !== undefined) return whole
  if (Array.isArray(value)) return `an array of ${plural(value.length, 'item')}`
  const keys = Object.keys(value)
  return `an object with ${plural(keys.length, 'key')}`
}

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The JSON text of a value if it fits into `maxLength` characters. Reads no more of the value than that. */
export function shortJson(value: unknown, maxLength: number): string | undefined {
  if (maxLength < 0) return undefined
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'string' && value.length > maxLength) return undefined
    const text = JSON.stringify(value) ?? String(value)
    return text.length <= maxLength ? text : undefined
  }
  const list = Array.isArray(value)
  let text = list ? '[' : '{'
  for (const key of Object.keys(value)) {
    if (text.length > maxLength) return undefined
    if (text.length > 1) text += ','
    if (!list && key.length <= maxLength) text += `${JSON.stringify(key)}:`
    const inner = shortJson((value as Record<string, unknown>)[key], maxLength - text.length)
    if (inner === undefined) return undefined
    text += inner
  }
  return text.length < maxLength ? `${text}${list ? ']' : '}'}` : undefined
}

/** A string as JSON, truncated to `maxLength` characters without splitting a surrogate pair. */
export function quote(text: string, maxLength: number): string {
  if (text.length + 2 <= maxLength) {
    const whole = JSON.stringify(text)
    if (whole.length <= maxLength) return whole
  }
  let end = Math.min(text.length, maxLength - 3)
  const quotedPrefix = (): string => `${JSON.stringify(text.slice(0, end).toWellFormed())}…`
  if (isHighSurrogate(text.charCodeAt(end - 1))) end -= 1
  // Escapes make the quoted form longer than the text (\u0000 takes six).
  while (end > 1 && quotedPrefix().length > maxLength) end = Math.floor(end * 0.8)
  if (isHighSurrogate(text.charCodeAt(end - 1))) end -= 1
  return quotedPrefix()
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
