// The recorded form of tool values: JSON plus attachments at any position.
//
// encode() is the only way into the record and decode() the only way out, so a body sees the recorded form on its first
// run exactly as on every replay. In the recorded form an attachment is a tagged object. A user's object that happens
// to have the tag key is escaped, so data from a tool, a resolver or a web page cannot forge an attachment.

import { PawlError } from './errors.ts'

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** What is known about stored bytes. */
export interface AttachmentRef {
  /** Identifies the bytes within the tenant. */
  readonly id: string
  /** For example 'image/png'. */
  readonly mediaType: string
  /** Size in bytes. */
  readonly bytes: number
  /** Width in pixels, if known. */
  readonly width?: number
  /** Height in pixels, if known. */
  readonly height?: number
  /** File name, if it has one. */
  readonly name?: string
}

/** Attachments created by ctx.attachments or read from the record. Only this module can add to it. */
const minted = new WeakSet<object>()

/** A reference to stored bytes, created by ctx.attachments. An instance made with `new` encodes as a plain object. */
export class Attachment {
  /** What is known about the bytes. */
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

/** True if the value contains an attachment at any depth. The value must be recordable (no cycles). */
export const containsAttachment = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (isAttachment(value) || Object.values(value).some(containsAttachment))

/** The type of a value after a round trip through the record: dates are strings; undefined and functions are gone. */
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

/** In an array, a value that cannot be recorded becomes null. */
type RecordedItem<T> = undefined extends T ? Recorded<Exclude<T, undefined>> | null : Recorded<T>
/** In an object, a value that cannot be recorded is omitted. */
type RecordedKey<K, V> = K extends string ? ([Recorded<V>] extends [never] ? never : K) : never

export const maxDepth = 512
const tag = '$pawl'

/** The recorded form of a value, as JSON text. `undefined` records as null. Throws value_invalid, naming the path. */
export function encode(value: unknown): string {
  return encodePlain(value) ?? JSON.stringify(toWire(value, '', 0, []) ?? null)
}

/** Fast path: the recorded form if JSON.stringify alone produces it, otherwise undefined. */
export function encodePlain(value: unknown): string | undefined {
  if (!isPlain(value, 0)) return undefined
  const text = JSON.stringify(value)
  // A getter may return something else on the second read. The slow path then encodes a copy that was checked.
  return text.includes(tagText) || text.includes(escapedSurrogate) ? undefined : text
}

const tagText = `"${tag}"`
/** How JSON.stringify writes a lone surrogate. */
const escapedSurrogate = String.raw`\ud`

/** True for plain data: no toJSON methods, tags, attachments, class instances or numbers that JSON cannot represent. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return isFaithful(value)
  // Deep nesting, possibly a cycle: the slow path reports the path.
  if (typeof value !== 'object' || depth >= maxPlainDepth) return false
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

const maxPlainDepth = 64

/**
 * Integers beyond 2^53 may have been rounded. From 10^21 on they are written with an exponent, so they do not look
 * exact.
 */
const isFaithful = (value: number): boolean =>
  Math.abs(value) <= Number.MAX_SAFE_INTEGER ||
  (Number.isFinite(value) && (Math.abs(value) >= 1e21 || !Number.isInteger(value)))

/** JSON text without tags of attachments. Throws a SyntaxError if it is not JSON. */
export const parseJson = (text: string): Json => JSON.parse(text) as Json

/** The value of a recorded form. Attachments are restored; a malformed or unknown tag throws value_undecodable. */
export function decode(text: string): Json {
  const parsed = parseJson(text)
  // Almost no value contains a tag; without one the result of JSON.parse is final.
  return text.includes(tagText) ? fromWire(parsed) : parsed
}

/** Converts a value to its recorded form as JSON data instead of text, for rows with other fields, and back. */
export const toRow = (value: unknown): Json => parseJson(encode(value))
export const fromRow = (row: unknown): Json => decode(JSON.stringify(row ?? null))

/** The value after a round trip through its recorded form, for checks that must see what later readers will see. */
export const toRecordedForm = <T>(value: T): Recorded<T> => decode(encode(value)) as Recorded<T>

function refuse(path: string, what: string): never {
  throw new PawlError('value_invalid', `The value${path && ` at ${path}`} ${what}.`, { details: { path } })
}

function toWire(given: unknown, path: string, depth: number, ancestors: object[]): Json | undefined {
  let value = given
  if (typeof value === 'object' && value !== null && !minted.has(value)) {
    const custom = (value as { toJSON?: unknown }).toJSON
    if (typeof custom === 'function') value = custom.call(value, path.slice(path.lastIndexOf('.') + 1))
  }
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) refuse(path, 'is a string with a lone surrogate, which has no UTF-8 form')
      return value
    case 'number':
      if (!Number.isFinite(value)) refuse(path, `is ${value}, which JSON cannot represent`)
      if (!isFaithful(value))
        refuse(path, `is ${value}, an integer that JavaScript cannot represent exactly; pass it as a string`)
      return value
    case 'boolean':
      return value
    case 'bigint':
      return refuse(path, 'is a BigInt, which JSON cannot represent; pass it as a string')
    case 'object':
      return value === null ? null : objectToWire(value, path, depth, ancestors)
    default:
      return undefined // undefined, functions and symbols have no JSON form and are omitted, as JSON.stringify does
  }
}

/** Objects that JSON.stringify would silently turn into `{}`, usually a forgotten await or lost rows. */
const unsupportedObjects: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  Promise: 'is a promise; await it first',
  Map: 'is a Map; pass Object.fromEntries(map) or [...map]',
  Set: 'is a Set; pass [...set]',
  WeakMap: 'is a WeakMap, which has no JSON form',
  WeakSet: 'is a WeakSet, which has no JSON form',
  Error: 'is an Error; throw it, or pass its message',
  RegExp: 'is a regular expression; pass its source',
  Generator: 'is a generator; collect its items first',
  AsyncGenerator: 'is a generator; collect its items first',
  'Map Iterator': 'is an iterator; pass [...iterator]',
  'Set Iterator': 'is an iterator; pass [...iterator]',
  'Array Iterator': 'is an iterator; pass [...iterator]',
  ArrayBuffer: 'is an ArrayBuffer; store it with ctx.attachments, or pass a string',
}

function objectToWire(value: object, path: string, depth: number, ancestors: object[]): Json {
  if (minted.has(value)) return { [tag]: 'attachment', ref: { ...(value as Attachment).ref } }
  if (depth >= maxDepth) refuse(path, `is nested deeper than ${maxDepth} levels`)
  if (ancestors.includes(value)) refuse(path, 'is part of a reference cycle')
  const problem = unsupportedObjects[Object.prototype.toString.call(value).slice(8, -1)]
  if (problem !== undefined) refuse(path, problem)
  ancestors.push(value)
  let wire: Json
  if (Array.isArray(value)) {
    wire = Array.from(value, (item, index) => toWire(item, `${path}[${index}]`, depth + 1, ancestors) ?? null)
  } else {
    const entries: { [key: string]: Json } = {}
    for (const key of Object.keys(value)) {
      if (!key.isWellFormed()) refuse(path, 'has a key with a lone surrogate, which has no UTF-8 form')
      const inner = toWire((value as Record<string, unknown>)[key], `${path}.${key}`, depth + 1, ancestors)
      if (inner !== undefined) setKey(entries, key, inner)
    }
    wire = Object.hasOwn(entries, tag) ? { [tag]: 'object', entries } : entries
  }
  ancestors.pop()
  return wire
}

function fromWire(wire: Json): Json {
  if (typeof wire !== 'object' || wire === null) return wire
  if (Array.isArray(wire)) return wire.map(fromWire)
  if (Object.hasOwn(wire, tag)) return untag(wire)
  return fromWireEntries(wire)
}

function untag(wire: { [key: string]: Json }): Json {
  const kind = wire[tag]
  if (kind === 'object' && hasExactly(wire, 'entries') && isObject(wire.entries)) return fromWireEntries(wire.entries)
  if (kind === 'attachment' && hasExactly(wire, 'ref') && isRef(wire.ref)) {
    return mintAttachment(wire.ref as unknown as AttachmentRef) as unknown as Json
  }
  throw new PawlError('value_undecodable', `It contains a malformed or unknown tag (${JSON.stringify(kind)}).`)
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const hasExactly = (wire: object, other: string): boolean =>
  Object.keys(wire).length === 2 && Object.hasOwn(wire, other)

const isRef = (ref: Json | undefined): boolean =>
  isObject(ref) && typeof ref.id === 'string' && typeof ref.mediaType === 'string' && typeof ref.bytes === 'number'

function fromWireEntries(from: { [key: string]: Json }): { [key: string]: Json } {
  const to: { [key: string]: Json } = {}
  for (const key of Object.keys(from)) setKey(to, key, fromWire(from[key] as Json))
  return to
}

/** Defines the key: an assignment to `__proto__` would change the prototype instead. */
function setKey(to: { [key: string]: Json }, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(to, key, { value, enumerable: true, configurable: true, writable: true })
  else to[key] = value
}

/** Without the fields that are undefined: absent and undefined differ in JSON and in `in`. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as ReturnType<typeof defined<T>>
}
