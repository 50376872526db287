// OpenAI's strict mode in both directions: converts a schema to the subset that the API enforces, and removes the nulls
// that the model must then send, because the tool's own schema does not allow them.

import type { Json, JsonSchema } from '../../index.ts'

const formats = new Set<Json>(['date-time', 'date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'])
const strictKeywords = new Set(
  `type properties required additionalProperties items enum const anyOf oneOf $ref $defs description format pattern minimum maximum
  exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems minLength maxLength`.split(/\s+/),
)
/** Annotations without effect on validation; they are left out. */
const ignorableKeywords = new Set([
  'title',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  '$schema',
])

class NotStrict extends Error {}

/** The strict form: closed objects, all keys required, optional keys nullable. Undefined if the schema has none. */
export function strictForm(schema: JsonSchema): JsonSchema | undefined {
  if (schema.anyOf !== undefined || schema.oneOf !== undefined) return undefined
  try {
    return strictNode(schema) as JsonSchema
  } catch (error) {
    if (error instanceof NotStrict) return undefined
    throw error
  }
}

function strictNode(node: Json): Json {
  if (!isSchema(node)) throw new NotStrict()
  const strict: JsonSchema = {}
  for (const [key, value] of Object.entries(node)) {
    if (ignorableKeywords.has(key) || (key === 'format' && !formats.has(value))) continue
    if (!strictKeywords.has(key)) throw new NotStrict()
    if (key === 'items') strict.items = strictNode(value)
    else if (key === '$defs' && isSchema(value)) strict.$defs = mapEntries(value, (_, inner) => strictNode(inner))
    else if (key === 'anyOf' || key === 'oneOf')
      strict.anyOf = [...((strict.anyOf as Json[]) ?? []), ...(value as Json[]).map(strictNode)]
    else if (key !== 'properties' && key !== 'required' && key !== 'additionalProperties') strict[key] = value
  }
  const { properties, additionalProperties, type } = node
  if (!['type', 'anyOf', '$ref', 'enum', 'const'].some((key) => key in strict)) throw new NotStrict() // any value
  if (type !== 'object' && !isSchema(properties)) return strict
  // An open object, or one whose other keys have a schema, has no strict form.
  if (!isSchema(properties) || (additionalProperties !== undefined && additionalProperties !== false))
    throw new NotStrict()
  const required = new Set(node.required as string[] | undefined)
  strict.properties = mapEntries(properties, (key, inner) =>
    required.has(key) ? strictNode(inner) : nullable(strictNode(inner) as JsonSchema),
  )
  return { ...strict, required: Object.keys(properties), additionalProperties: false }
}

function nullable(schema: JsonSchema): JsonSchema {
  if (acceptsNull(schema)) return schema
  const { type } = schema
  if (schema.anyOf === undefined && schema.enum === undefined && schema.const === undefined && type !== undefined) {
    return { ...schema, type: [...(Array.isArray(type) ? type : [type]), 'null'] }
  }
  const { description, ...rest } = schema
  return {
    ...(description === undefined ? {} : { description }),
    anyOf: [...(Object.keys(rest).length === 1 && Array.isArray(rest.anyOf) ? rest.anyOf : [rest]), { type: 'null' }],
  }
}

const isSchema = (node: Json | undefined): node is JsonSchema =>
  typeof node === 'object' && node !== null && !Array.isArray(node)

function acceptsNull(schema: Json | undefined): boolean {
  if (!isSchema(schema)) return schema === true
  const { type, anyOf, oneOf, enum: choices } = schema
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) return true
  if (Array.isArray(choices) && choices.includes(null)) return true
  const branches = anyOf ?? oneOf
  return Array.isArray(branches)
    ? branches.some(acceptsNull)
    : Object.keys(schema).every((key) => ignorableKeywords.has(key) || key === 'description')
}

/** Removes the nulls of strict mode: a null at an optional key that cannot be null means that the key was left out. */
export function withoutNulls(schema: JsonSchema, value: Json): Json {
  return prune(schema, value)
  function prune(of: Json | undefined, given: Json): Json {
    if (typeof given !== 'object' || given === null) return given
    const subs = relatedSchemas(of, new Set())
    if (Array.isArray(given)) {
      const items = subs.find(({ items }) => items !== undefined)?.items
      return given.map((item) => prune(items, item))
    }
    const entries = Object.entries(given).filter(([key, inner]) => {
      const declaring =
        inner === null ? subs.filter(({ properties }) => isSchema(properties) && Object.hasOwn(properties, key)) : []
      return (
        declaring.length === 0 ||
        declaring.some((sub) => (sub.required as string[] | undefined)?.includes(key) || accepts(sub, key))
      )
    })
    return Object.fromEntries(
      entries.map(([key, inner]) => [
        key,
        prune(
          subs.map((sub) => propertyOf(sub, key)).find((found) => found !== undefined),
          inner,
        ),
      ]),
    )
  }
  function accepts(sub: JsonSchema, key: string): boolean {
    return relatedSchemas(propertyOf(sub, key), new Set()).some(acceptsNull)
  }
  /** All schemas that apply to one value: the given schema, its references and its branches. */
  function relatedSchemas(of: Json | undefined, seen: Set<Json>): JsonSchema[] {
    if (!isSchema(of) || seen.has(of)) return []
    seen.add(of)
    const referenced =
      typeof of.$ref === 'string' ? [of.$ref.split('/').slice(1).reduce<Json | undefined>(step, schema)] : []
    const branches = [of.anyOf, of.oneOf, of.allOf].flatMap((branch) => (Array.isArray(branch) ? branch : []))
    return [of, ...[...referenced, ...branches].flatMap((inner) => relatedSchemas(inner, seen))]
  }
  function step(at: Json | undefined, part: string): Json | undefined {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    return isSchema(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
}

const propertyOf = (of: JsonSchema, key: string): Json | undefined =>
  isSchema(of.properties) && Object.hasOwn(of.properties, key) ? of.properties[key] : undefined

/** fromEntries defines keys, so `__proto__` stays an ordinary key. */
const mapEntries = (of: JsonSchema, change: (key: string, value: Json) => Json): JsonSchema =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(key, value)]))
