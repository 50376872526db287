// Conditions on arguments, compiled once: `when: { cents: { gt: 2000 }, 'to.country': { in: ['DE', 'FR'] } }`.
//
// A pattern answers yes, no or unsure. Unsure means that the field is missing or of another type than the pattern
// expects, so the comparison has no answer. It never widens access: an allow rule needs a yes; an ask or deny rule
// applies unless there is a no. So `refund` without `cents` asks, although nothing was compared. A rule for many tools
// that should only apply where the field exists says so: `path: { exists: true, startsWith: '/etc' }`.
//
// Patterns compare text: '/home/me/../../etc' starts with '/home/me'. Normalize paths, hosts and the like in the tool's
// schema or in `prepare`, which run before policy.

import type { RE2JS } from 're2js'
import { compilePattern } from '../tools/patterns/compile-pattern.ts'
import { optionProblem, type OptionTable } from '../core/check-options.ts'
import { asSentence, PawlError } from '../core/errors.ts'
import { type Json, toRecordedForm } from '../core/tool-value.ts'

export type Truth = 'yes' | 'no' | 'unsure'

/** Conditions on one field. All of them must hold. */
export interface Condition {
  /** Deep JSON equality; key order does not matter. */
  readonly eq?: Json
  /** Not equal to this value. */
  readonly ne?: Json
  /** Numbers only. */
  readonly gt?: number
  /** At least this number. */
  readonly gte?: number
  /** Below this number. */
  readonly lt?: number
  /** At most this number. */
  readonly lte?: number
  /** One of these values. */
  readonly in?: readonly Json[]
  /** None of these values. */
  readonly notIn?: readonly Json[]
  /** Strings only, compared exactly: no case folding, no Unicode normalization. */
  readonly startsWith?: string
  /** A text that ends with this one. */
  readonly endsWith?: string
  /** A substring of a string, or an item of an array. */
  readonly includes?: Json
  /**
   * A regular expression of ECMAScript with the `u` flag that matches anywhere in a string. It runs in linear time: no
   * look-around, no back-references. To ignore case, write `(?i:…)`.
   */
  readonly matches?: string
  /** Whether the field is present. A null is present. */
  readonly exists?: boolean
}

/** A bare value means `eq`. An object is always a condition; to compare with an object, use `{ eq: { … } }`. */
export type Pattern = null | boolean | number | string | readonly Json[] | Condition

/** Patterns by path: `cents`, `to.country`, `items[0].sku`. All must hold. */
export type ArgumentPatterns = { readonly [path: string]: Pattern }

export interface ArgumentMatch {
  readonly truth: Truth
  /** The path whose comparison had no answer. */
  readonly unsurePath?: string
}

export type ArgumentMatcher = (args: Json) => ArgumentMatch

/** Throws config_invalid, naming the field. */
export type Refuse = (field: string, why: string) => never

/** Builds a Refuse that prefixes the path of the field: `policy.rules[3].then`. */
export const refuseAt =
  (base: string): Refuse =>
  (field, why) => {
    const at = field === '' ? base : field.startsWith('[') ? `${base}${field}` : `${base}.${field}`
    throw new PawlError('config_invalid', `${at} ${why}.`, { details: { at } })
  }

export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A key that is set to undefined is refused too: it would widen a rule (`tool: undefined` means every tool). */
export function checkKeys(options: unknown, table: OptionTable, path: string): void {
  const unset = isPlain(options) && Object.keys(options).find((key) => key in table && options[key] === undefined)
  const problem = unset
    ? `\`${path}.${unset}\` is undefined; leave it out`
    : optionProblem(options, table, path, `${path}.`)
  if (problem !== undefined) throw new PawlError('config_invalid', asSentence(problem))
}

type Test = (value: Json) => Truth
type Segment = string | number

interface FieldTest {
  readonly path: string
  readonly segments: readonly Segment[]
  readonly exists: boolean | undefined
  readonly tests: readonly Test[]
}

export function compilePatterns(patterns: unknown, refuse: Refuse): ArgumentMatcher {
  if (!isPlain(patterns)) return refuse('when', 'is not an object of patterns by path')
  const paths = Object.keys(patterns)
  if (paths.length === 0) refuse('when', 'has no patterns; leave it out to match any arguments')
  const fields = paths.map((path) => compileField(path, patterns[path], refuse))
  return (args) => {
    let unsurePath: string | undefined
    for (const field of fields) {
      const truth = testField(field, readPath(args, field.segments))
      if (truth === 'no') return noMatch
      if (truth === 'unsure') unsurePath ??= field.path
    }
    return unsurePath === undefined ? { truth: 'yes' } : { truth: 'unsure', unsurePath }
  }
}

const noMatch: ArgumentMatch = { truth: 'no' }

function testField(field: FieldTest, value: Json | undefined): Truth {
  if (field.exists !== undefined && field.exists !== (value !== undefined)) return 'no'
  if (value === undefined) return field.tests.length > 0 ? 'unsure' : 'yes'
  let truth: Truth = 'yes'
  for (const test of field.tests) {
    const one = test(value)
    if (one === 'no') return 'no'
    if (one === 'unsure') truth = 'unsure'
  }
  return truth
}

/** Reads own properties of objects and items of arrays; nothing inherited, no `length`. */
function readPath(args: Json, segments: readonly Segment[]): Json | undefined {
  let value: Json | undefined = args
  for (const segment of segments) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) !== (typeof segment === 'number'))
      return undefined
    if (!Object.hasOwn(value, segment)) return undefined
    value = (value as { [key: Segment]: Json })[segment]
  }
  return value
}

const pathShape = /^(?:[^.[\]]+|\[\d{1,9}\])(?:\.[^.[\]]+|\[\d{1,9}\])*$/

function compileField(path: string, pattern: unknown, refuseRule: Refuse): FieldTest {
  const refuse: Refuse = (field, why) =>
    refuseRule(`when[${JSON.stringify(path)}]${field === '' ? '' : `.${field}`}`, why)
  if (!pathShape.test(path)) refuse('', "is not a path like 'cents', 'to.country' or 'items[0].sku'")
  const segments = [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? (key as string) : Number(index),
  )
  if (!isPlain(pattern))
    return { path, segments, exists: undefined, tests: [operators.eq(jsonOperand(pattern, '', refuse), refuse)] }
  const names = Object.keys(pattern)
  if (names.length === 0) refuse('', 'has no operators')
  const known = [...Object.keys(operators), 'exists']
  const unknownOperator = names.find((name) => !known.includes(name))
  if (unknownOperator !== undefined) {
    const instead = `for a field inside write ${JSON.stringify(`${path}.${unknownOperator}`)}, for the whole object { eq: … }`
    refuse(unknownOperator, `is not an operator (${known.join(', ')}); ${instead}`)
  }
  const exists = Object.hasOwn(pattern, 'exists') ? pattern.exists : undefined
  if (names.includes('exists') && typeof exists !== 'boolean') refuse('exists', 'is not true or false')
  const tests = (names.filter((name) => name !== 'exists') as (keyof typeof operators)[]).map((name) =>
    operators[name](jsonOperand(pattern[name], name, refuse), (_, why) => refuse(name, why)),
  )
  return { path, segments, exists: exists as boolean | undefined, tests }
}

/** A private copy, so that a policy cannot change after it was checked. */
function jsonOperand(value: unknown, field: string, refuse: Refuse): Json {
  const type = typeof value
  if (value === undefined || type === 'function' || type === 'symbol')
    return refuse(field, `is ${type}, which is not JSON`)
  if (value instanceof RegExp) return refuse(field, 'is a RegExp; a rule is data, so give its source as text')
  try {
    return toRecordedForm(value)
  } catch {
    return refuse(field, 'is not JSON')
  }
}

const operators: Readonly<Record<Exclude<keyof Condition, 'exists'>, (operand: Json, refuse: Refuse) => Test>> = {
  eq: (operand) => equalTo(operand),
  ne: (operand) => negate(equalTo(operand)),
  gt: (operand, refuse) => compare(operand, refuse, (value, bound) => value > bound),
  gte: (operand, refuse) => compare(operand, refuse, (value, bound) => value >= bound),
  lt: (operand, refuse) => compare(operand, refuse, (value, bound) => value < bound),
  lte: (operand, refuse) => compare(operand, refuse, (value, bound) => value <= bound),
  in: (operand, refuse) => oneOf(operand, refuse),
  notIn: (operand, refuse) => negate(oneOf(operand, refuse)),
  startsWith: (operand, refuse) => onText(nonEmptyText(operand, refuse), (value, part) => value.startsWith(part)),
  endsWith: (operand, refuse) => onText(nonEmptyText(operand, refuse), (value, part) => value.endsWith(part)),
  includes: (operand, refuse) => contains(operand === '' ? refuse('', 'is empty') : operand),
  matches(operand, refuse) {
    const engine = compileRegExp(nonEmptyText(operand, refuse), refuse)
    return (value) => (typeof value === 'string' ? yesIf(engine.test(value)) : 'unsure')
  },
}

const yesIf = (holds: boolean): Truth => (holds ? 'yes' : 'no')

const negate =
  (test: Test): Test =>
  (value) => {
    const truth = test(value)
    return truth === 'unsure' ? truth : yesIf(truth === 'no')
  }

const typeOf = (value: Json): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** "2000" is unsure if 2000 is expected: a body may convert it. Only a comparison with null is always certain. */
const equalTo =
  (operand: Json): Test =>
  (value) =>
    operand !== null && typeOf(value) !== typeOf(operand) ? 'unsure' : yesIf(deepEqual(value, operand))

function deepEqual(a: Json, b: Json): boolean {
  if (a === b) return true
  if (
    typeof a !== 'object' ||
    typeof b !== 'object' ||
    a === null ||
    b === null ||
    Array.isArray(a) !== Array.isArray(b)
  )
    return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) &&
      deepEqual((a as Record<string, Json>)[key] as Json, (b as Record<string, Json>)[key] as Json),
  )
}

function compare(operand: Json, refuse: Refuse, holds: (value: number, bound: number) => boolean): Test {
  if (typeof operand !== 'number') return refuse('', 'is not a number')
  return (value) => (typeof value === 'number' ? yesIf(holds(value, operand)) : 'unsure')
}

function oneOf(operand: Json, refuse: Refuse): Test {
  if (!Array.isArray(operand)) return refuse('', 'is not a list')
  const types = new Set(operand.map(typeOf))
  return (value) => {
    if (operand.some((item) => deepEqual(value, item))) return 'yes'
    return operand.length === 0 || types.has(typeOf(value)) ? 'no' : 'unsure'
  }
}

function contains(operand: Json): Test {
  const item = equalTo(operand)
  return (value) => {
    if (typeof value === 'string' && typeof operand === 'string') return yesIf(value.includes(operand))
    if (!Array.isArray(value)) return 'unsure'
    const truths = value.map(item)
    return truths.includes('yes') ? 'yes' : truths.includes('unsure') ? 'unsure' : 'no'
  }
}

const onText =
  (operand: string, holds: (value: string, operand: string) => boolean): Test =>
  (value) =>
    typeof value === 'string' ? yesIf(holds(value, operand)) : 'unsure'

/** An empty string matches everything: in an allow rule that would allow every call. */
const nonEmptyText = (operand: Json, refuse: Refuse): string =>
  typeof operand === 'string' && operand !== '' ? operand : refuse('', 'is not a non-empty string')

function compileRegExp(pattern: string, refuse: Refuse): RE2JS {
  const compiled = compilePattern(pattern)
  if ('engine' in compiled) return compiled.engine
  return 'invalid' in compiled
    ? refuse('', `is not a regular expression: ${compiled.invalid}`)
    : refuse('', `is not a regular expression that runs in linear time: ${compiled.unsupported}`)
}
