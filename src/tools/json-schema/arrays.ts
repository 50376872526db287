// Compiles the array keywords.

import type { Json } from '../../core/tool-value.ts'
import { plural } from '../validation-problem.ts'
import type { KeywordCompiler } from './keyword-compiler.ts'
import type { Check } from './validation-state.ts'
import { canonical } from './scalars.ts'

type Schema = { [key: string]: Json }

export function arrayChecks(schema: Schema, make: KeywordCompiler): Check[] {
  return [...itemChecks(schema, make), ...sizeChecks(schema), ...containsChecks(schema, make), ...uniqueChecks(schema)]
}

/**
 * Schemas for the first items and one for the rest: prefixItems and items, or items and additionalItems in draft-07.
 */
function itemChecks(schema: Schema, make: KeywordCompiler): Check[] {
  const isTuple = Array.isArray(schema.items)
  const first = isTuple
    ? (schema.items as Json[])
    : make.draft !== '7' && Array.isArray(schema.prefixItems)
      ? schema.prefixItems
      : []
  const after = isTuple ? schema.additionalItems : schema.items
  if (first.length === 0 && after === undefined) return []
  const prefix = first.map((sub) => make.nodeInside(sub))
  const rest = after === undefined ? undefined : make.nodeInside(after)
  const closed = after === false
  const say = (): string => `expected at most ${plural(prefix.length, 'item')}`
  return [
    (value, at, run, seen) => {
      if (!Array.isArray(value)) return true
      if (closed && value.length > prefix.length) return run.fault(at, say, value)
      if (seen) seen.items = Math.max(seen.items, rest ? value.length : prefix.length)
      let ok = true
      const until = rest ? value.length : Math.min(prefix.length, value.length)
      for (let index = 0; index < until; index += 1) {
        const node = prefix[index] ?? rest
        if (node && !run.applyInside(node, value[index] as Json, { up: at, key: index })) ok = false
      }
      return ok
    },
  ]
}

/** Must run after all other keywords, like unevaluatedProperties. */
export function unevaluatedItems(schema: Schema, make: KeywordCompiler): Check[] {
  if (schema.unevaluatedItems === undefined) return []
  const node = make.nodeInside(schema.unevaluatedItems)
  return [
    (value, at, run, seen) => {
      if (!Array.isArray(value) || !seen) return true
      let ok = true
      for (let index = seen.items; index < value.length; index += 1) {
        if (!seen.single.has(index) && !run.applyInside(node, value[index] as Json, { up: at, key: index })) ok = false
      }
      seen.items = value.length
      return ok
    },
  ]
}

function sizeChecks({ minItems, maxItems }: Schema): Check[] {
  const sized = (test: (size: number) => boolean, expectation: string): Check => {
    const say = (): string => `expected ${expectation}`
    return (value, at, run) => !Array.isArray(value) || test(value.length) || run.fault(at, say, value)
  }
  const checks: Check[] = []
  if (typeof minItems === 'number')
    checks.push(sized((size) => size >= minItems, `at least ${plural(minItems, 'item')}`))
  if (typeof maxItems === 'number')
    checks.push(sized((size) => size <= maxItems, `at most ${plural(maxItems, 'item')}`))
  return checks
}

function containsChecks(schema: Schema, make: KeywordCompiler): Check[] {
  if (schema.contains === undefined) return []
  const node = make.nodeInside(schema.contains)
  const newer = make.draft !== '7'
  const min = newer && typeof schema.minContains === 'number' ? schema.minContains : 1
  const max = newer && typeof schema.maxContains === 'number' ? schema.maxContains : Number.POSITIVE_INFINITY
  const expected = make.expected(schema.contains)
  const tooFew = (): string => `expected at least ${min} of the items to be: ${expected().slice('expected '.length)}`
  const tooMany = (): string => `expected at most ${max} of the items to be: ${expected().slice('expected '.length)}`
  return [
    (value, at, run, seen) => {
      if (!Array.isArray(value)) return true
      const unsureBefore = run.unsure
      let count = 0
      for (const [index, item] of value.entries()) {
        if (!run.quietly(() => run.applyInside(node, item, { up: at, key: index }))) continue
        count += 1
        if (newer) seen?.single.add(index)
      }
      if (count < min) return run.fault(at, tooFew, value)
      return count <= max || run.unsure > unsureBefore || run.fault(at, tooMany, value)
    },
  ]
}

/** One pass, not a comparison of each pair: scalars are compared as they are, other values as canonical texts. */
function uniqueChecks({ uniqueItems }: Schema): Check[] {
  if (uniqueItems !== true) return []
  const say = (): string => 'expected no item twice'
  return [
    (value, at, run) => {
      if (!Array.isArray(value)) return true
      const scalars = new Map<Json, number>()
      const others = new Map<string, number>()
      for (const [index, item] of value.entries()) {
        run.spend(1)
        const isScalar = typeof item !== 'object' || item === null
        const seenAt: Map<Json, number> = isScalar ? scalars : others
        const text = isScalar ? item : canonical(item, run)
        const first = seenAt.get(text)
        if (first !== undefined)
          return run.fault({ up: at, key: index }, () => `${say()}, but it equals item ${first}`, item)
        seenAt.set(text, index)
      }
      return true
    },
  ]
}
