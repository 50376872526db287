// Compiles type, const, enum and the keywords of numbers and strings into one check, so that a value has one fault that
// lists everything expected.

import type { Json } from '../../core/tool-value.ts'
import { formats } from './formats.ts'
import type { KeywordCompiler } from './keyword-compiler.ts'
import { isObject, type Check, type ValidationRun } from './validation-state.ts'

type Test = (value: Json, run: ValidationRun) => boolean

export function scalarChecks(schema: { [key: string]: Json }, make: KeywordCompiler): Check[] {
  const type = typeTests(schema)
  const constant = constantTests(schema)
  const otherTests = [...numberTests(schema), ...stringTests(schema, make)]
  if (type.length + constant.length + otherTests.length === 0) return []
  const say = make.expected(schema)
  return [
    (value, at, run) => {
      for (const test of type) if (!test(value, run)) return run.fault(at, say, value, 'type')
      for (const test of constant) if (!test(value, run)) return run.fault(at, say, value, 'constant')
      for (const test of otherTests) if (!test(value, run)) return run.fault(at, say, value)
      return true
    },
  ]
}

function typeTests({ type }: { [key: string]: Json }): Test[] {
  if (type === undefined) return []
  const types = new Set([type].flat() as string[])
  return [
    (value) => {
      const type = typeOf(value)
      return types.has(type) || (type === 'number' && types.has('integer') && Number.isInteger(value))
    },
  ]
}

function constantTests(schema: { [key: string]: Json }): Test[] {
  const tests: Test[] = []
  if (Array.isArray(schema.enum)) tests.push(oneOf(schema.enum))
  if (Object.hasOwn(schema, 'const')) tests.push(oneOf([schema.const as Json]))
  return tests
}

const typeOf = (value: Json): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Uses sets: an enum of ten thousand values costs the same as one of two. */
function oneOf(values: readonly Json[]): Test {
  const simple = new Set(values.filter((value) => typeof value !== 'object' || value === null))
  const composite = new Set(
    values.filter((value) => typeof value === 'object' && value !== null).map((value) => canonical(value)),
  )
  return (value, run) =>
    typeof value === 'object' && value !== null
      ? composite.size > 0 && composite.has(canonical(value, run))
      : simple.has(value)
}

/**
 * Equal values have equal texts: keys are sorted, numbers printed as in JavaScript. Long values use the validation
 * budget.
 */
export function canonical(value: Json, run?: ValidationRun): string {
  run?.spend(typeof value === 'string' ? 3 + (value.length >> 4) : 3)
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, run)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const keys = Object.keys(value).toSorted()
  run?.spend(4 * keys.length)
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json, run)}`).join(',')}}`
}

function numberTests(schema: { [key: string]: Json }): Test[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const tests: ((value: number, run: ValidationRun) => boolean)[] = []
  if (typeof minimum === 'number') tests.push((value) => value >= minimum)
  if (typeof maximum === 'number') tests.push((value) => value <= maximum)
  if (typeof exclusiveMinimum === 'number') tests.push((value) => value > exclusiveMinimum)
  if (typeof exclusiveMaximum === 'number') tests.push((value) => value < exclusiveMaximum)
  if (typeof multipleOf === 'number') tests.push((value, run) => isMultiple(value, multipleOf, run))
  return tests.map(
    (test): Test =>
      (value, run) =>
        typeof value !== 'number' || test(value, run),
  )
}

/** Decimal arithmetic: 0.3 is a multiple of 0.1, which binary floating point would deny. */
function isMultiple(value: number, of: number, run: ValidationRun): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0
  run.spend(50) // up to 600 digits
  const [a, b] = [decimal(value), decimal(of)]
  const exponent = Math.min(a.exponent, b.exponent)
  return (a.digits * 10n ** BigInt(a.exponent - exponent)) % (b.digits * 10n ** BigInt(b.exponent - exponent)) === 0n
}

function decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = '0', exponent = '0'] = String(Math.abs(value)).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

function stringTests(schema: { [key: string]: Json }, make: KeywordCompiler): Test[] {
  const { minLength, maxLength, pattern, format } = schema
  const tests: ((value: string, run: ValidationRun) => boolean)[] = []
  if (typeof minLength === 'number')
    tests.push(
      (text, run) => text.length >= minLength && (text.length >= 2 * minLength || codePoints(text, run) >= minLength),
    )
  if (typeof maxLength === 'number')
    tests.push(
      (text, run) => text.length <= maxLength || (text.length <= 2 * maxLength && codePoints(text, run) <= maxLength),
    )
  const test = typeof format === 'string' ? formats.get(format)?.test : undefined
  if (test)
    tests.push((text, run) => {
      run.spend(text.length >> 2)
      return test(text)
    })
  if (typeof pattern === 'string') {
    const matches = make.pattern(pattern, 'pattern')
    tests.push((text, run) => {
      if (matches) return matches(text, run)
      run.unsure += 1
      return true
    })
  }
  return tests.map(
    (test): Test =>
      (value, run) =>
        typeof value !== 'string' || test(value, run),
  )
}

/** Length in code points, as the standard requires. */
function codePoints(text: string, run: ValidationRun): number {
  run.spend(text.length >> 5)
  let count = 0
  for (let index = 0; index < text.length; index += 1) {
    count += 1
    if ((text.codePointAt(index) as number) > 0xffff) index += 1
  }
  return count
}
