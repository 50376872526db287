// Redacts secrets in values of any kind, for log fields and events. Only values that contain a secret are copied; all
// others are returned as they are.

import { inspect } from 'node:util'
import { isAttachment, maxDepth, mintAttachment } from '../core/tool-value.ts'

type RedactText = (text: string) => string

/** Slightly deeper than a recorded value may be. Anything deeper is replaced by `tooDeep`. */
const maxRedactDepth = maxDepth + 16
const tooDeep = '[too deep to be shown]'

export function redactDeep<T>(value: T, redact: RedactText): T {
  return walk(value, redact, new Map(), 0) as T
}

function walk(value: unknown, redact: RedactText, seen: Map<object, unknown>, depth: number): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (isAttachment(value)) {
    const { name } = value.ref
    return name === undefined || redact(name) === name ? value : mintAttachment({ ...value.ref, name: redact(name) })
  }
  if (seen.has(value)) return seen.get(value)
  if (depth > maxRedactDepth) return tooDeep
  try {
    if (value instanceof Error) return walkError(value, redact, seen, depth)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (Array.isArray(value)) return walkList(value, redact, seen, depth)
    if (prototype === Object.prototype || prototype === null) return walkObject(value, redact, seen, depth)
    return redactOpaque(value, redact)
  } catch {
    // Reading the value threw (a getter or a proxy): do not show it.
    return '[cannot be shown]'
  }
}

/** The copy is registered before its items are walked, so that a cycle points at the copy. */
function walkList(list: readonly unknown[], redact: RedactText, seen: Map<object, unknown>, depth: number): unknown {
  const copy: unknown[] = []
  seen.set(list, copy)
  let changed = false
  for (const item of list) {
    const next = walk(item, redact, seen, depth + 1)
    changed ||= next !== item
    copy.push(next)
  }
  return copyIfChanged(list, copy, changed, seen)
}

function walkObject(from: object, redact: RedactText, seen: Map<object, unknown>, depth: number): unknown {
  const copy: Record<string, unknown> = {}
  seen.set(from, copy)
  let changed = false
  for (const [key, item] of Object.entries(from)) {
    const name = redact(key)
    const next = walk(item, redact, seen, depth + 1)
    changed ||= next !== item || name !== key
    Object.defineProperty(copy, name, { value: next, enumerable: true, configurable: true, writable: true })
  }
  return copyIfChanged(from, copy, changed, seen)
}

/** Redacts message, stack, causes and all own properties. */
function walkError(error: Error, redact: RedactText, seen: Map<object, unknown>, depth: number): unknown {
  const copy = Object.create(Object.getPrototypeOf(error) as object) as Record<string, unknown>
  seen.set(error, copy)
  let changed = false
  for (const key of ['name', 'message', 'stack', 'cause', 'errors', ...Object.keys(error)]) {
    if (!(key in error)) continue
    const item = (error as unknown as Record<string, unknown>)[key]
    const next = walk(item, redact, seen, depth + 1)
    changed ||= next !== item
    Object.defineProperty(copy, key, {
      value: next,
      enumerable: Object.keys(error).includes(key),
      configurable: true,
      writable: true,
    })
  }
  return copyIfChanged(error, copy, changed, seen)
}

/** Returns the original if nothing changed. A changed copy stays registered, because a cycle may point at it. */
function copyIfChanged(from: object, copy: object, changed: boolean, seen: Map<object, unknown>): unknown {
  if (changed) return copy
  seen.set(from, from)
  return from
}

/** A URL, headers, bytes or any class instance: replaced by its redacted printed form if that contains a secret. */
function redactOpaque(value: object, redact: RedactText): unknown {
  const shown = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
    : inspect(value, { depth: 8, maxStringLength: null })
  const clean = redact(shown)
  if (clean !== shown) return clean
  const json = jsonOf(value)
  return json !== undefined && redact(json) !== json ? redact(json) : value
}

function jsonOf(value: object): string | undefined {
  try {
    return ArrayBuffer.isView(value) ? undefined : JSON.stringify(value)
  } catch {
    return undefined
  }
}
