// POLICY, the part that looks at arguments: `when: { cents: { gt: 2000 }, 'to.country': { in: ['DE', 'FR'] } }`, compiled once.
//
// A pattern answers yes, no or unsure. Unsure means that the field is missing or has another type than the pattern speaks of, so
// the comparison has no answer. The rule decides what that means, and it never opens the gate: an allow rule needs a yes, an ask
// or deny rule holds unless there is a no. So `refund` without `cents` asks, although nothing was compared. A rule for many tools
// that should only look where the field exists says so: `path: { exists: true, startsWith: '/etc' }`.
//
// Patterns read text, not meaning: '/home/me/../../etc' starts with '/home/me'. Bring paths, hosts and the like into their one
// form in the tool's schema or `prepare`, which run before policy.

import type { RE2JS } from 're2js'
import { linearEngine } from '../tools/re2.ts'
import { PawlError } from '../core/errors.ts'
import { type Json, recorded } from '../core/value.ts'

export type Truth = 'yes' | 'no' | 'unsure'

/** What one field must be. All that are given must hold. */
export interface Condition {
  /** Equal as JSON: deep, the order of keys does not matter, every key does. */
  readonly eq?: Json
  readonly ne?: Json
  /** Numbers only. */
  readonly gt?: number
  readonly gte?: number
  readonly lt?: number
  readonly lte?: number
  readonly in?: readonly Json[]
  readonly notIn?: readonly Json[]
  /** Text only, compared exactly: no case folding, no Unicode normal form. */
  readonly startsWith?: string
  readonly endsWith?: string
  /** A part of a text, or an item of a list. */
  readonly includes?: Json
  /** A regular expression found anywhere in a text; it runs in linear time, so no look-around and no back-references. */
  readonly matches?: string
  /** Whether the field is there; null is there. */
  readonly exists?: boolean
}

/** A bare value means `eq`. An object is always a condition: equality with a whole object is `{ eq: { … } }`. */
export type Pattern = null | boolean | number | string | readonly Json[] | Condition

/** By path: `cents`, `to.country`, `items[0].sku`. All must hold. */
export type ArgumentPatterns = { readonly [path: string]: Pattern }

export interface ArgumentMatch {
  readonly truth: Truth
  /** The path that left it unsure. */
  readonly unsureOf?: string
}

export type ArgumentMatcher = (args: Json) => ArgumentMatch

/** Throws config_invalid naming the field. */
export type Refuse = (field: string, why: string) => never

/** Says what is wrong with a configuration, and where: `policy.rules[3].then`. */
export const refuseAt =
  (base: string): Refuse =>
  (field, why) => {
    const at = field === '' ? base : field.startsWith('[') ? `${base}${field}` : `${base}.${field}`
    throw new PawlError('config_invalid', `${at} ${why}.`, { details: { at } })
  }

export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A key given as undefined is a mistake that would widen a rule (`tool: undefined` is every tool), so it is refused too. */
export function checkKeys(given: object, known: readonly string[], refuse: Refuse, prefix = ''): void {
  for (const key of Object.keys(given)) {
    if (!known.includes(key)) refuse(`${prefix}${key}`, `is not known; known are ${known.join(', ')}`)
    if ((given as Record<string, unknown>)[key] === undefined) refuse(`${prefix}${key}`, 'is undefined; leave it out')
  }
}

type Test = (value: Json) => Truth
type Segment = string | number

interface FieldTest {
  readonly path: string
  readonly segments: readonly Segment[]
  readonly exists: boolean | undefined
  readonly tests: readonly Test[]
}

export function compilePatterns(given: unknown, refuse: Refuse): ArgumentMatcher {
  if (!isPlain(given)) return refuse('when', 'is not an object of patterns by path')
  const paths = Object.keys(given)
  if (paths.length === 0) refuse('when', 'has no patterns; leave it out to match any arguments')
  const fields = paths.map((path) => compileField(path, given[path], refuse))
  return (args) => {
    let unsureOf: string | undefined
    for (const field of fields) {
      const truth = check(field, read(args, field.segments))
      if (truth === 'no') return ruledOut
      if (truth === 'unsure') unsureOf ??= field.path
    }
    return unsureOf === undefined ? { truth: 'yes' } : { truth: 'unsure', unsureOf }
  }
}

const ruledOut: ArgumentMatch = { truth: 'no' }

function check(field: FieldTest, value: Json | undefined): Truth {
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

/** Own properties of objects and items of lists; nothing inherited, no `length`. */
function read(args: Json, segments: readonly Segment[]): Json | undefined {
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
    return { path, segments, exists: undefined, tests: [operators.eq(json(pattern, '', refuse), refuse)] }
  const names = Object.keys(pattern)
  if (names.length === 0) refuse('', 'has no operators')
  const known = [...Object.keys(operators), 'exists']
  const stranger = names.find((name) => !known.includes(name))
  if (stranger !== undefined) {
    const instead = `for a field inside write ${JSON.stringify(`${path}.${stranger}`)}, for the whole object { eq: … }`
    refuse(stranger, `is not an operator (${known.join(', ')}); ${instead}`)
  }
  const exists = Object.hasOwn(pattern, 'exists') ? pattern.exists : undefined
  if (names.includes('exists') && typeof exists !== 'boolean') refuse('exists', 'is not true or false')
  const tests = (names.filter((name) => name !== 'exists') as (keyof typeof operators)[]).map((name) =>
    operators[name](json(pattern[name], name, refuse), (_, why) => refuse(name, why)),
  )
  return { path, segments, exists: exists as boolean | undefined, tests }
}

/** A copy nobody else holds, so that a policy does not change after it was checked. */
function json(given: unknown, field: string, refuse: Refuse): Json {
  const type = typeof given
  if (given === undefined || type === 'function' || type === 'symbol')
    return refuse(field, `is ${type}, which is not JSON`)
  if (given instanceof RegExp) return refuse(field, 'is a RegExp; a rule is data, so give its source as text')
  try {
    return recorded(given)
  } catch {
    return refuse(field, 'is not JSON')
  }
}

const operators: Readonly<Record<Exclude<keyof Condition, 'exists'>, (operand: Json, refuse: Refuse) => Test>> = {
  eq: (operand) => equalTo(operand),
  ne: (operand) => opposite(equalTo(operand)),
  gt: (operand, refuse) => compare(operand, refuse, (value, bound) => value > bound),
  gte: (operand, refuse) => compare(operand, refuse, (value, bound) => value >= bound),
  lt: (operand, refuse) => compare(operand, refuse, (value, bound) => value < bound),
  lte: (operand, refuse) => compare(operand, refuse, (value, bound) => value <= bound),
  in: (operand, refuse) => oneOf(operand, refuse),
  notIn: (operand, refuse) => opposite(oneOf(operand, refuse)),
  startsWith: (operand, refuse) => onText(text(operand, refuse), (value, part) => value.startsWith(part)),
  endsWith: (operand, refuse) => onText(text(operand, refuse), (value, part) => value.endsWith(part)),
  includes: (operand, refuse) => contains(operand === '' ? refuse('', 'is empty') : operand),
  matches(operand, refuse) {
    const engine = linear(text(operand, refuse), refuse)
    return (value) => (typeof value === 'string' ? yesIf(engine.test(value)) : 'unsure')
  },
}

const yesIf = (holds: boolean): Truth => (holds ? 'yes' : 'no')

const opposite =
  (test: Test): Test =>
  (value) => {
    const truth = test(value)
    return truth === 'unsure' ? truth : yesIf(truth === 'no')
  }

const typeOf = (value: Json): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** "2000" is neither equal to 2000 nor safely another: a body may read it as one. Only null or not is always certain. */
const equalTo =
  (operand: Json): Test =>
  (value) =>
    operand !== null && typeOf(value) !== typeOf(operand) ? 'unsure' : yesIf(same(value, operand))

function same(a: Json, b: Json): boolean {
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
      Object.hasOwn(b, key) && same((a as Record<string, Json>)[key] as Json, (b as Record<string, Json>)[key] as Json),
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
    if (operand.some((item) => same(value, item))) return 'yes'
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

/** An empty part is in every text: surely a mistake, and in an allow rule an open gate. */
const text = (operand: Json, refuse: Refuse): string =>
  typeof operand === 'string' && operand !== '' ? operand : refuse('', 'is not a non-empty text')

function linear(pattern: string, refuse: Refuse): RE2JS {
  try {
    const engine = linearEngine()
    return engine.compile(engine.translateRegExp(pattern))
  } catch {
    return refuse('', 'is not a regular expression that runs in linear time (no look-around, no back-references)')
  }
}
