// A tool's schema, compiled once: what the model is shown and what decides whether arguments may reach the body.
//
// Two kinds come in. A Standard Schema (zod, valibot, arktype) validates itself. A plain JSON Schema may come from a
// stranger (an MCP server, an HTTP caller), so it is attacker input: it is interpreted, never compiled to code, its
// `pattern`s run on a linear-time engine, nothing is fetched, and its size and depth are bounded (docs/decisions/0007).

import { Validator, format, type Schema } from '@cfworker/json-schema'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { RE2JS } from 're2js'
import { PawlError } from '../kernel/errors.ts'
import type { Json } from '../kernel/value.ts'

export type JsonSchema = { [key: string]: Json }
export type AnySchema = StandardSchemaV1<unknown, unknown> | JsonSchema

export interface Problem {
  /** Where: `` for the whole, `items[2].sku` inside. */
  readonly path: string
  readonly message: string
}

export type Checked = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: readonly Problem[] }

export interface CompiledSchema {
  /** What the model sees. */
  readonly json: JsonSchema
  check(value: Json): Checked | Promise<Checked>
}

export function compileSchema(schema: AnySchema, what: string): CompiledSchema {
  if (isStandard(schema)) return compileStandard(schema, what)
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return compileJson(schema, what)
  return refuse(what, 'it is neither a Standard Schema nor a JSON Schema object')
}

const isStandard = (schema: unknown): schema is StandardSchemaV1 =>
  (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema

function refuse(what: string, why: string, cause?: unknown): never {
  throw new PawlError('tool_invalid', `${what}: ${why}.`, { cause })
}

function compileStandard(schema: StandardSchemaV1, what: string): CompiledSchema {
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (!standard.jsonSchema) {
    refuse(
      what,
      `this ${standard.vendor} schema cannot describe itself as JSON Schema${standard.vendor === 'valibot' ? "; wrap it with toStandardJsonSchema() from '@valibot/to-json-schema'" : ''}`,
    )
  }
  let json: JsonSchema
  try {
    json = standard.jsonSchema.input({ target: 'draft-2020-12' }) as JsonSchema
  } catch (cause) {
    refuse(what, `a part of it has no JSON Schema form (${(cause as Error).message})`, cause)
  }
  const finish = (result: StandardSchemaV1.Result<unknown>): Checked =>
    result.issues
      ? { ok: false, problems: result.issues.map((issue) => ({ path: pathOf(issue.path ?? []), message: issue.message })) }
      : { ok: true, value: result.value }
  return {
    json,
    check(value) {
      const result = standard.validate(value)
      return result instanceof Promise ? result.then(finish) : finish(result)
    },
  }
}

function pathOf(path: readonly (PropertyKey | StandardSchemaV1.PathSegment)[]): string {
  let text = ''
  for (const segment of path) {
    const key = typeof segment === 'object' ? segment.key : segment
    text += typeof key === 'number' ? `[${key}]` : text ? `.${String(key)}` : String(key)
  }
  return text
}

const maxSchemaBytes = 256 * 1024
const maxSchemaDepth = 64

function compileJson(schema: JsonSchema, what: string): CompiledSchema {
  let text: string
  try {
    text = JSON.stringify(schema)
  } catch (cause) {
    refuse(what, 'it is not JSON', cause)
  }
  if (text.length > maxSchemaBytes) refuse(what, `it is larger than ${maxSchemaBytes} bytes`)
  const own = JSON.parse(text) as JsonSchema
  const guarded = guard(own, what, 0) as Schema
  const draft = typeof own.$schema === 'string' && own.$schema.includes('draft-07') ? '7' : '2020-12'
  const validator = new Validator(guarded, draft, false)
  try {
    validator.validate({}) // surfaces unresolvable $refs now, not at the first call
  } catch (cause) {
    refuse(what, `it cannot be used (${(cause as Error).message.split('\n')[0]})`, cause)
  }
  return {
    json: own,
    check(value) {
      const result = validator.validate(value)
      if (result.valid) return { ok: true, value }
      return { ok: false, problems: innermost(result.errors) }
    },
  }
}

/** The interpreter reports every level on the way to a fault; only the deepest ones help. */
function innermost(errors: readonly { instanceLocation: string; keyword: string; error: string }[]): Problem[] {
  const wrappers = new Set(['properties', 'items', 'allOf', 'anyOf', 'oneOf', '$ref', 'prefixItems', 'additionalProperties'])
  const kept = errors.filter((error) => !wrappers.has(error.keyword))
  const chosen = kept.length > 0 ? kept : errors
  return chosen.map((error) => ({ path: pointerPath(error.instanceLocation), message: error.error }))
}

const pointerPath = (pointer: string): string =>
  pathOf(
    pointer
      .split('/')
      .slice(1)
      .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
  )

const schemaMaps = new Set(['properties', '$defs', 'definitions', 'dependentSchemas', 'patternProperties'])
const dataKeywords = new Set(['enum', 'const', 'default', 'examples'])

/** A copy in which nothing can hang or reach out: patterns on the linear engine, local references only, bounded depth. */
function guard(node: Json, what: string, depth: number, inMap = false): Json {
  if (typeof node !== 'object' || node === null) return node
  if (depth > maxSchemaDepth) refuse(what, `it is nested deeper than ${maxSchemaDepth} levels`)
  if (Array.isArray(node)) return node.map((item) => guard(item, what, depth + 1))
  const copy: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(node)) {
    if (!inMap && (key === '$ref' || key === '$dynamicRef') && typeof value === 'string' && !value.startsWith('#')) {
      refuse(what, `$ref ${JSON.stringify(value)} points outside the schema`)
    }
    if (!inMap && key === 'pattern' && typeof value === 'string') {
      const existing = Array.isArray(copy.allOf) ? copy.allOf : []
      copy.allOf = [...existing, { format: linearPattern(value, what) }]
      continue
    }
    const inner = !inMap && dataKeywords.has(key) ? value : guard(value, what, depth + 1, !inMap && schemaMaps.has(key))
    if (!inMap && key === 'allOf' && Array.isArray(copy.allOf)) copy.allOf = [...copy.allOf, ...(inner as Json[])]
    else Object.defineProperty(copy, key, { value: inner, enumerable: true, configurable: true, writable: true })
  }
  return copy
}

/** The interpreter has no hook for patterns but an open table of formats: each pattern becomes a format of its own. */
function linearPattern(pattern: string, what: string): string {
  const name = `re2:${pattern}`
  if (!format[name]) {
    let engine: RE2JS
    try {
      engine = RE2JS.compile(RE2JS.translateRegExp(pattern))
    } catch (cause) {
      refuse(what, `the pattern ${JSON.stringify(pattern)} cannot run in linear time (no look-around, no back-references)`, cause)
    }
    format[name] = (text) => engine.matcher(text).find()
  }
  return name
}
