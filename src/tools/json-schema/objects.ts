// Compiles the object keywords. Own keys only: `__proto__`, `constructor` and `toString` are ordinary names.

import type { Json } from '../../core/tool-value.ts'
import { plural, quote } from '../validation-problem.ts'
import type { KeywordCompiler } from './keyword-compiler.ts'
import { isObject, type Check, type Node, missing, type ValidationRun } from './validation-state.ts'

type Schema = { [key: string]: Json }

export function objectChecks(schema: Schema, make: KeywordCompiler): Check[] {
  const newer = make.draft !== '7'
  return [
    ...requiredChecks(schema, make),
    ...memberChecks(schema, make),
    ...sizeChecks(schema),
    ...nameChecks(schema, make),
    ...dependencyChecks(newer ? schema.dependentRequired : undefined, make),
    ...dependencyChecks(newer ? schema.dependentSchemas : undefined, make),
    ...dependencyChecks(schema.dependencies, make),
  ]
}

function requiredChecks(schema: Schema, make: KeywordCompiler): Check[] {
  if (!Array.isArray(schema.required) || schema.required.length === 0) return []
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = (schema.required as string[]).map((key) => ({
    key,
    say: make.expected(Object.hasOwn(properties, key) ? (properties[key] as Json) : true),
  }))
  return [
    (value, at, run) => {
      if (!isObject(value)) return true
      run.spend(required.length)
      let ok = true
      for (const { key, say } of required) {
        if (!Object.hasOwn(value, key)) ok = run.fault({ up: at, key }, say, missing)
      }
      return ok
    },
  ]
}

/** properties, patternProperties and additionalProperties; the last applies to keys that the others do not match. */
function memberChecks(schema: Schema, make: KeywordCompiler): Check[] {
  const { properties, patternProperties, additionalProperties } = schema
  if (properties === undefined && patternProperties === undefined && additionalProperties === undefined) return []
  const known = new Map(
    isObject(properties) ? Object.entries(properties).map(([key, sub]) => [key, make.nodeInside(sub)]) : [],
  )
  const patterns = isObject(patternProperties)
    ? Object.entries(patternProperties).map(([source, sub]) => ({
        matches: make.pattern(source, 'patternProperties'),
        node: make.nodeInside(sub),
      }))
    : []
  // A pattern that cannot run might match any key, so additionalProperties cannot be enforced.
  const unsure = patterns.some(({ matches }) => !matches)
  const rest = additionalProperties === undefined || unsure ? undefined : make.nodeInside(additionalProperties)
  const closed = additionalProperties === false
  const say = unknownPropertyText([...known.keys()])
  return [
    (value, at, run, seen) => {
      if (!isObject(value)) return true
      if (unsure) {
        run.unsure += 1
        if (seen) seen.everyKey = true
      }
      let ok = true
      for (const key of Object.keys(value)) {
        const property = known.get(key)
        if (!property) {
          run.spend(1)
          if (!rest && patterns.length === 0) continue
        }
        const inner = value[key] as Json
        const here = { up: at, key }
        let taken = property !== undefined
        if (property && !run.applyInside(property, inner, here)) ok = false
        for (const { matches, node } of patterns) {
          if (!matches?.(key, run)) continue
          taken = true
          if (!run.applyInside(node, inner, here)) ok = false
        }
        if (taken || rest) seen?.keys.add(key)
        if (taken || !rest) continue
        if (closed) ok = run.fault(here, say, inner)
        else if (!run.applyInside(rest, inner, here)) ok = false
      }
      return ok
    },
  ]
}

function unknownPropertyText(known: readonly string[]): () => string {
  const shown = known.slice(0, 12).map((key) => quote(key, 40))
  const only = known.length > 0 ? `, expected only ${shown.join(', ')}${known.length > shown.length ? ', …' : ''}` : ''
  return () => `not a known property${only}`
}

/**
 * Must run last: applies to the keys that no other keyword, here or in subschemas for the same value, has evaluated.
 */
export function unevaluatedProperties(schema: Schema, make: KeywordCompiler): Check[] {
  if (schema.unevaluatedProperties === undefined) return []
  const node = make.nodeInside(schema.unevaluatedProperties)
  const closed = schema.unevaluatedProperties === false
  const say = unknownPropertyText(isObject(schema.properties) ? Object.keys(schema.properties) : [])
  return [
    (value, at, run, seen) => {
      if (!isObject(value) || !seen || seen.everyKey) return true
      let ok = true
      const keys = Object.keys(value)
      run.spend(keys.length)
      for (const key of keys) {
        if (seen.keys.has(key)) continue
        const here = { up: at, key }
        if (closed) ok = run.fault(here, say, value[key])
        else if (!run.applyInside(node, value[key] as Json, here)) ok = false
      }
      seen.everyKey = true
      return ok
    },
  ]
}

function sizeChecks({ minProperties, maxProperties }: Schema): Check[] {
  const sized = (test: (size: number) => boolean, expectation: string): Check => {
    const say = (): string => `expected ${expectation}`
    return (value, at, run) => {
      if (!isObject(value)) return true
      const size = Object.keys(value).length
      run.spend(size >> 1)
      return test(size) || run.fault(at, say, value)
    }
  }
  const checks: Check[] = []
  if (typeof minProperties === 'number')
    checks.push(sized((size) => size >= minProperties, `at least ${plural(minProperties, 'key')}`))
  if (typeof maxProperties === 'number')
    checks.push(sized((size) => size <= maxProperties, `at most ${plural(maxProperties, 'key')}`))
  return checks
}

function nameChecks(schema: Schema, make: KeywordCompiler): Check[] {
  const { propertyNames } = schema
  if (propertyNames === undefined) return []
  const node = make.nodeInside(propertyNames)
  const expected = make.expected(propertyNames)
  const say = (): string => `not a valid key, ${expected()}`
  return [
    (value, at, run) => {
      if (!isObject(value)) return true
      let ok = true
      for (const key of Object.keys(value)) {
        if (!run.quietly(() => run.applyInside(node, key, null))) ok = run.fault({ up: at, key }, say, key)
      }
      return ok
    },
  ]
}

/** dependentRequired, dependentSchemas, and draft-07's `dependencies`, which combines the two. */
function dependencyChecks(dependencies: Json | undefined, make: KeywordCompiler): Check[] {
  if (!isObject(dependencies)) return []
  const all = Object.entries(dependencies).map(([key, needs]) => {
    if (!Array.isArray(needs)) return { key, node: make.nodeInPlace(needs), names: [] }
    const reason = `, as it goes with ${quote(key, 40)}`
    return {
      key,
      node: undefined as Node | undefined,
      names: needs as string[],
      say: () => `expected a value${reason}`,
    }
  })
  return [
    (value, at, run: ValidationRun, seen) => {
      if (!isObject(value)) return true
      let ok = true
      for (const { key, node, names, say } of all) {
        if (!Object.hasOwn(value, key)) continue
        if (node && !run.applyInPlace(node, value, at, seen)) ok = false
        run.spend(1 + names.length)
        for (const name of names)
          if (say && !Object.hasOwn(value, name)) ok = run.fault({ up: at, key: name }, say, missing)
      }
      return ok
    },
  ]
}
