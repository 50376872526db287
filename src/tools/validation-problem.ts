// What is wrong with a value, told so that a model can mend it: where, what was expected, what came.

import { isAttachment, type Json } from '../core/value.ts'

export type JsonSchema = { [key: string]: Json }

export interface Problem {
  /** Where: `` for the whole, `items[2].sku` inside. */
  readonly path: string
  readonly message: string
}

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** No message shows more of a received value than this many characters. */
const mostShown = 60

const plainKey = /^[A-Za-z_$][\w$-]{0,63}$/

/** `items[2].sku`; a key that would be misread in that form is quoted: `["a.b"]`. */
export function pathText(keys: readonly (string | number)[]): string {
  let text = ''
  for (const key of keys) {
    if (typeof key === 'number') text += `[${key}]`
    else if (plainKey.test(key)) text += text ? `.${key}` : key
    else text += `[${quoted(key, mostShown)}]`
  }
  return text
}

/** A short look at a value: never longer than about sixty characters, whatever came. */
export function received(value: unknown): string {
  if (typeof value === 'string') return quoted(value, mostShown - 2)
  if (typeof value !== 'object' || value === null) return String(value).slice(0, mostShown)
  if (isAttachment(value)) return 'an attachment'
  const whole = brief(value, mostShown)
  if (whole !== undefined) return whole
  if (Array.isArray(value)) return `an array of ${counted(value.length, 'item')}`
  const keys = Object.keys(value)
  return `an object with ${counted(keys.length, 'key')}`
}

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** JSON text of a value if it fits into so many characters; looks at no more of the value than that. */
export function brief(value: unknown, room: number): string | undefined {
  if (room < 0) return undefined
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'string' && value.length > room) return undefined
    const text = JSON.stringify(value) ?? String(value)
    return text.length <= room ? text : undefined
  }
  const list = Array.isArray(value)
  let text = list ? '[' : '{'
  for (const key of Object.keys(value)) {
    if (text.length > room) return undefined
    if (text.length > 1) text += ','
    if (!list && key.length <= room) text += `${JSON.stringify(key)}:`
    const inner = brief((value as Record<string, unknown>)[key], room - text.length)
    if (inner === undefined) return undefined
    text += inner
  }
  return text.length < room ? `${text}${list ? ']' : '}'}` : undefined
}

/** A string as JSON, cut to so many characters with its length told, and no character cut in half. */
export function quoted(text: string, most: number): string {
  if (text.length + 2 <= most) {
    const whole = JSON.stringify(text)
    if (whole.length <= most) return whole
  }
  let end = Math.min(text.length, most - 3)
  const said = (): string => `${JSON.stringify(text.slice(0, end).toWellFormed())}…`
  if (isHighSurrogate(text.charCodeAt(end - 1))) end -= 1
  // Escapes make the quoted form longer than the text (\u0000 takes six).
  while (end > 1 && said().length > most) end = Math.floor(end * 0.8)
  if (isHighSurrogate(text.charCodeAt(end - 1))) end -= 1
  return said()
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
