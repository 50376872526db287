// Describes briefly what a schema accepts, for a model: `integer >= 1`, `"low" | "high"`, `{kind: "circle", radius}`.

import { isObject } from './validation-state.ts'
import type { Json } from '../../core/tool-value.ts'
import { shortJson, plural, quote } from '../validation-problem.ts'
import { formats } from './formats.ts'

const maxLength = 300
const maxChoices = 8
const maxDepth = 3

/** Resolves a $ref; undefined if the schema has none. */
export type Lookup = (schema: { [key: string]: Json }) => Json | undefined

export function describeSchema(schema: Json, lookup: Lookup): string {
  const text = describe(schema, lookup, 0) ?? 'a value'
  return truncate(text, maxLength)
}

/** Undefined if the schema accepts anything. */
function describe(schema: Json, lookup: Lookup, depth: number): string | undefined {
  if (typeof schema === 'boolean') return schema ? undefined : 'nothing'
  if (!isObject(schema) || depth > maxDepth) return undefined
  if (Object.hasOwn(schema, 'const')) return literal(schema.const as Json)
  if (Array.isArray(schema.enum)) return listChoices(schema.enum, literal)
  const own = byType(schema, lookup, depth)
  if (own) return own
  const target = lookup(schema)
  if (target !== undefined) return describe(target, lookup, depth + 1)
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const branches = schema[keyword]
    if (Array.isArray(branches)) return describeUnion(branches, lookup, depth)
  }
  const parts = Array.isArray(schema.allOf)
    ? schema.allOf
        .slice(0, maxChoices)
        .map((part) => describe(part, lookup, depth + 1))
        .filter((part) => part)
    : []
  return parts.length > 0 ? [...new Set(parts)].join(' and ') : undefined
}

export const describeUnion = (branches: readonly Json[], lookup: Lookup, depth = 0): string =>
  listChoices(branches, (branch) => describe(branch, lookup, depth + 1) ?? 'a value')

/** Describes only the first few: a schema may have thousands, each with thousands of subschemas. */
function listChoices(all: readonly Json[], say: (one: Json) => string): string {
  const texts = [...new Set(all.slice(0, maxChoices).map(say))].map((text) => truncate(text, maxLength))
  return texts.join(' | ') + (all.length > maxChoices ? ` | … (${all.length} in all)` : '')
}

const literal = (value: Json): string =>
  shortJson(value, 40) ??
  (typeof value === 'string' ? quote(value, 40) : Array.isArray(value) ? 'a certain array' : 'a certain object')

function byType(schema: { [key: string]: Json }, lookup: Lookup, depth: number): string | undefined {
  const types = schema.type === undefined ? impliedTypes(schema) : ([schema.type].flat() as string[])
  const texts = types.map((type) => {
    if (type === 'integer' || type === 'number') return number(schema, type)
    if (type === 'string') return string(schema)
    if (type === 'object') return object(schema, lookup, depth)
    if (type === 'array') return array(schema, lookup, depth)
    return type
  })
  return texts.length > 0 ? texts.join(' | ') : undefined
}

/** Without a `type`, the keywords imply the kind of value. */
function impliedTypes(schema: { [key: string]: Json }): string[] {
  const has = (...keys: string[]): boolean => keys.some((key) => schema[key] !== undefined)
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number']
  if (has('minLength', 'maxLength', 'pattern', 'format')) return ['string']
  if (has('properties', 'required')) return ['object']
  return has('prefixItems', 'items') ? ['array'] : []
}

const bound = (schema: { [key: string]: Json }, key: string, sign: string): string =>
  typeof schema[key] === 'number' ? `${sign} ${schema[key]}` : ''
const joinParts = (first: string, parts: readonly string[]): string =>
  [first, parts.filter((part) => part).join(' and ')].filter((part) => part).join(' ')

function number(schema: { [key: string]: Json }, type: string): string {
  return joinParts(type, [
    bound(schema, 'minimum', '>='),
    bound(schema, 'exclusiveMinimum', '>'),
    bound(schema, 'maximum', '<='),
    bound(schema, 'exclusiveMaximum', '<'),
    bound(schema, 'multipleOf', 'a multiple of'),
  ])
}

const atLeast = (count: Json | undefined, noun: string): string =>
  typeof count === 'number' ? `with at least ${plural(count, noun)}` : ''
const atMost = (count: Json | undefined, noun: string): string =>
  typeof count === 'number' ? `with at most ${plural(count, noun)}` : ''

function string(schema: { [key: string]: Json }): string {
  const format = typeof schema.format === 'string' ? schema.format : ''
  const example = formats.get(format)?.example
  return joinParts('string', [
    example ? `in the format ${format} (such as ${example})` : '',
    typeof schema.pattern === 'string' ? `matching the pattern ${truncate(schema.pattern, 160)}` : '',
    atLeast(schema.minLength, 'character'),
    atMost(schema.maxLength, 'character'),
  ])
}

const truncate = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`

/**
 * At the top level `object` is enough, because each missing key is reported separately; in a union the keys identify
 * the branch.
 */
function object(schema: { [key: string]: Json }, lookup: Lookup, depth: number): string {
  const required = Array.isArray(schema.required) ? schema.required.filter((key) => typeof key === 'string') : []
  if (depth === 0 || required.length === 0) return 'object'
  const properties = isObject(schema.properties) ? schema.properties : {}
  const shown = required.slice(0, 5).map((key) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    const fixed = isObject(property) && (Object.hasOwn(property, 'const') || Array.isArray(property.enum))
    return fixed ? `${truncate(key, 40)}: ${describe(property, lookup, depth + 1)}` : truncate(key, 40)
  })
  return `{${shown.join(', ')}${required.length > shown.length ? ', …' : ''}}`
}

function array(schema: { [key: string]: Json }, lookup: Lookup, depth: number): string {
  const items =
    schema.items === undefined || Array.isArray(schema.items) ? undefined : describe(schema.items, lookup, depth + 1)
  return joinParts(
    items && items !== 'nothing' ? `array of ${items.includes(' | ') ? `(${items})` : items}` : 'array',
    [atLeast(schema.minItems, 'item'), atMost(schema.maxItems, 'item')],
  )
}
