// Parses arguments, given as the model's JSON text or as a host value, into the recorded form. Values that the recorded
// form cannot hold exactly are refused. Refusals say what to change, because a model reads them.

import { isThenable } from '../../core/maybe-promise.ts'
import { PawlError } from '../../core/errors.ts'
import { hasSortedKeys } from '../../core/canonical-json.ts'
import { sizeTable } from '../../core/size-limits.ts'
import { encode, encodePlain, maxDepth, decode, type Json } from '../../core/tool-value.ts'
import { pathText, quote } from '../../tools/validation-problem.ts'
import type { Problem } from '../../tools/schema.ts'
import { findJsonError } from './json-error-position.ts'

/**
 * `raw` is the received text, or null for a host value; '' if a host value was refused. `sorted`: the recorded form is
 * already canonical.
 */
export type ReadArguments =
  | { readonly ok: true; readonly raw: string | null; readonly wire: string; readonly sorted: boolean }
  | { readonly ok: false; readonly raw: string; readonly problem: string }

export interface ArgumentLimits {
  readonly bytes: number
  readonly depth: number
}

export const argumentLimits: ArgumentLimits = { bytes: sizeTable.arguments.most, depth: maxDepth }

/** Absent input and blank text mean {}. A null, as text or as a value, is passed to the schema. */
export function readArguments(input: unknown, limits: ArgumentLimits = argumentLimits): ReadArguments {
  if (input === undefined) return { ok: true, raw: null, wire: '{}', sorted: true }
  return typeof input === 'string' ? readText(input, limits) : readValue(input, limits)
}

/**
 * Runs the tool's `repair` once and parses its result. If it throws or returns undefined, the original refusal is
 * returned.
 */
export function repairArguments(
  raw: string,
  repair: (raw: string) => unknown,
  limits: ArgumentLimits = argumentLimits,
): ReadArguments {
  let repaired: unknown
  try {
    repaired = repair(raw)
  } catch {
    return readArguments(raw, limits) // most repairs end in their own JSON.parse, which may throw
  }
  if (repaired === undefined) return readArguments(raw, limits)
  if (isThenable(repaired)) {
    throw new PawlError('tool_invalid', '`repair` returned a promise. It must return text or a value synchronously.')
  }
  const read = readArguments(repaired, limits)
  return read.ok ? { ...read, raw } : { ok: false, raw, problem: read.problem }
}

const maxProblems = 8

/** The problems with their paths, one in each line, so that a model can fix them. */
export function problemLines(problems: readonly Problem[]): string {
  const lines = problems
    .slice(0, maxProblems)
    .map(({ path, message }) => `- ${path ? `${truncate(path, 200)}: ` : ''}${truncate(message, 600)}`)
  if (problems.length > maxProblems) lines.push(`- and ${problems.length - maxProblems} more`)
  return lines.join('\n')
}

export const describeProblems = (problems: readonly Problem[]): string =>
  `The arguments are not valid:\n${problemLines(problems)}\nFix the arguments and call again.`

/** Removes the quoted input from a parse problem, for tools with hidden fields. */
export const withoutQuotedInput = (problem: string): string =>
  problem.replace(/, found [^]*$/, '').replaceAll(/(?<=\bthe number )\S+(?= cannot be held exactly)/g, 'there')

/** The whitespace of JSON only: a byte order mark or a no-break space is unparseable text, not an absent input. */
const notBlank = /[^ \t\n\r]/

function readText(text: string, limits: ArgumentLimits): ReadArguments {
  const refuse = (problem: string, raw = text): ReadArguments => ({ ok: false, raw, problem })
  if (!notBlank.test(text)) return { ok: true, raw: text, wire: '{}', sorted: true }
  // The record is UTF-8 and cannot hold a lone surrogate.
  if (!text.isWellFormed()) return refuse(`The text ${loneSurrogate}`, text.toWellFormed())
  const bytes = text.length > limits.bytes ? text.length : Buffer.byteLength(text)
  if (bytes > limits.bytes)
    return refuse(tooLargeMessage(bytes, limits.bytes), text.slice(0, limits.bytes).toWellFormed())
  if (tooDeep(text, limits.depth)) return refuse(tooDeepMessage(limits))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse(describeJsonError(text))
  }
  const unsafe = unsafeNumbers(text)
  if (unsafe) return refuse(unsafe)
  const wire = encodeInput(value)
  return wire.ok ? { ok: true, raw: text, wire: wire.text, sorted: wire.sorted } : refuse(wire.problem)
}

function readValue(value: unknown, limits: ArgumentLimits): ReadArguments {
  const refuse = (problem: string): ReadArguments => ({ ok: false, raw: '', problem })
  const wire = encodeInput(value)
  if (!wire.ok) return refuse(wire.problem)
  const bytes = Buffer.byteLength(wire.text)
  if (bytes > limits.bytes) return refuse(tooLargeMessage(bytes, limits.bytes))
  if (tooDeep(wire.text, limits.depth)) return refuse(tooDeepMessage(limits))
  return { ok: true, raw: null, wire: wire.text, sorted: wire.sorted }
}

function encodeInput(value: unknown): { ok: true; text: string; sorted: boolean } | { ok: false; problem: string } {
  try {
    const text = encodePlain(value)
    return text === undefined
      ? { ok: true, text: encode(value), sorted: false }
      : { ok: true, text, sorted: hasSortedKeys(value) }
  } catch (error) {
    // A getter or proxy of the host may throw anything; its message is not for the model.
    const known = error instanceof PawlError && error.code === 'value_invalid'
    return {
      ok: false,
      problem: known ? truncate(error.message, 400) : 'The value cannot be read: reading one of its properties throws',
    }
  }
}

const loneSurrogate = 'holds a lone surrogate (half a character), which has no UTF-8 form; leave it out'
const formatCount = (count: number): string => count.toLocaleString('en-US')
export const tooLargeMessage = (bytes: number, max: number): string =>
  `The arguments are too large (${formatCount(bytes)} bytes; at most ${formatCount(max)}); send less at once`
const tooDeepMessage = (limits: ArgumentLimits): string =>
  `The arguments are nested deeper than ${limits.depth} levels; send a flatter value`

/** Checked before parsing: a megabyte of brackets takes JSON.parse 250 ms and overflows the stack of the encoder. */
function tooDeep(text: string, depth: number): boolean {
  if (text.length <= depth) return false
  let level = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === 0x22) {
      for (index += 1; index < text.length && text.charCodeAt(index) !== 0x22; index += 1)
        if (text.charCodeAt(index) === 0x5c) index += 1
    } else if (unit === 0x7b || unit === 0x5b) {
      level += 1
      if (level > depth) return true
    } else if (unit === 0x7d || unit === 0x5d) level -= 1
  }
  return false
}

function describeJsonError(text: string): string {
  const found = findJsonError(text)
  if (!found) return 'The text is not valid JSON'
  if (found.atEnd) {
    return `The JSON ends too early (cut off after ${formatCount(text.length)} characters): expected ${found.expected}; send the arguments again, complete`
  }
  const line = text.slice(0, found.at).split('\n').length
  const column = found.at - (text.lastIndexOf('\n', found.at - 1) + 1) + 1
  const quoted = quote(text.slice(found.at, found.at + 24), 24).replaceAll(invisible, escapeCharacter)
  return `The text is not valid JSON: at line ${line}, column ${column}: expected ${found.expected}, found ${quoted}`
}

/** Characters that a model cannot see, such as a byte order mark or a no-break space. JSON does not escape them. */
const invisible = /(?! )[\p{Cf}\p{Z}]/gu
const escapeCharacter = (hidden: string): string =>
  hidden.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * Only a text with sixteen digits in a row or an exponent can hold an inexact number; all others skip the second pass.
 */
const mayBeUnsafe = /\d{16}|(?:^|[:,[\s])-?\d[\d.]*[eE]\+?\d/

type Reviver = (this: object, key: string, value: unknown, context: { readonly source?: string }) => unknown

/** Describes the numbers in a text that JavaScript would round; undefined if there are none. */
function unsafeNumbers(text: string): string | undefined {
  if (!mayBeUnsafe.test(text)) return undefined
  const found: { holder: object; key: string; source: string }[] = []
  const revive: Reviver = function (key, value, { source }) {
    if (typeof value === 'number' && source !== undefined && !isSafe(value, source))
      found.push({ holder: this, key, source })
    return value
  }
  const root: unknown = JSON.parse(text, revive as never)
  if (found.length === 0) return undefined
  const holders = new Map(found.map(({ holder }) => [holder, [] as (string | number)[]]))
  pathsTo(holders, root)
  const lines = found.slice(0, maxProblems).map(({ holder, key, source }) => {
    // If the whole text is one number, its holder is an internal object of JSON.parse and the path is empty.
    const path =
      typeof root === 'object'
        ? pathText([...(holders.get(holder) ?? []), Array.isArray(holder) ? Number(key) : key])
        : ''
    return `${path ? `${path}: ` : ''}the number ${truncate(source, 50)} cannot be held exactly (integers only from -9007199254740991 to 9007199254740991); send it as a string`
  })
  if (found.length > maxProblems) lines.push(`and ${found.length - maxProblems} more`)
  return lines.join('\n- ')
}

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`

/**
 * Below 10^21 JavaScript prints all digits, so a rounded integer looks exact. Larger numbers are printed with an
 * exponent, which shows the rounding.
 */
function isSafe(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return false
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return true
  return Math.abs(value) >= 1e21 && /[eE]/.test(source)
}

/** Fills in the path to each holder; a JSON.parse reviver gets the holder but not its path. */
function pathsTo(holders: Map<object, (string | number)[]>, root: unknown): void {
  const walk = (value: unknown, keys: (string | number)[]): void => {
    if (typeof value !== 'object' || value === null) return
    if (holders.has(value)) holders.set(value, [...keys])
    for (const key of Object.keys(value)) {
      keys.push(Array.isArray(value) ? Number(key) : key)
      walk((value as Record<string, unknown>)[key], keys)
      keys.pop()
    }
  }
  walk(root, [])
}

export interface ValidatedInput {
  readonly args: Json
  /** The recorded form of the arguments. */
  readonly text: string
  readonly prepared: Json
  /** A fresh copy, decoded from the record, that the receiver may modify. */
  copy(): ValidatedInput
}

/** The recorded form of an absent payload. */
export const noPayload = 'null'

export class RecordedInput implements ValidatedInput {
  readonly args: Json
  readonly prepared: Json
  readonly #args: string
  readonly #prepared: string

  /** `value`: the decoded arguments, if the caller has them and no other code uses them. */
  constructor(args: string, prepared: string, value?: Json) {
    this.#args = args
    this.#prepared = prepared
    this.args = value ?? decode(args)
    this.prepared = prepared === noPayload ? null : decode(prepared)
  }

  get text(): string {
    return this.#args
  }

  copy(): ValidatedInput {
    return new RecordedInput(this.#args, this.#prepared)
  }
}
