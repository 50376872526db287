// Redacts secrets in values of any kind, for log fields and events. Only values that contain a secret are copied; all
// others are returned as they are.

import { inspect } from 'node:util'
import { isAttachment, maxDepth, mintAttachment } from '../core/tool-value.ts'

type RedactText = (text: string) => string

interface Redact {
  readonly text: RedactText
  readonly number: RedactText
}

/** Slightly deeper than a recorded value may be. Anything deeper is replaced by `tooDeep`. */
const maxRedactDepth = maxDepth + 16
const tooDeep = '[too deep to be shown]'

/** `redactNumber`: for the decimal text of a number; default: like any text. */
export function redactDeep<T>(value: T, redact: RedactText, redactNumber: RedactText = redact): T {
  return walk(value, { text: redact, number: redactNumber }, new Map(), 0) as T
}

function walk(value: unknown, redact: Redact, seen: Map<object, unknown>, depth: number): unknown {
  if (typeof value === 'string') return redact.text(value)
  if (typeof value === 'number' || typeof value === 'bigint') return walkNumber(value, redact)
  if (typeof value !== 'object' || value === null) return value
  if (isAttachment(value)) {
    const { name } = value.ref
    return name === undefined || redact.text(name) === name
      ? value
      : mintAttachment({ ...value.ref, name: redact.text(name) })
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

/** A number whose decimal text contains a secret is replaced by the redacted text. */
function walkNumber(value: number | bigint, redact: Redact): unknown {
  const shown = String(value)
  // Most numbers are shorter than any secret.
  if (shown.length < 4) return value
  const clean = redact.number(shown)
  return clean === shown ? value : clean
}

/** The copy is registered before its items are walked, so that a cycle points at the copy. */
function walkList(list: readonly unknown[], redact: Redact, seen: Map<object, unknown>, depth: number): unknown {
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

function walkObject(from: object, redact: Redact, seen: Map<object, unknown>, depth: number): unknown {
  const copy: Record<string, unknown> = {}
  seen.set(from, copy)
  let changed = false
  for (const [key, item] of Object.entries(from)) {
    const name = redact.text(key)
    const next = walk(item, redact, seen, depth + 1)
    changed ||= next !== item || name !== key
    Object.defineProperty(copy, name, { value: next, enumerable: true, configurable: true, writable: true })
  }
  return copyIfChanged(from, copy, changed, seen)
}

/** Redacts message, stack, causes and all own properties. */
function walkError(error: Error, redact: Redact, seen: Map<object, unknown>, depth: number): unknown {
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
function redactOpaque(value: object, redact: Redact): unknown {
  const shown = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
    : inspect(value, { depth: 8, maxStringLength: null })
  const clean = redact.text(shown)
  if (clean !== shown) return clean
  const json = jsonOf(value)
  return json !== undefined && redact.text(json) !== json ? redact.text(json) : value
}

function jsonOf(value: object): string | undefined {
  try {
    return ArrayBuffer.isView(value) ? undefined : JSON.stringify(value)
  } catch {
    return undefined
  }
}
