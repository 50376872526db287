// Copies an untrusted JSON Schema with size limits and checks the form of each keyword. After that the schema cannot
// change or be too large, and no keyword has an unexpected type.

import { isObject } from './validation-state.ts'
import { PawlError } from '../../core/errors.ts'
import type { Json } from '../../core/tool-value.ts'
import { type JsonSchema, describeReceived } from '../validation-problem.ts'

export const maxSchemaBytes = 256 * 1024
export const maxSchemaDepth = 64
export const maxSchemaNodes = 3000
/** Every JSON value takes at least two bytes. Stops a host object that doubles at each level. */
const maxValues = maxSchemaBytes / 2

/** `unstated`: no `$schema`; 2020-12 plus older forms that are still common. */
export type Draft = '7' | '2020-12' | 'unstated'

/** `place` is a JSON pointer into the schema. */
export type Refuse = (place: string, why: string, cause?: unknown) => never

export function refuserFor(label: string): Refuse {
  return (place, why, cause) => {
    throw new PawlError('tool_invalid', `${label}: ${place ? `at ${place.slice(0, 200)}: ` : ''}${why}.`, { cause })
  }
}

/** A private copy of the schema as plain JSON. */
export function copySchema(schema: JsonSchema, refuse: Refuse): JsonSchema {
  let values = 0
  const copy = (source: unknown, place: string, depth: number): Json | undefined => {
    values += 1
    if (values > maxValues) refuse('', `it is larger than ${maxSchemaBytes} bytes`)
    if (depth > maxSchemaDepth) refuse('', `it is nested deeper than ${maxSchemaDepth} levels`)
    const toJson = typeof source === 'object' && source !== null ? (source as { toJSON?: unknown }).toJSON : undefined
    const value: unknown = typeof toJson === 'function' ? toJson.call(source, '') : source
    if (value === undefined) return undefined
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number' && Number.isFinite(value)) return value
    if (typeof value !== 'object')
      return refuse(place, `${typeof value === 'number' ? String(value) : `a ${typeof value}`} is not JSON`)
    if (Array.isArray(value)) return value.map((item, index) => copy(item, `${place}/${index}`, depth + 1) ?? null)
    const entries: { [key: string]: Json } = {}
    for (const key of Object.keys(value)) {
      const inner = copy((value as Record<string, unknown>)[key], `${place}/${escapePointer(key)}`, depth + 1)
      if (inner !== undefined)
        Object.defineProperty(entries, key, { value: inner, enumerable: true, configurable: true, writable: true })
    }
    return entries
  }
  let copied: Json | undefined
  try {
    copied = copy(schema, '', 0)
  } catch (cause) {
    if (cause instanceof PawlError) throw cause
    refuse('', 'it cannot be read as JSON', cause)
  }
  if (Buffer.byteLength(JSON.stringify(copied)) > maxSchemaBytes)
    refuse('', `it is larger than ${maxSchemaBytes} bytes`)
  return copied as JsonSchema
}

export const escapePointer = (key: string): string => key.slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1')

/** `$schema` decides; older drafts are read as draft-07. */
export function draftOf(schema: JsonSchema): Draft {
  if (typeof schema.$schema !== 'string') return 'unstated'
  if (/draft-0[3-7]/.test(schema.$schema)) return '7'
  return schema.$schema.includes('2020-12') ? '2020-12' : 'unstated'
}

type Form =
  | 'schema'
  | 'schemas'
  | 'schema map'
  | 'items'
  | 'dependencies'
  | 'count'
  | 'number'
  | 'positive'
  | 'text'
  | 'flag'
  | 'names'
  | 'names map'
  | 'type'
  | 'list'

const commonForms: readonly (readonly [Form, readonly string[]])[] = [
  ['schema', ['additionalProperties', 'additionalItems', 'contains', 'propertyNames', 'not', 'if', 'then', 'else']],
  ['schemas', ['allOf', 'anyOf', 'oneOf']],
  ['schema map', ['properties', 'patternProperties', 'definitions', '$defs']],
  ['items', ['items']],
  ['dependencies', ['dependencies']],
  ['count', ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']],
  ['positive', ['multipleOf']],
  ['text', ['pattern', 'format', '$ref', '$id', '$schema']],
  ['flag', ['uniqueItems']],
  ['names', ['required']],
  ['type', ['type']],
  ['list', ['enum']],
]

/** Not keywords in draft-07, where they are ignored. */
const newerForms: readonly (readonly [Form, readonly string[]])[] = [
  ['schema', ['unevaluatedItems', 'unevaluatedProperties']],
  ['schemas', ['prefixItems']],
  ['schema map', ['dependentSchemas']],
  ['count', ['minContains', 'maxContains']],
  ['text', ['$anchor', '$dynamicRef', '$dynamicAnchor']],
  ['names map', ['dependentRequired']],
]

const formsOf = (table: typeof commonForms): [string, Form][] =>
  table.flatMap(([form, keys]) => keys.map((key): [string, Form] => [key, form]))
const forms: Readonly<Record<Draft, ReadonlyMap<string, Form>>> = {
  '7': new Map(formsOf(commonForms)),
  '2020-12': new Map(formsOf([...commonForms, ...newerForms])),
  unstated: new Map(formsOf([...commonForms, ...newerForms])),
}

/** Whether the value of a keyword is a schema or a list of them, schemas or lists of names by name, or no schema. */
export function contentOf(keyword: string): 'schemas' | 'schemas by name' | 'data' {
  const form = forms.unstated.get(keyword)
  if (form === 'schema' || form === 'schemas' || form === 'items') return 'schemas'
  return form === 'schema map' || form === 'dependencies' || form === 'names map' ? 'schemas by name' : 'data'
}

const typeNames = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'])
const isSchema = (value: Json): boolean => typeof value === 'boolean' || isObject(value)
const isNames = (value: Json): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string')
const aSchema = 'a schema (an object or a boolean)'

/** Description and test of each form. */
const rules: Readonly<Record<Form, readonly [takes: string, test: (value: Json) => boolean]>> = {
  schema: [aSchema, isSchema],
  schemas: [
    'a list of at least one schema',
    (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  ],
  'schema map': ['an object of schemas', (value) => isObject(value) && Object.values(value).every(isSchema)],
  items: [
    `${aSchema}, or a list of schemas before 2020-12`,
    (value) => isSchema(value) || (Array.isArray(value) && value.every(isSchema)),
  ],
  dependencies: [
    'an object of schemas or lists of names',
    (value) => isObject(value) && Object.values(value).every((item) => isSchema(item) || isNames(item)),
  ],
  count: ['a whole number, 0 or more', (value) => Number.isInteger(value) && (value as number) >= 0],
  number: ['a number', (value) => typeof value === 'number'],
  positive: ['a number above 0', (value) => typeof value === 'number' && value > 0],
  text: ['a string', (value) => typeof value === 'string'],
  flag: ['true or false', (value) => typeof value === 'boolean'],
  names: ['a list of property names', isNames],
  'names map': [
    'an object of lists of property names',
    (value) => isObject(value) && Object.values(value).every(isNames),
  ],
  type: [
    `one of ${[...typeNames].join(', ')}, or a list of these`,
    (value) =>
      [value].flat().every((name) => typeof name === 'string' && typeNames.has(name)) && [value].flat().length > 0,
  ],
  list: ['a list of values', (value) => Array.isArray(value)],
}

/** Refuses a schema object with a malformed keyword. Returns its direct subschemas with their JSON pointers. */
export function subschemasOf(schema: JsonSchema, place: string, draft: Draft, refuse: Refuse): [Json, string][] {
  const found: [Json, string][] = []
  for (const [key, value] of Object.entries(schema)) {
    const form = forms[draft].get(key)
    if (!form) continue
    const here = `${place}/${escapePointer(key)}`
    const [takes, test] = rules[form]
    const tuple = form === 'items' && Array.isArray(value)
    if (!test(value) || (tuple && draft === '2020-12')) {
      refuse(here, `'${key}' must be ${takes}, not ${describeReceived(value)}`)
    }
    if (form === 'schema' || (form === 'items' && !tuple)) found.push([value, here])
    else if (form === 'schemas' || tuple)
      (value as Json[]).forEach((item, index) => found.push([item, `${here}/${index}`]))
    else if (form === 'schema map' || form === 'dependencies') {
      for (const [name, item] of Object.entries(value as JsonSchema))
        if (!Array.isArray(item)) found.push([item, `${here}/${escapePointer(name)}`])
    }
  }
  return found
}
