// The door for arguments: the model's JSON text, or a value of the host, read once into the recorded form. Nothing that has
// no faithful form passes (CALL-4, DUR-11), and every refusal says what to change, because a model reads it.

import { PawlError } from '../../core/errors.ts'
import { isSorted } from '../../core/canonical-json.ts'
import { sizeTable } from '../../core/size-limits.ts'
import { encode, encodePlain, maxDepth } from '../../core/value.ts'
import { pathText, quoted } from '../../tools/validation-problem.ts'
import type { Problem } from '../../tools/schema.ts'
import { jsonBreak } from './json-error-position.ts'

/**
 * `raw` is the text as it came, or null for a value of the host. A refused value of the host has no text: ''. `sorted`: the recorded form
 * is canonical as it stands.
 */
export type ReadArguments =
  | { readonly ok: true; readonly raw: string | null; readonly wire: string; readonly sorted: boolean }
  | { readonly ok: false; readonly raw: string; readonly problem: string }

export interface ArgumentLimits {
  readonly bytes: number
  readonly depth: number
}

export const argumentLimits: ArgumentLimits = { bytes: sizeTable.arguments.most, depth: maxDepth }

/** Absent and blank text mean {}. A null is a value, as text and as a value: the schema judges it. */
export function readArguments(input: unknown, limits: ArgumentLimits = argumentLimits): ReadArguments {
  if (input === undefined) return { ok: true, raw: null, wire: '{}', sorted: true }
  return typeof input === 'string' ? readText(input, limits) : readValue(input, limits)
}

/** A tool's `repair`, once: what it makes of the text is read like any other. If it throws or gives up (undefined), the refusal stands. */
export function mended(
  raw: string,
  repair: (raw: string) => unknown,
  limits: ArgumentLimits = argumentLimits,
): ReadArguments {
  let better: unknown
  try {
    better = repair(raw)
  } catch {
    return readArguments(raw, limits) // most repairs end in a JSON.parse of their own
  }
  if (better === undefined) return readArguments(raw, limits)
  if (better instanceof Promise) {
    throw new PawlError('tool_invalid', 'repair answered with a promise; it must answer at once with text or a value.')
  }
  const again = readArguments(better, limits)
  return again.ok ? { ...again, raw } : { ok: false, raw, problem: again.problem }
}

const most = 8

/** Phrased so that a model can mend it: every problem with its path. */
export function describeProblems(problems: readonly Problem[]): string {
  const lines = problems
    .slice(0, most)
    .map(({ path, message }) => `- ${path ? `${shortened(path, 200)}: ` : ''}${shortened(message, 600)}`)
  if (problems.length > most) lines.push(`- and ${problems.length - most} more`)
  return `The arguments are not valid:\n${lines.join('\n')}\nFix the arguments and call again.`
}

/** What is wrong with text that cannot be read, without what came: what nobody may read is not repeated. */
export const untoldBreak = (problem: string): string =>
  problem.replace(/, found [^]*$/, '').replaceAll(/(?<=\bthe number )\S+(?= cannot be held exactly)/g, 'there')

function readText(text: string, limits: ArgumentLimits): ReadArguments {
  const refuse = (problem: string, raw = text): ReadArguments => ({ ok: false, raw, problem })
  if (text.trim() === '') return { ok: true, raw: text, wire: '{}', sorted: true }
  // The record is UTF-8: it could not hold this text as it came.
  if (!text.isWellFormed()) return refuse(`The text ${loneSurrogate}`, text.toWellFormed())
  const bytes = text.length > limits.bytes ? text.length : Buffer.byteLength(text)
  if (bytes > limits.bytes) return refuse(tooLarge(bytes, limits.bytes), text.slice(0, limits.bytes).toWellFormed())
  if (tooDeep(text, limits.depth)) return refuse(tooDeepSaid(limits))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse(broken(text))
  }
  const unsafe = unsafeNumbers(text)
  if (unsafe) return refuse(unsafe)
  const wire = encoded(value)
  return wire.ok ? { ok: true, raw: text, wire: wire.text, sorted: wire.sorted } : refuse(wire.problem)
}

function readValue(value: unknown, limits: ArgumentLimits): ReadArguments {
  const refuse = (problem: string): ReadArguments => ({ ok: false, raw: '', problem })
  const wire = encoded(value)
  if (!wire.ok) return refuse(wire.problem)
  const bytes = Buffer.byteLength(wire.text)
  if (bytes > limits.bytes) return refuse(tooLarge(bytes, limits.bytes))
  if (tooDeep(wire.text, limits.depth)) return refuse(tooDeepSaid(limits))
  return { ok: true, raw: null, wire: wire.text, sorted: wire.sorted }
}

function encoded(value: unknown): { ok: true; text: string; sorted: boolean } | { ok: false; problem: string } {
  try {
    const text = encodePlain(value)
    return text === undefined
      ? { ok: true, text: encode(value), sorted: false }
      : { ok: true, text, sorted: isSorted(value) }
  } catch (error) {
    // A getter or a proxy of the host may throw anything; what it says is not for the model.
    const known = error instanceof PawlError && error.code === 'value_invalid'
    return {
      ok: false,
      problem: known ? shortened(error.message, 400) : 'The value cannot be read: reading one of its properties throws',
    }
  }
}

const loneSurrogate = 'holds a lone surrogate (half a character), which has no UTF-8 form; leave it out'
const number = (count: number): string => count.toLocaleString('en-US')
export const tooLarge = (bytes: number, most: number): string =>
  `The arguments are too large (${number(bytes)} bytes; at most ${number(most)}); send less at once`
const tooDeepSaid = (limits: ArgumentLimits): string =>
  `The arguments are nested deeper than ${limits.depth} levels; send a flatter value`

/** Before parsing: a megabyte of brackets takes JSON.parse a quarter of a second, and the encoder more stack than there is. */
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

function broken(text: string): string {
  const found = jsonBreak(text)
  if (!found) return 'The arguments are not valid JSON'
  if (found.atEnd) {
    return `The JSON ends too early (cut off after ${number(text.length)} characters): expected ${found.expected}; send the arguments again, complete`
  }
  const line = text.slice(0, found.at).split('\n').length
  const column = found.at - (text.lastIndexOf('\n', found.at - 1) + 1) + 1
  return `The arguments are not valid JSON: at line ${line}, column ${column}: expected ${found.expected}, found ${quoted(text.slice(found.at, found.at + 24), 24)}`
}

/** Only texts with sixteen digits in a row or an exponent can hold a number that does not survive: most skip the second pass. */
const mayBeUnsafe = /\d{16}|(?:^|[:,[\s])-?\d[\d.]*[eE]\+?\d/

type Reviver = (this: object, key: string, value: unknown, context: { readonly source?: string }) => unknown

/** What to say of the numbers in a text that JavaScript would change, or undefined. */
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
  const said = found.slice(0, most).map(({ holder, key, source }) => {
    // The number itself may be the whole text: then its holder is one that JSON.parse made up.
    const path =
      typeof root === 'object'
        ? pathText([...(holders.get(holder) ?? []), Array.isArray(holder) ? Number(key) : key])
        : ''
    return `${path ? `${path}: ` : ''}the number ${shortened(source, 50)} cannot be held exactly (integers only from -9007199254740991 to 9007199254740991); send it as a string`
  })
  if (found.length > most) said.push(`and ${found.length - most} more`)
  return said.join('\n- ')
}

const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

/** Below 10^21 JavaScript writes digits, so an integer it had to round looks exact. An exponent says itself that it is rounded. */
function isSafe(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return false
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return true
  return Math.abs(value) >= 1e21 && /[eE]/.test(source)
}

/** JSON.parse names a number's holder but not the way to it. */
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
