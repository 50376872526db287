// Masks arguments for display to people and models: fields marked `writeOnly: true` in the input schema, including
// those in the arguments of a task to be started. The arguments that the body receives are not changed.

import { spawnName } from '../core/task-state.ts'
import { encode, type Json } from '../core/tool-value.ts'
import { compilePattern } from './patterns/compile-pattern.ts'
import { pathText, type Problem } from './validation-problem.ts'
import type { JsonSchema } from './schema.ts'
import type { Tool } from './tool.ts'
import type { Toolset } from './toolset.ts'

export const hiddenMark = '[hidden]'

type ToolInput = Pick<Tool, 'name' | 'input'>
/** The tools among which spawn_background finds the one to start. Called only for spawn_background. */
type ToolLookup = () => Pick<Toolset, 'get' | 'entries'>
type Path = readonly (string | number)[]
/** Returns the replacement for a hidden value. */
type Hide = (value: Json, path: Path) => Json

const hiddenFieldCache = new WeakMap<JsonSchema, boolean>()

function hasHiddenFields({ input: { json } }: ToolInput): boolean {
  const cached = hiddenFieldCache.get(json)
  if (cached !== undefined) return cached
  const found = mentionsWriteOnly(json)
  hiddenFieldCache.set(json, found)
  return found
}

const mentionsWriteOnly = (schema: unknown): boolean => (JSON.stringify(schema) ?? '').includes('"writeOnly":true')

/** Whether any field of the arguments may be hidden. */
export const mayHideFields = (tool: ToolInput, tools?: ToolLookup): boolean =>
  hasHiddenFields(tool) ||
  (tool.name === spawnName && (tools?.().entries.some((each) => each.tool && hasHiddenFields(each.tool)) ?? false))

export const maskArgs = (tool: ToolInput, args: Json, tools?: ToolLookup, mark: string = hiddenMark): Json =>
  mapHidden(tool, args, tools, () => mark)

/** The same for the recorded JSON text. */
export function maskArgsText(
  tool: ToolInput,
  { text, args }: { readonly text: string; readonly args: Json },
  tools?: ToolLookup,
): string {
  const masked = maskArgs(tool, args, tools)
  return masked === args ? text : encode(masked)
}

/**
 * Finds the mark in hidden fields: a model that copies masked arguments does not have the value, so the call must not
 * run.
 */
export function findCopiedMarks(tool: ToolInput, args: Json, tools?: ToolLookup): Problem[] {
  const found: Problem[] = []
  mapHidden(tool, args, tools, (value, path) => {
    if (value === hiddenMark)
      found.push({
        path: pathText(path),
        message: `${hiddenMark} stands for a value that is not shown; give the value itself`,
      })
    return value
  })
  return found
}

/** The problem without the received value, which may be secret. */
export const withoutReceived = ({ path, message }: Problem): Problem => ({
  path,
  message: message.replace(/ \(got [^]*\)$/, ''),
})

function mapHidden(tool: ToolInput, args: Json, tools: ToolLookup | undefined, hide: Hide, path: Path = []): Json {
  const { json } = tool.input
  const own = hasHiddenFields(tool) ? maskValue({ root: json, hide }, json, args, path) : args
  if (tool.name !== spawnName || !isObject(own) || typeof own.tool !== 'string' || !Object.hasOwn(own, 'args'))
    return own
  const target = tools?.().get(own.tool.trim())
  if (!target || target.name === spawnName) return own
  const inner = mapHidden(target, own.args as Json, tools, hide, [...path, 'args'])
  return inner === own.args ? own : { ...own, args: inner }
}

interface Masking {
  readonly root: unknown
  readonly hide: Hide
}

const inPlaceKeywords = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas', 'dependencies'] as const

/** Applies every subschema that describes the value, each once, because a schema may refer to itself. */
function maskValue(masking: Masking, schema: unknown, value: Json, path: Path, seen = new Set<unknown>()): Json {
  if (!isObject(schema) || seen.has(schema)) return value
  if (schema.writeOnly === true) return masking.hide(value, path)
  seen.add(schema)
  // A model may send an object as JSON text. Then the whole text is hidden.
  if (typeof value === 'string' && /^\s*[[{"]/.test(value) && mentionsWriteOnly(schema))
    return masking.hide(value, path)
  let masked = value
  for (const keyword of ['$ref', '$dynamicRef'])
    if (typeof schema[keyword] === 'string') {
      const target = resolveRef(masking.root, schema[keyword])
      masked = target === undefined ? masking.hide(masked, path) : maskValue(masking, target, masked, path, seen)
    }
  for (const keyword of inPlaceKeywords)
    for (const each of subschemasIn(schema[keyword])) masked = maskValue(masking, each, masked, path, seen)
  if (Array.isArray(masked)) return maskItems(masking, schema, masked, path)
  return isObject(masked) ? maskProperties(masking, schema, masked, path) : masked
}

function maskItems(masking: Masking, schema: Schema, value: readonly Json[], path: Path): Json {
  const first = Array.isArray(schema.items) ? (schema.items as unknown[]) : listOf(schema.prefixItems)
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  const all = value.map((item, index) =>
    [first[index] ?? rest, schema.contains, schema.unevaluatedItems].reduce<Json>(
      (next, each) => maskValue(masking, each, next, [...path, index]),
      item,
    ),
  )
  return all.some((item, index) => item !== value[index]) ? all : (value as Json)
}

function maskProperties(masking: Masking, schema: Schema, value: { readonly [key: string]: Json }, path: Path): Json {
  const named = isObject(schema.properties) ? schema.properties : {}
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {})
  const changed = Object.entries(value).flatMap(([key, inner]) => {
    const own = Object.hasOwn(named, key) ? [named[key]] : []
    const some = [...own, ...patterns.filter(([pattern]) => keyMatches(pattern, key)).map(([, each]) => each)]
    const about = some.length > 0 ? some : [schema.additionalProperties, schema.unevaluatedProperties]
    const next = about.reduce<Json>((now, each) => maskValue(masking, each, now, [...path, key]), inner)
    return next === inner ? [] : [[key, next] as const]
  })
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}

/** Runs in linear time, because the pattern may be untrusted. A pattern the engine cannot compile counts as a match. */
function keyMatches(pattern: string, key: string): boolean {
  const compiled = compilePattern(pattern)
  return 'engine' in compiled ? compiled.engine.test(key) : true
}

/** Resolves a local reference. Undefined for forms that are not followed here, such as anchors. */
function resolveRef(root: unknown, ref: string): unknown {
  if (ref === '#') return root
  const names = ref.startsWith('#/') ? ref.slice(2).split('/') : ['']
  return names.reduce<unknown>((node, name) => {
    const key = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
    return (isObject(node) || Array.isArray(node)) && Object.hasOwn(node, key) ? (node as Schema)[key] : undefined
  }, root)
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])
/** The subschemas of a keyword: one schema, a list, or a map by name. */
const subschemasIn = (value: unknown): readonly unknown[] =>
  isObject(value) ? [value, ...Object.values(value)] : listOf(value)
type Schema = { readonly [key: string]: unknown }
const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
