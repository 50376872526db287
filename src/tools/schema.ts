// Compiles the schema of a tool once: the JSON Schema that the model sees and the check that arguments must pass.
//
// A Standard Schema (zod, valibot, arktype) is the host's own code and validates itself. A plain JSON Schema may be
// untrusted (from an MCP server or an HTTP caller): json-schema/ interprets it. See docs/decisions/0007.

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { PawlError } from '../core/errors.ts'
import type { Json } from '../core/tool-value.ts'
import { compileJsonSchema } from './json-schema/compile.ts'
import { type CheckResult, type JsonSchema, pathText, type Problem, describeReceived } from './validation-problem.ts'

export type { CheckResult, JsonSchema, Problem } from './validation-problem.ts'
/** A schema: Standard Schema (zod, valibot, arktype) or plain JSON Schema. */
export type AnySchema = StandardSchemaV1<unknown, unknown> | JsonSchema

declare const typed: unique symbol
/** A plain JSON Schema with the type of the values it accepts. */
export type TypedSchema<T> = JsonSchema & { readonly [typed]: T }

/** Gives a plain JSON Schema a type: `jsonSchema<{ path: string }>({ … })`. */
export const jsonSchema = <T>(schema: JsonSchema): TypedSchema<T> => schema as TypedSchema<T>

/** Whether some object can match. A reference counts as yes: only what is certain is refused. */
export function acceptsObjects(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return schema !== false
  const { type, const: only, enum: values, anyOf, oneOf, allOf } = schema as Record<string, unknown>
  if (type !== undefined && ![type].flat().includes('object')) return false
  if (only !== undefined && !isPlainObject(only)) return false
  if (Array.isArray(values) && !values.some(isPlainObject)) return false
  if ([anyOf, oneOf].some((branches) => Array.isArray(branches) && !branches.some(acceptsObjects))) return false
  return !Array.isArray(allOf) || allOf.every(acceptsObjects)
}

const isPlainObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

export interface CompiledSchema {
  /** The schema that the model sees. */
  readonly json: JsonSchema
  /** The JSON Schema of the output; undefined if it has none, such as that of a transform. Absent: like the input. */
  outputJson?(): JsonSchema | undefined
  /**
   * Patterns that cannot be enforced, such as one with look-around. The registry refuses a tool of the host that has
   * one; a tool of a provider is used, and its operator warned.
   */
  readonly warnings: readonly string[]
  /** Throws only if a Standard Schema's own code throws, which is an error of the tool and not of the model. */
  check(value: Json): CheckResult | Promise<CheckResult>
}

export function compileSchema(schema: AnySchema, label: string): CompiledSchema {
  if (isStandard(schema)) return compileStandard(schema, label)
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return compileJsonSchema(schema, label)
  return refuse(label, 'it is neither a Standard Schema nor a JSON Schema object')
}

const isStandard = (schema: unknown): schema is StandardSchemaV1 =>
  (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema

function refuse(label: string, reason: string, cause?: unknown): never {
  throw new PawlError('tool_invalid', `${label}: ${reason}.`, { cause })
}

function compileStandard(schema: StandardSchemaV1, label: string): CompiledSchema {
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (!standard.jsonSchema) {
    refuse(
      label,
      `this ${standard.vendor} schema cannot describe itself as JSON Schema${standard.vendor === 'valibot' ? "; wrap it with toStandardJsonSchema() from '@valibot/to-json-schema'" : ''}`,
    )
  }
  const target = { target: 'draft-2020-12' } as const
  const forms = standard.jsonSchema
  let json: JsonSchema
  try {
    json = forms.input(target) as JsonSchema
  } catch (cause) {
    refuse(label, `a part of it has no JSON Schema form (${(cause as Error).message})`, cause)
  }
  return {
    json,
    outputJson() {
      try {
        return forms.output(target) as JsonSchema
      } catch {
        return undefined
      }
    },
    warnings: [],
    check(value) {
      const finish = (result: StandardSchemaV1.Result<unknown>): CheckResult =>
        result.issues
          ? { ok: false, problems: result.issues.map((issue) => problemOf(issue, value)) }
          : { ok: true, value: result.value }
      const result = standard.validate(value)
      // Any thenable counts as a promise: mistaken for a result, it would have no issues and pass as valid.
      return 'then' in result ? Promise.resolve(result).then(finish) : finish(result)
    },
  }
}

/** Some vendors include the received value ("was a string", "received string"); for the others it is added. */
const mentionsReceived = /\b(?:received|got|was|were)\b/i

function problemOf(issue: StandardSchemaV1.Issue, value: Json): Problem {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === 'object' ? segment.key : segment))
  const path = pathText(keys.map((key) => (typeof key === 'symbol' ? String(key) : key)))
  if (mentionsReceived.test(issue.message)) return { path, message: issue.message }
  let receivedValue: unknown = value
  for (const key of keys) {
    // An issue may name a missing key, or a key inside a value that the schema created: then nothing was received
    // there.
    receivedValue =
      typeof receivedValue === 'object' && receivedValue !== null && Object.hasOwn(receivedValue, key)
        ? (receivedValue as Record<PropertyKey, unknown>)[key]
        : undefined
  }
  return {
    path,
    message: `${issue.message} (got ${receivedValue === undefined ? 'nothing' : describeReceived(receivedValue)})`,
  }
}
