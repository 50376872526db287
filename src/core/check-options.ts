// Checks option objects against tables. A public function declares one table with a row per option, and refuses unknown
// and mistyped options before it does anything: a misspelt option would silently have no effect.

import { parseDuration } from './duration.ts'
import { asSentence, type ErrorCode, PawlError } from './errors.ts'
import { formatValue } from './format-value.ts'
import { isName, maxNameLength } from './ids.ts'
import { similarNames } from './similar-names.ts'

/** One row of a table: what the value of an option must be. */
export interface OptionCheck {
  /** Completes the sentence "`name` is …; it must be …". */
  readonly expected: string
  /** Not called for undefined, which counts as absent. */
  readonly valid: (value: unknown) => boolean
  /** Describes the invalid part of a value; undefined if the value as a whole is invalid. */
  readonly part?: (value: unknown, path: string) => string | undefined
  readonly required?: true
  /** The value is secret, so the error does not show it. */
  readonly secret?: true
}

type NamesOf<T> = T extends unknown ? keyof T : never

/** A row for every option of T (of every member, if T is a union): `{ … } satisfies OptionTable<RunOptions>`. */
export type OptionTable<T = Record<string, unknown>> = Readonly<Record<NamesOf<T>, OptionCheck>>

/** Throws `code` if an option is unknown or has a wrong type. Allocates nothing if all are valid. */
export function checkOptions(
  options: unknown,
  table: OptionTable,
  owner: string,
  code: ErrorCode = 'config_invalid',
): void {
  if (options === undefined) return
  const problem = unknownOrMistyped(options, table, owner, '')
  if (problem !== undefined) throw new PawlError(code, asSentence(problem))
}

/** Like checkOptions, but with required options, so the object itself is required too. */
export function checkRequiredOptions(
  options: unknown,
  table: OptionTable,
  owner: string,
  code: ErrorCode = 'config_invalid',
): void {
  const problem = optionProblem(options, table, owner)
  if (problem !== undefined) throw new PawlError(code, asSentence(problem))
}

/** What is wrong with the options, without a full stop, for a caller that throws the error itself. */
export function optionProblem(options: unknown, table: OptionTable, owner: string, prefix = ''): string | undefined {
  const problem = unknownOrMistyped(options, table, owner, prefix)
  if (problem !== undefined) return problem
  for (const name in table)
    if (table[name]?.required && (options as Record<string, unknown>)[name] === undefined)
      return `\`${prefix}${name}\` is missing; it must be ${table[name].expected}`
  return undefined
}

function unknownOrMistyped(options: unknown, table: OptionTable, owner: string, prefix: string): string | undefined {
  if (!isObject(options))
    return prefix === ''
      ? `The options of \`${owner}\` are ${describe(options)}; they must be an object`
      : `\`${owner}\` is ${describe(options)}; it must be an object`
  for (const name in options) {
    const row = table[name]
    // Every object inherits properties such as `constructor`; they are not rows.
    if (row?.valid === undefined) {
      if (isInstance(options)) continue
      return unknownOption(name, table, owner)
    }
    const value = options[name]
    if (value !== undefined && !row.valid(value)) return mistyped(value, row, `${prefix}${name}`)
  }
  return undefined
}

function unknownOption(name: string, table: OptionTable, owner: string): string {
  const names = Object.keys(table)
  const similar = similarNames(name, names, 1)
  const list = (each: readonly string[]): string => each.map((one) => `\`${one}\``).join(', ')
  const hint = similar.length > 0 ? `did you mean ${list(similar)}?` : `its options are ${list(names)}`
  return `\`${owner}\` has no option \`${name.slice(0, 80)}\`; ${hint}`
}

const mistyped = (value: unknown, row: OptionCheck, path: string): string =>
  row.part?.(value, path) ?? `\`${path}\` is ${row.secret ? 'invalid' : describe(value)}; it must be ${row.expected}`

function describe(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 80).toWellFormed()}'`
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'number') return String(value)
  const text = formatValue(value)
  if (Array.isArray(value)) return value.length > 3 || text.length > 80 ? 'an array' : text
  return isObject(value) ? 'an object' : text
}

/** An instance of a class (such as a hook) may have fields of its own. */
const isInstance = (options: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(options)
  return isObject(prototype) && prototype !== Object.prototype && Object.hasOwn(prototype, 'constructor')
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const check = (expected: string, valid: (value: unknown) => boolean): OptionCheck => ({ expected, valid })

/** The rows of tables. */
export const option = {
  anything: check('anything', () => true),
  string: check('a string', (value) => typeof value === 'string'),
  nonEmptyString: check('a non-empty string', (value) => typeof value === 'string' && value.trim() !== ''),
  number: check('a number', (value) => typeof value === 'number'),
  identifier: check(`a string of 1 to ${maxNameLength} characters`, isName),
  wellFormedString: check(
    'a string without lone surrogates',
    (value) => typeof value === 'string' && value.isWellFormed(),
  ),
  boolean: check('true or false', (value) => typeof value === 'boolean'),
  func: check('a function', (value) => typeof value === 'function'),
  /** An object whose own checks, if any, are elsewhere: a schema, a store, a tool. */
  object: check('an object', isObject),
  array: check('an array', (value) => Array.isArray(value)),
  validDate: check('a date', (value) => value instanceof Date && !Number.isNaN(value.getTime())),
  abortSignal: check(
    'an AbortSignal',
    (value) => isObject(value) && typeof value.aborted === 'boolean' && typeof value.addEventListener === 'function',
  ),
  finiteNumber: check('a finite number', (value) => Number.isFinite(value)),
  nonNegativeNumber: check(
    'a finite number, at least 0',
    (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  ),
  positiveNumber: check(
    'a finite number above 0',
    (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
  ),
  /** A limit of zero would let nothing run. */
  positiveLimit: check(
    'a whole number of at least 1, or Infinity',
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && (value as number) >= 1),
  ),
  duration: check(
    "a duration: milliseconds, or a string like '500ms', '30s', '5m', '2h' or '3d'",
    (value) => parseDuration(value) !== undefined,
  ),
  positiveDuration: check(
    "a duration above zero: milliseconds, or a string like '500ms', '30s', '5m', '2h' or '3d'",
    (value) => (parseDuration(value) ?? 0) > 0,
  ),
  /** A duration with a range. A value that is not a duration at all is told so, whatever the range. */
  durationWithin: (expected: string, isWithin: (ms: number) => boolean): OptionCheck => ({
    expected,
    valid(value) {
      const ms = parseDuration(value)
      return ms !== undefined && isWithin(ms)
    },
    part: (value, path) => (parseDuration(value) === undefined ? mistyped(value, option.duration, path) : undefined),
  }),
  wholeNumber: (min: number, max = Number.MAX_SAFE_INTEGER): OptionCheck =>
    check(
      max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`,
      (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    ),
  oneOf: (...values: readonly unknown[]): OptionCheck => ({
    expected: alternatives(values.map(describe)),
    valid: (value) => values.includes(value),
    part(value, path) {
      const names = values.filter((each) => typeof each === 'string')
      const [similar] = typeof value === 'string' ? similarNames(value, names, 1) : []
      return similar === undefined ? undefined : `\`${path}\` is ${describe(value)}; did you mean '${similar}'?`
    },
  }),
  /** An object with the methods of a port, such as a logger or a clock. */
  withMethods: (...names: readonly string[]): OptionCheck =>
    check(
      `an object with the method${names.length > 1 ? 's' : ''} ${names.join(', ')}`,
      (value) => isObject(value) && names.every((name) => typeof value[name] === 'function'),
    ),
  /** An option with options of its own. */
  nested: (table: OptionTable): OptionCheck => ({
    expected: 'an object',
    valid: (value) => isObject(value) && optionProblem(value, table, '') === undefined,
    part: (value, path) => (isObject(value) ? optionProblem(value, table, path, `${path}.`) : undefined),
  }),
  listOf: (item: OptionCheck): OptionCheck => ({
    expected: 'an array',
    valid: (value) => Array.isArray(value) && value.every((each) => item.valid(each)),
    part(value, path) {
      if (!Array.isArray(value)) return undefined
      const index = value.findIndex((each) => !item.valid(each))
      return mistyped(value[index], item, `${path}[${index}]`)
    },
  }),
  /** An object with arbitrary keys whose values all have the same form. */
  recordOf: (item: OptionCheck): OptionCheck => ({
    expected: 'an object',
    valid: (value) => isObject(value) && Object.values(value).every((each) => item.valid(each)),
    part(value, path) {
      if (!isObject(value)) return undefined
      const wrong = Object.keys(value).find((name) => !item.valid(value[name])) as string
      return mistyped(value[wrong], item, `${path}.${wrong}`)
    },
  }),
  either: (...checks: readonly OptionCheck[]): OptionCheck => ({
    expected: alternatives(checks.map((each) => each.expected)),
    valid: (value) => checks.some((each) => each.valid(value)),
    part: (value, path) => checks.map((each) => each.part?.(value, path)).find((problem) => problem !== undefined),
  }),
  required: (row: OptionCheck): OptionCheck => ({ ...row, required: true }),
  hidden: (row: OptionCheck): OptionCheck => ({ ...row, secret: true }),
}

const alternatives = (all: readonly string[]): string =>
  all.length === 1 ? (all[0] as string) : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`
