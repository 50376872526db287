// Shortens a JSON value. The result is still a value, so the model reads valid JSON. Pure.
//
// Room is shared by max-min fairness: each item gets its size up to a common level, so small fields stay complete and
// big ones are shortened. A count replaces omitted items. The work depends on the size of the result, not of the value.

import { isAttachment, type Json } from '../../core/tool-value.ts'
import { bytesOf, costOf, keyCost, plural, type Size, sizeOf } from './text-size.ts'
import { LongText } from './measure-long-text.ts'
import { shortenText } from './truncate-text.ts'

export interface ShortValue {
  readonly value: Json
  /** Bytes of the view. */
  readonly bytes: number
  /** Bytes of original content in the view, without markers. */
  readonly shown: number
  readonly attachments: number
}

/** Bytes that suffice for any value, at least as a marker with its type. */
export const minRoom = 48
/** Below this depth values that do not fit are replaced by a marker. Values that fit are shown at any depth. */
const maxShortenedDepth = 32
/** Maximum number of big items shown of an array or big fields shown of an object. The rest is only counted. */
const maxBigItems = 8
const maxBigFields = 32

/** Cache of measured strings, because a view may be computed several times. */
export type Texts = Map<string, LongText>

/** Shortens a value that is too big to `room` bytes of compact JSON, with attachments as null. `room` >= `minRoom`. */
export function shortenJson(value: Json, room: number, texts: Texts, depth = 0): ShortValue {
  if (typeof value === 'string') return shortenString(value, room, texts)
  if (typeof value !== 'object' || value === null || isAttachment(value)) return marker('…')
  if (depth >= maxShortenedDepth) return summary(value)
  return Array.isArray(value) ? shortenArray(value, room, texts, depth) : shortenObject(value, room, texts, depth)
}

const marker = (text: string): ShortValue => ({ value: text, bytes: bytesOf(text) + 2, shown: 0, attachments: 0 })

const summary = (value: Json[] | { [key: string]: Json }): ShortValue =>
  marker(
    Array.isArray(value)
      ? `… array of ${plural(value.length, 'item')}`
      : `… object of ${plural(Object.keys(value).length, 'key')}`,
  )

function shortenString(value: string, room: number, texts: Texts): ShortValue {
  let long = texts.get(value)
  if (!long) texts.set(value, (long = new LongText(value)))
  const short = shortenText(long, { bytes: room - 2, lines: Infinity }, 'json')
  if (short.shown === 0) return marker(`… string of ${plural(long.bytes, 'byte')}`)
  return { value: short.text, bytes: costOf(short.text, 'json') + 2, shown: short.shown + 2, attachments: 0 }
}

function shortenArray(items: readonly Json[], room: number, texts: Texts, depth: number): ShortValue {
  const rest = (count: number): string => `… ${plural(count, 'more item')}`
  const share = new Share(room - 2 - bytesOf(rest(items.length)) - 3, maxBigItems)
  for (const item of items) if (!share.add(item, 1)) break
  if (share.count === 0) return summary(items as Json[])
  const shown = items.slice(0, share.count)
  const views = share.divide(shown, texts, depth)
  const value = views.map((view) => view.value)
  if (shown.length < items.length) value.push(rest(items.length - shown.length))
  return total(value, views, 2 + shown.length - 1)
}

function shortenObject(value: { [key: string]: Json }, room: number, texts: Texts, depth: number): ShortValue {
  const keys = Object.keys(value)
  let restKey = '…'
  while (Object.hasOwn(value, restKey)) restKey += '…'
  const rest = (count: number): string => plural(count, 'more key')
  const share = new Share(room - 2 - keyCost(restKey) - bytesOf(rest(keys.length)) - 3, maxBigFields)
  const shown: string[] = []
  for (const key of keys) {
    // A key cannot be shortened, because that would be another key. An oversized key is omitted; the next may still
    // fit.
    if (key.length > room / 4 && keyCost(key) > room / 4) continue
    if (!share.add(value[key] as Json, keyCost(key) + 1)) break
    shown.push(key)
  }
  if (shown.length === 0) return summary(value)
  const views = share.divide(
    shown.map((key) => value[key] as Json),
    texts,
    depth,
  )
  const entries = shown.map((key, index): [string, Json] => [key, (views[index] as ShortValue).value])
  if (shown.length < keys.length) entries.push([restKey, rest(keys.length - shown.length)])
  const keysCost = shown.reduce((sum, key) => sum + keyCost(key), 0)
  // fromEntries defines keys, so `__proto__` stays an ordinary key.
  return total(Object.fromEntries(entries), views, 2 + keysCost + shown.length - 1)
}

function total(value: Json, views: readonly ShortValue[], around: number): ShortValue {
  let [shown, attachments] = [around, 0]
  for (const view of views) {
    shown += view.shown
    attachments += view.attachments
  }
  return { value, bytes: sizeOf(value).bytes, shown, attachments }
}

/** The room of one array or object, divided among its first items. */
class Share {
  readonly #room: number
  /** The guaranteed size per item. Determines how many items are shown. */
  readonly #floor: number
  readonly #sizes: Size[] = []
  #around = 0
  #needed = 0

  constructor(room: number, bigOnes: number) {
    this.#room = room
    this.#floor = Math.max(minRoom, Math.floor(room / bigOnes))
  }

  get count(): number {
    return this.#sizes.length
  }

  /** Returns false if there is no room for the item. `around` is the size of its comma and key. */
  add(item: Json, around: number): boolean {
    const size = sizeOf(item, this.#room)
    const needed = Math.min(size.bytes, this.#floor) + around
    if (this.#needed + needed > this.#room) return false
    this.#sizes.push(size)
    this.#needed += needed
    this.#around += around
    return true
  }

  divide(items: readonly Json[], texts: Texts, depth: number): ShortValue[] {
    const level = this.#level()
    // The next big item may use what an earlier one left of its share.
    let spare = 0
    return items.map((item, index) => {
      const { bytes, attachments } = this.#sizes[index] as Size
      const fits = bytes <= level + spare
      const view = fits
        ? { value: item, bytes, shown: bytes, attachments }
        : shortenJson(item, level + spare, texts, depth + 1)
      if (bytes > level) spare += level - view.bytes
      return view
    })
  }

  /** The largest size limit per item at which all items together fit into `room`. */
  #level(): number {
    const ascending = this.#sizes.map((size) => size.bytes).toSorted((a, b) => a - b)
    let left = this.#room - this.#around
    for (const [index, bytes] of ascending.entries()) {
      const each = Math.floor(left / (ascending.length - index))
      if (bytes > each) return Math.max(each, this.#floor)
      left -= bytes
    }
    return Infinity
  }
}
