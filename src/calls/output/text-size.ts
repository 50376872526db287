// Measures text and values in UTF-8 bytes and finds positions where text may be cut. Pure; used by the truncation code.

import { isAttachment, type Json } from '../../core/tool-value.ts'
import { hasTerminalCodes } from './clean-terminal-text.ts'

/** How the text will be written: as it is, or inside a JSON string, where quotes and newlines take more bytes. */
export type Encoding = 'text' | 'json'

export interface Room {
  readonly bytes: number
  readonly lines: number
}

/** A range of a text; `to` is exclusive. */
export interface TextRange {
  readonly from: number
  readonly to: number
}

export const bytesOf = (text: string): number => Buffer.byteLength(text)

/** 1234567 as 1,234,567, independent of the host's locale. */
export const formatCount = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')

export const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`

/** True if a surrogate pair starts at this index. */
export const isPairAt = (text: string, at: number): boolean =>
  (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00

/** Bytes of the character at this index. A lone surrogate is written as U+FFFD, or escaped in JSON. */
export function costAt(text: string, at: number, encoding: Encoding): number {
  const code = text.charCodeAt(at)
  if (code < 0x80) return encoding === 'text' ? 1 : jsonCost(code)
  if (code < 0x800) return 2
  if (code < 0xd800 || code > 0xdfff) return 3
  if (isPairAt(text, at)) return 4
  return encoding === 'text' ? 3 : 6
}

function jsonCost(code: number): number {
  if (code === 0x22 || code === 0x5c) return 2
  if (code >= 0x20) return 1
  return code === 0x08 || code === 0x09 || code === 0x0a || code === 0x0c || code === 0x0d ? 2 : 6
}

/** Bytes of a text that does not start or end inside a surrogate pair. */
export function costOf(text: string, encoding: Encoding): number {
  if (encoding === 'text') return bytesOf(text)
  if (text.length > 64) return bytesOf(JSON.stringify(text)) - 2
  let cost = 0
  for (let at = 0; at < text.length; at += isPairAt(text, at) ? 2 : 1) cost += costAt(text, at, encoding)
  return cost
}

export interface Size {
  bytes: number
  attachments: number
  /** A string in the value has terminal codes and must be cleaned first. */
  terminal: boolean
}

/** The size of a value as compact JSON, with attachments as null. Counting stops above `cap`. */
export function sizeOf(
  value: Json,
  cap: number = Infinity,
  size: Size = { bytes: 0, attachments: 0, terminal: false },
): Size {
  if (typeof value === 'string') {
    // A string has at least as many bytes as UTF-16 units, so a long string need not be scanned.
    size.terminal ||= cap === Infinity && hasTerminalCodes(value)
    size.bytes += 2 + (size.bytes + value.length > cap ? value.length : costOf(value, 'json'))
  } else if (typeof value !== 'object') size.bytes += String(value).length
  else if (value === null) size.bytes += 4
  else if (isAttachment(value)) {
    size.bytes += 4
    size.attachments += 1
  } else if (Array.isArray(value)) {
    size.bytes += 2 + Math.max(0, value.length - 1)
    for (const item of value) {
      if (size.bytes > cap) break
      sizeOf(item, cap, size)
    }
  } else {
    const keys = Object.keys(value)
    size.bytes += 2 + Math.max(0, keys.length - 1)
    for (const key of keys) {
      if (size.bytes > cap) break
      size.bytes += keyCost(key)
      sizeOf(value[key] as Json, cap, size)
    }
  }
  return size
}

/** Bytes of a key with its quotes and colon. */
export const keyCost = (key: string): number => costOf(key, 'json') + 3

let segmenter: Intl.Segmenter | undefined
/** Search distance around a cut. Enough for real text, and it bounds the work for hostile text. */
const nearby = 64

/**
 * The nearest grapheme boundary at or before `given` (or at or after it), so that flags and emoji families stay whole.
 */
export function graphemeBoundary(text: string, given: number, toward: 'before' | 'after'): number {
  const step = toward === 'before' ? -1 : 1
  const at = isPairAt(text, given - 1) ? given + step : given
  if (at <= 0 || at >= text.length) return Math.max(0, Math.min(at, text.length))
  const [left, right] = [text.charCodeAt(at - 1), text.charCodeAt(at)]
  if (left < 0x300 && right < 0x300 && !(left === 0x0d && right === 0x0a)) return at
  if (isFlagHalf(text, at) && isFlagHalf(text, at - 2)) return isInsideFlag(text, at) ? at + step * 2 : at
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const from = Math.max(0, isPairAt(text, at - nearby - 1) ? at - nearby - 1 : at - nearby)
  const found = segmenter.segment(text.slice(from, at + nearby)).containing(at - from)
  if (!found || from + found.index === at) return at
  const edge = from + found.index + (toward === 'before' ? 0 : found.segment.length)
  // A grapheme that fills the whole search distance is a pile of combining marks; then only surrogate pairs stay whole.
  return Math.abs(edge - at) >= nearby ? at : edge
}

/** A regional indicator. Two of them make a flag. */
function isFlagHalf(text: string, at: number): boolean {
  const point = at >= 0 ? text.codePointAt(at) : undefined
  return point !== undefined && point >= 0x1f1e6 && point <= 0x1f1ff
}

/** Which two indicators form a flag depends on their count from the start of the run. */
function isInsideFlag(text: string, at: number): boolean {
  let start = at
  while (isFlagHalf(text, start - 2)) start -= 2
  return ((at - start) / 2) % 2 === 1
}
