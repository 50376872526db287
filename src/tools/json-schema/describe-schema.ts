// What a schema accepts, in a few words for a model: `integer >= 1`, `"low" | "high"`, `{kind: "circle", radius}`.

import type { Json } from '../../core/value.ts'
import { brief, counted, quoted } from '../validation-problem.ts'
import { formats } from './formats.ts'
import { isObject } from './check-schema.ts'

const mostWords = 300
const mostChoices = 8
const maxDepth = 3

/** Answers what a $ref means, or undefined. */
export type Lookup = (schema: { [key: string]: Json }) => Json | undefined

export function words(schema: Json, lookup: Lookup): string {
  const text = accepted(schema, lookup, 0) ?? 'a value'
  return shortened(text, mostWords)
}

/** Undefined if there is nothing to say. */
function accepted(schema: Json, lookup: Lookup, depth: number): string | undefined {
  if (typeof schema === 'boolean') return schema ? undefined : 'nothing'
  if (!isObject(schema) || depth > maxDepth) return undefined
  if (Object.hasOwn(schema, 'const')) return literal(schema.const as Json)
  if (Array.isArray(schema.enum)) return choices(schema.enum, literal)
  const own = byType(schema, lookup, depth)
  if (own) return own
  const target = lookup(schema)
  if (target !== undefined) return accepted(target, lookup, depth + 1)
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const branches = schema[keyword]
    if (Array.isArray(branches)) return union(branches, lookup, depth)
  }
  const parts = Array.isArray(schema.allOf)
    ? schema.allOf
        .slice(0, mostChoices)
        .map((part) => accepted(part, lookup, depth + 1))
        .filter((part) => part)
    : []
  return parts.length > 0 ? [...new Set(parts)].join(' and ') : undefined
}

export const union = (branches: readonly Json[], lookup: Lookup, depth = 0): string =>
  choices(branches, (branch) => accepted(branch, lookup, depth + 1) ?? 'a value')

/** Only the first few are put into words: a schema may hold thousands, each with thousands below. */
function choices(all: readonly Json[], say: (one: Json) => string): string {
  const texts = [...new Set(all.slice(0, mostChoices).map(say))].map((text) => shortened(text, mostWords))
  return texts.join(' | ') + (all.length > mostChoices ? ` | … (${all.length} in all)` : '')
}

const literal = (value: Json): string =>
  brief(value, 40) ??
  (typeof value === 'string' ? quoted(value, 40) : Array.isArray(value) ? 'a certain array' : 'a certain object')

function byType(schema: { [key: string]: Json }, lookup: Lookup, depth: number): string | undefined {
  const types = schema.type === undefined ? implied(schema) : ([schema.type].flat() as string[])
  const texts = types.map((type) => {
    if (type === 'integer' || type === 'number') return number(schema, type)
    if (type === 'string') return string(schema)
    if (type === 'object') return object(schema, lookup, depth)
    if (type === 'array') return array(schema, lookup, depth)
    return type
  })
  return texts.length > 0 ? texts.join(' | ') : undefined
}

/** Without a `type`, the keywords tell what kind of value is meant. */
function implied(schema: { [key: string]: Json }): string[] {
  const has = (...keys: string[]): boolean => keys.some((key) => schema[key] !== undefined)
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number']
  if (has('minLength', 'maxLength', 'pattern', 'format')) return ['string']
  if (has('properties', 'required')) return ['object']
  return has('prefixItems', 'items') ? ['array'] : []
}

const bound = (schema: { [key: string]: Json }, key: string, sign: string): string =>
  typeof schema[key] === 'number' ? `${sign} ${schema[key]}` : ''
const joined = (first: string, parts: readonly string[]): string =>
  [first, parts.filter((part) => part).join(' and ')].filter((part) => part).join(' ')

function number(schema: { [key: string]: Json }, type: string): string {
  return joined(type, [
    bound(schema, 'minimum', '>='),
    bound(schema, 'exclusiveMinimum', '>'),
    bound(schema, 'maximum', '<='),
    bound(schema, 'exclusiveMaximum', '<'),
    bound(schema, 'multipleOf', 'a multiple of'),
  ])
}

const atLeast = (count: Json | undefined, noun: string): string =>
  typeof count === 'number' ? `with at least ${counted(count, noun)}` : ''
const atMost = (count: Json | undefined, noun: string): string =>
  typeof count === 'number' ? `with at most ${counted(count, noun)}` : ''

function string(schema: { [key: string]: Json }): string {
  const format = typeof schema.format === 'string' ? schema.format : ''
  const like = formats.get(format)?.like
  return joined('string', [
    like ? `in the format ${format} (such as ${like})` : '',
    typeof schema.pattern === 'string' ? `matching the pattern ${shortened(schema.pattern, 160)}` : '',
    atLeast(schema.minLength, 'character'),
    atMost(schema.maxLength, 'character'),
  ])
}

const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`

/** At the top `object` says enough (each missing key is told apart); inside a union the keys tell the branches apart. */
function object(schema: { [key: string]: Json }, lookup: Lookup, depth: number): string {
  const required = Array.isArray(schema.required) ? schema.required.filter((key) => typeof key === 'string') : []
  if (depth === 0 || required.length === 0) return 'object'
  const properties = isObject(schema.properties) ? schema.properties : {}
  const shown = required.slice(0, 5).map((key) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    const fixed = isObject(property) && (Object.hasOwn(property, 'const') || Array.isArray(property.enum))
    return fixed ? `${shortened(key, 40)}: ${accepted(property, lookup, depth + 1)}` : shortened(key, 40)
  })
  return `{${shown.join(', ')}${required.length > shown.length ? ', …' : ''}}`
}

function array(schema: { [key: string]: Json }, lookup: Lookup, depth: number): string {
  const items =
    schema.items === undefined || Array.isArray(schema.items) ? undefined : accepted(schema.items, lookup, depth + 1)
  return joined(items && items !== 'nothing' ? `array of ${items.includes(' | ') ? `(${items})` : items}` : 'array', [
    atLeast(schema.minItems, 'item'),
    atMost(schema.maxItems, 'item'),
  ])
}
