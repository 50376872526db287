// A tool's schema, compiled once: what the model is shown and what decides whether arguments may reach the body.
//
// Two kinds come in. A Standard Schema (zod, valibot, arktype) is the host's own code and validates itself. A plain JSON
// Schema may come from a stranger (an MCP server, an HTTP caller): json-schema/ interprets it (docs/decisions/0007).

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { PawlError } from '../core/errors.ts'
import type { Json } from '../core/value.ts'
import { compileJsonSchema } from './json-schema/compile.ts'
import { type Checked, type JsonSchema, pathText, type Problem, received } from './validation-problem.ts'

export type { Checked, JsonSchema, Problem } from './validation-problem.ts'
export type AnySchema = StandardSchemaV1<unknown, unknown> | JsonSchema

declare const typed: unique symbol
/** A plain JSON Schema, and the type of what passes it. */
export type TypedSchema<T> = JsonSchema & { readonly [typed]: T }

/** Says what a plain JSON Schema lets through, where there is no library that would know: `jsonSchema<{ path: string }>({ … })`. */
export const jsonSchema = <T>(schema: JsonSchema): TypedSchema<T> => schema as TypedSchema<T>

export interface CompiledSchema {
  /** What the model sees. */
  readonly json: JsonSchema
  /** What of it is shown but cannot be enforced, such as a pattern with look-around: for the operator to read. */
  readonly warnings: readonly string[]
  /** Throws only if a Standard Schema's own code throws: that is the tool's fault, not the model's. */
  check(value: Json): Checked | Promise<Checked>
}

export function compileSchema(schema: AnySchema, what: string): CompiledSchema {
  if (isStandard(schema)) return compileStandard(schema, what)
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return compileJsonSchema(schema, what)
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
  return {
    json,
    warnings: [],
    check(value) {
      const finish = (result: StandardSchemaV1.Result<unknown>): Checked =>
        result.issues
          ? { ok: false, problems: result.issues.map((issue) => problemOf(issue, value)) }
          : { ok: true, value: result.value }
      const result = standard.validate(value)
      // A promise of any make: taken for a result it would say that everything is valid.
      return 'then' in result ? Promise.resolve(result).then(finish) : finish(result)
    },
  }
}

/** Some vendors say what came ("was a string", "received string"), the others leave the model guessing. */
const saysWhatCame = /\b(?:received|got|was|were)\b/i

function problemOf(issue: StandardSchemaV1.Issue, value: Json): Problem {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === 'object' ? segment.key : segment))
  const path = pathText(keys.map((key) => (typeof key === 'symbol' ? String(key) : key)))
  if (saysWhatCame.test(issue.message)) return { path, message: issue.message }
  let came: unknown = value
  for (const key of keys) {
    // An issue may name a key that is missing, or one inside something the schema has made: then nothing came there.
    came =
      typeof came === 'object' && came !== null && Object.hasOwn(came, key)
        ? (came as Record<PropertyKey, unknown>)[key]
        : undefined
  }
  return { path, message: `${issue.message} (got ${came === undefined ? 'nothing' : received(came)})` }
}
