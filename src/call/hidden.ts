// Arguments as people and models may see them: what the input schema says is written and never read (`writeOnly: true`) is hidden. What runs stays as it is.

import { encode, type Json } from '../kernel/value.ts'
import type { JsonSchema } from '../tool/schema.ts'
import type { Tool } from '../tool/tool.ts'

const hiddenWord = '[hidden]'

const known = new WeakMap<JsonSchema, boolean>()

/** Whether anything of its arguments is hidden. */
export function hides({ input: { json } }: Pick<Tool, 'input'>): boolean {
  const before = known.get(json)
  if (before !== undefined) return before
  const found = JSON.stringify(json).includes('"writeOnly":true')
  known.set(json, found)
  return found
}

export const shownArgs = ({ input }: Pick<Tool, 'input'>, args: Json): Json =>
  hides({ input }) ? shown(input.json, input.json, args) : args

/** Of their recorded form. */
export function shownText(tool: Pick<Tool, 'input'>, { text, args }: { readonly text: string; readonly args: Json }): string {
  const clean = shownArgs(tool, args)
  return clean === args ? text : encode(clean)
}

/** Looks wherever a schema may speak of the value, at each part of it once: one may refer to itself. */
function shown(root: unknown, schema: unknown, value: Json, seen = new Set<unknown>()): Json {
  if (!isObject(schema) || seen.has(schema)) return value
  if (schema.writeOnly === true) return hiddenWord
  seen.add(schema)
  let next = value
  if (typeof schema.$ref === 'string') next = shown(root, referred(root, schema.$ref), next, seen)
  for (const word of ['allOf', 'anyOf', 'oneOf']) for (const each of listOf(schema[word])) next = shown(root, each, next, seen)
  if (Array.isArray(next)) return items(root, schema, next)
  return isObject(next) ? properties(root, schema, next) : next
}

function items(root: unknown, schema: Schema, value: readonly Json[]): Json {
  const first = listOf(schema.prefixItems)
  const all = value.map((item, at) => shown(root, first[at] ?? schema.items, item))
  return all.some((item, at) => item !== value[at]) ? all : (value as Json)
}

function properties(root: unknown, schema: Schema, value: { readonly [key: string]: Json }): Json {
  const known = isObject(schema.properties) ? schema.properties : {}
  const changed = Object.entries(value).flatMap(([key, inner]) => {
    const next = shown(root, Object.hasOwn(known, key) ? known[key] : schema.additionalProperties, inner)
    return next === inner ? [] : [[key, next] as const]
  })
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}

/** Of the schema itself: others are refused when the tool is defined. */
function referred(root: unknown, ref: string): unknown {
  const names = ref.startsWith('#/') ? ref.slice(2).split('/') : []
  return names.reduce<unknown>((at, name) => {
    const key = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, root)
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
type Schema = { readonly [key: string]: unknown }
const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)
