// WORDS: a tool value is JSON plus attachments anywhere inside (VAL-1), and this is its one recorded form.
//
// encode() is the only way into the record and decode() the only way out, so a body sees the recorded form on the first
// run exactly as on every replay. On the wire an attachment is a tagged object; a user's object that happens to have the
// tag key is escaped, so nothing a tool, a resolver or a page sends can pose as an attachment.

import { PawlError } from './errors.ts'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export interface AttachmentRef {
  readonly id: string
  readonly mediaType: string
  readonly bytes: number
  readonly width?: number
  readonly height?: number
  readonly name?: string
}

/** Proof that an attachment was minted by ctx.attachments or read from the record: only this module can add to it. */
const minted = new WeakSet<object>()

/** A reference to stored bytes. Made by ctx.attachments only; `new Attachment` by hand encodes as a plain object. */
export class Attachment {
  readonly ref: AttachmentRef
  constructor(ref: AttachmentRef) {
    this.ref = Object.freeze({ ...ref })
  }
}

/** For ctx.attachments and the decoder, not exported from the package. */
export function mintAttachment(ref: AttachmentRef): Attachment {
  const attachment = new Attachment(ref)
  minted.add(attachment)
  return attachment
}

export const isAttachment = (value: unknown): value is Attachment =>
  typeof value === 'object' && value !== null && minted.has(value)

/** Of a value that can be recorded: whether there is one anywhere in it. */
export const holdsAttachment = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (isAttachment(value) || Object.values(value).some(holdsAttachment))

/** What a value looks like after it was recorded: dates are strings, undefined is gone, functions never were. */
export type Recorded<T> = [T] extends [Json | Attachment]
  ? T
  : T extends Attachment
    ? Attachment
    : T extends { toJSON(...args: never[]): infer J }
      ? Recorded<J>
      : T extends string | number | boolean | null | undefined
        ? T
        : T extends bigint | symbol | ((...args: never[]) => unknown)
          ? never
          : T extends readonly unknown[]
            ? { -readonly [K in keyof T]: RecordedItem<T[K]> }
            : T extends object
              ? { -readonly [K in keyof T as RecordedKey<K, T[K]>]: Recorded<T[K]> }
              : Json

/** An array has no holes: what cannot be recorded is null there. */
type RecordedItem<T> = undefined extends T ? Recorded<Exclude<T, undefined>> | null : Recorded<T>
/** In an object, what cannot be recorded is left out. */
type RecordedKey<K, V> = K extends string ? ([Recorded<V>] extends [never] ? never : K) : never

export const maxDepth = 512
const tag = '$pawl'

/** The recorded form of a value, as JSON text. `undefined` records as null. Throws value_invalid, naming the path. */
export function encode(value: unknown): string {
  return encodePlain(value) ?? JSON.stringify(toWire(value, '', 0, []) ?? null)
}

/** The recorded form of data that needs no change for it: what JSON.stringify makes of it. Undefined if it is not that. */
export function encodePlain(value: unknown): string | undefined {
  if (!isPlain(value, 0)) return undefined
  const text = JSON.stringify(value)
  // What a getter said at the second look may be anything: such text is made again, from a copy that was checked.
  return text.includes(tagText) || text.includes(escapedSurrogate) ? undefined : text
}

const tagText = `"${tag}"`
/** How JSON.stringify writes half a character. */
const escapedSurrogate = String.raw`\ud`

/** Whether JSON.stringify makes the recorded form of it as it stands: data without methods, tags, attachments or numbers JSON lacks. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return isFaithful(value)
  // Too deep for the stack or a cycle: the long way says where.
  if (typeof value !== 'object' || depth >= plainDepth) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Array.prototype && Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isPlain(value[index], depth + 1)) return false
    return !('toJSON' in value)
  }
  if (prototype !== Object.prototype || 'toJSON' in value) return false
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key]
    if (inner !== undefined && !isPlain(inner, depth + 1)) return false
  }
  return true
}

const plainDepth = 64

/** Integers beyond 2^53 were rounded before they came here: the digits shown are not the ones that were meant. Nobody means those of 10^21. */
const isFaithful = (value: number): boolean =>
  Math.abs(value) <= Number.MAX_SAFE_INTEGER ||
  (Number.isFinite(value) && (Math.abs(value) >= 1e21 || !Number.isInteger(value)))

/** The value of a recorded form. Attachments come back minted; a bad or unknown tag is value_undecodable. */
export function decode(text: string): Json {
  const parsed = JSON.parse(text) as Json
  // Almost no value holds a tag: those are exactly what JSON.parse made of them.
  return text.includes(tagText) ? fromWire(parsed) : parsed
}

/** The recorded form as data, for a row that holds more than it; and back. */
export const toRow = (value: unknown): Json => JSON.parse(encode(value)) as Json
export const fromRow = (row: unknown): Json => decode(JSON.stringify(row ?? null))

/** The value as its recorded form gives it back, for checks that must see what everyone else will see. */
export const recorded = <T>(value: T): Recorded<T> => decode(encode(value)) as Recorded<T>

function refuse(path: string, what: string): never {
  throw new PawlError('value_invalid', `At ${path || 'the top'}: ${what}.`, { details: { path } })
}

function toWire(given: unknown, path: string, depth: number, above: object[]): Json | undefined {
  let value = given
  if (typeof value === 'object' && value !== null && !minted.has(value)) {
    const custom = (value as { toJSON?: unknown }).toJSON
    if (typeof custom === 'function') value = custom.call(value, path.slice(path.lastIndexOf('.') + 1))
  }
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) refuse(path, 'a string with a lone surrogate')
      return value
    case 'number':
      if (!Number.isFinite(value)) refuse(path, `the number ${value}`)
      if (!isFaithful(value))
        refuse(path, `the number ${value}, an integer that JavaScript cannot hold exactly; give it as a string`)
      return value
    case 'boolean':
      return value
    case 'bigint':
      return refuse(path, 'a BigInt')
    case 'object':
      return value === null ? null : objectToWire(value, path, depth, above)
    default:
      return undefined // undefined, functions and symbols have no JSON form: left out, as JSON.stringify does
  }
}

/** What JSON would make `{}` of: most often a forgotten await, or rows that nobody would see again. */
const contentless: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  Promise: 'a promise; await it first',
  Map: 'a Map; give Object.fromEntries(map), or [...map]',
  Set: 'a Set; give [...set]',
  WeakMap: 'a WeakMap, which has no JSON form',
  WeakSet: 'a WeakSet, which has no JSON form',
  Error: 'an error; throw it, or give its message',
  RegExp: 'a regular expression; give its source',
  Generator: 'a generator; gather what it yields first',
  AsyncGenerator: 'a generator; gather what it yields first',
  'Map Iterator': 'an iterator; give [...iterator]',
  'Set Iterator': 'an iterator; give [...iterator]',
  'Array Iterator': 'an iterator; give [...iterator]',
  ArrayBuffer: 'bytes; keep them with ctx.attachments, or give a text',
}

function objectToWire(value: object, path: string, depth: number, above: object[]): Json {
  if (minted.has(value)) return { [tag]: 'attachment', ref: { ...(value as Attachment).ref } }
  if (depth >= maxDepth) refuse(path, `nesting deeper than ${maxDepth} levels`)
  if (above.includes(value)) refuse(path, 'a cycle')
  const odd = contentless[Object.prototype.toString.call(value).slice(8, -1)]
  if (odd !== undefined) refuse(path, odd)
  above.push(value)
  let wire: Json
  if (Array.isArray(value)) {
    wire = Array.from(value, (item, index) => toWire(item, `${path}[${index}]`, depth + 1, above) ?? null)
  } else {
    const entries: { [key: string]: Json } = {}
    for (const key of Object.keys(value)) {
      if (!key.isWellFormed()) refuse(path, 'a key with a lone surrogate')
      const inner = toWire((value as Record<string, unknown>)[key], `${path}.${key}`, depth + 1, above)
      if (inner !== undefined) put(entries, key, inner)
    }
    wire = Object.hasOwn(entries, tag) ? { [tag]: 'object', entries } : entries
  }
  above.pop()
  return wire
}

function fromWire(wire: Json): Json {
  if (typeof wire !== 'object' || wire === null) return wire
  if (Array.isArray(wire)) return wire.map(fromWire)
  if (Object.hasOwn(wire, tag)) return untag(wire)
  return eachValue(wire)
}

function untag(wire: { [key: string]: Json }): Json {
  const kind = wire[tag]
  if (kind === 'object' && hasExactly(wire, 'entries') && isObject(wire.entries)) return eachValue(wire.entries)
  if (kind === 'attachment' && hasExactly(wire, 'ref') && isRef(wire.ref)) {
    return mintAttachment(wire.ref as unknown as AttachmentRef) as unknown as Json
  }
  throw new PawlError('value_undecodable', `It holds a malformed or unknown tag (${JSON.stringify(kind)}).`)
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const hasExactly = (wire: object, other: string): boolean =>
  Object.keys(wire).length === 2 && Object.hasOwn(wire, other)

const isRef = (ref: Json | undefined): boolean =>
  isObject(ref) && typeof ref.id === 'string' && typeof ref.mediaType === 'string' && typeof ref.bytes === 'number'

function eachValue(from: { [key: string]: Json }): { [key: string]: Json } {
  const to: { [key: string]: Json } = {}
  for (const key of Object.keys(from)) put(to, key, fromWire(from[key] as Json))
  return to
}

/** Assignment to `__proto__` would set the prototype instead of a key. */
function put(to: { [key: string]: Json }, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(to, key, { value, enumerable: true, configurable: true, writable: true })
  else to[key] = value
}
