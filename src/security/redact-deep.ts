// Redaction in values of any make: what a log line carries, what an event tells. A copy is made only of what holds a secret; the rest is
// handed on as it is.

import { inspect } from 'node:util'
import { isAttachment, maxDepth, mintAttachment } from '../core/value.ts'

type Text = (text: string) => string

/** As deep as a recorded value may be, and a little; deeper nobody looks, and nobody shows. */
const deepest = maxDepth + 16
const tooDeep = '[too deep to be shown]'

export function redactDeep<T>(value: T, text: Text): T {
  return walk(value, text, new Map(), 0) as T
}

function walk(value: unknown, text: Text, seen: Map<object, unknown>, depth: number): unknown {
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return value
  if (isAttachment(value)) {
    const { name } = value.ref
    return name === undefined || text(name) === name ? value : mintAttachment({ ...value.ref, name: text(name) })
  }
  if (seen.has(value)) return seen.get(value)
  if (depth > deepest) return tooDeep
  try {
    if (value instanceof Error) return walkError(value, text, seen, depth)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (Array.isArray(value)) return walkList(value, text, seen, depth)
    if (prototype === Object.prototype || prototype === null) return walkObject(value, text, seen, depth)
    return opaque(value, text)
  } catch {
    // What throws when it is looked at is not shown.
    return '[cannot be shown]'
  }
}

/** In a circle, what leads back to itself is handed on as it will be: told so before its parts are walked. */
function walkList(list: readonly unknown[], text: Text, seen: Map<object, unknown>, depth: number): unknown {
  const copy: unknown[] = []
  seen.set(list, copy)
  let changed = false
  for (const item of list) {
    const next = walk(item, text, seen, depth + 1)
    changed ||= next !== item
    copy.push(next)
  }
  return settled(list, copy, changed, seen)
}

function walkObject(from: object, text: Text, seen: Map<object, unknown>, depth: number): unknown {
  const copy: Record<string, unknown> = {}
  seen.set(from, copy)
  let changed = false
  for (const [key, item] of Object.entries(from)) {
    const name = text(key)
    const next = walk(item, text, seen, depth + 1)
    changed ||= next !== item || name !== key
    Object.defineProperty(copy, name, { value: next, enumerable: true, configurable: true, writable: true })
  }
  return settled(from, copy, changed, seen)
}

/** Message, stack, causes, and whatever else hangs on it. */
function walkError(error: Error, text: Text, seen: Map<object, unknown>, depth: number): unknown {
  const copy = Object.create(Object.getPrototypeOf(error) as object) as Record<string, unknown>
  seen.set(error, copy)
  let changed = false
  for (const key of ['name', 'message', 'stack', 'cause', 'errors', ...Object.keys(error)]) {
    if (!(key in error)) continue
    const item = (error as unknown as Record<string, unknown>)[key]
    const next = walk(item, text, seen, depth + 1)
    changed ||= next !== item
    Object.defineProperty(copy, key, {
      value: next,
      enumerable: Object.keys(error).includes(key),
      configurable: true,
      writable: true,
    })
  }
  return settled(error, copy, changed, seen)
}

/** A circle that was copied stays copied: a part of it may point at the copy. */
function settled(from: object, copy: object, changed: boolean, seen: Map<object, unknown>): unknown {
  if (changed) return copy
  seen.set(from, from)
  return from
}

/** A URL, headers, bytes, a class of somebody's: as it would be printed, if that holds a secret. */
function opaque(value: object, text: Text): unknown {
  const shown = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
    : inspect(value, { depth: 8, maxStringLength: null })
  const clean = text(shown)
  if (clean !== shown) return clean
  const json = jsonOf(value)
  return json !== undefined && text(json) !== json ? text(json) : value
}

function jsonOf(value: object): string | undefined {
  try {
    return ArrayBuffer.isView(value) ? undefined : JSON.stringify(value)
  } catch {
    return undefined
  }
}
