// The digest of an input schema, recorded with the arguments of a call. A recovery compares it with the digest of the
// current schema and validates the arguments again only if they differ (calls/admission/adapt-input.ts).

import { hash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { type Json, parseJson } from '../core/tool-value.ts'
import { contentOf } from './json-schema/check-schema.ts'
import type { CompiledSchema } from './schema.ts'

const digests = new WeakMap<CompiledSchema, string>()

/**
 * Covers the JSON Schema of the input and, where the schema can express it, of its output. It cannot cover code:
 * refinements and transforms. 96 bits are enough, because only accidental collisions matter.
 */
export function schemaDigest(schema: CompiledSchema): string {
  const known = digests.get(schema)
  if (known !== undefined) return known
  const forms = [schema.json, schema.outputJson?.() ?? null]
  const text = canonicalJson(withoutAnnotations(parseJson(JSON.stringify(forms)), false))
  const digest = hash('sha256', text, 'base64url').slice(0, 16)
  digests.set(schema, digest)
  return digest
}

/**
 * Keywords that do not decide which values are valid. `default` is one: a default that is computed (a time, a random
 * id) would give every process another digest, and a changed default does not concern arguments that are recorded.
 */
const annotations = new Set([
  'title',
  'description',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
])

/**
 * `byName`: the keys of the value are names, not keywords. The order of `required` has no meaning. A keyword that holds
 * no schema keeps its value: it is data, or an unknown keyword that a reference may point into (`#/components/…`).
 */
function withoutAnnotations(value: Json, byName: boolean): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each) => withoutAnnotations(each, false))
  const entries = Object.entries(value).flatMap(([key, part]): [string, Json][] => {
    if (byName) return [[key, withoutAnnotations(part, false)]]
    if (annotations.has(key)) return []
    if (key === 'required' && Array.isArray(part)) return [[key, part.map(String).toSorted()]]
    const content = contentOf(key)
    return [[key, content === 'data' ? part : withoutAnnotations(part, content === 'schemas by name')]]
  })
  return Object.fromEntries(entries)
}
