// Arguments as people and models may see them: what the input schema says is written and never read (`writeOnly: true`) is hidden, also where they are those
// of a tool that is to be started. What runs stays as it is.

import { spawnName } from '../core/task-state.ts'
import { encode, type Json } from '../core/value.ts'
import { linearEngine } from './re2.ts'
import { pathText, type Problem } from './validation-problem.ts'
import type { JsonSchema } from './schema.ts'
import type { Tool } from './tool.ts'
import type { Toolset } from './toolset.ts'

export const hiddenWord = '[hidden]'

type Hiding = Pick<Tool, 'name' | 'input'>
/** Those among which the tool is that another one starts; asked for only where one does. */
type Among = () => Pick<Toolset, 'get' | 'entries'>
type Path = readonly (string | number)[]
/** What stands in place of a value that is hidden. */
type Hide = (value: Json, path: Path) => Json

const known = new WeakMap<JsonSchema, boolean>()

function hidesIn({ input: { json } }: Hiding): boolean {
  const before = known.get(json)
  if (before !== undefined) return before
  const found = speaksOfHidden(json)
  known.set(json, found)
  return found
}

const speaksOfHidden = (schema: unknown): boolean => (JSON.stringify(schema) ?? '').includes('"writeOnly":true')

/** Whether anything of its arguments may be hidden. */
export const hides = (tool: Hiding, among?: Among): boolean =>
  hidesIn(tool) ||
  (tool.name === spawnName && (among?.().entries.some((each) => each.tool && hidesIn(each.tool)) ?? false))

export const shownArgs = (tool: Hiding, args: Json, among?: Among, word: string = hiddenWord): Json =>
  eachHidden(tool, args, among, () => word)

/** Of their recorded form. */
export function shownText(
  tool: Hiding,
  { text, args }: { readonly text: string; readonly args: Json },
  among?: Among,
): string {
  const clean = shownArgs(tool, args, among)
  return clean === args ? text : encode(clean)
}

/** Whoever copies what was shown has not the value: it is not run as if it were one. */
export function copiedHidden(tool: Hiding, args: Json, among?: Among): Problem[] {
  const found: Problem[] = []
  eachHidden(tool, args, among, (value, path) => {
    if (value === hiddenWord)
      found.push({
        path: pathText(path),
        message: `${hiddenWord} stands for a value that is not shown; give the value itself`,
      })
    return value
  })
  return found
}

/** What is wrong with arguments, without what came: what nobody may read is not repeated. */
export const untoldProblem = ({ path, message }: Problem): Problem => ({
  path,
  message: message.replace(/ \(got [^]*\)$/, ''),
})

function eachHidden(tool: Hiding, args: Json, among: Among | undefined, hide: Hide, path: Path = []): Json {
  const { json } = tool.input
  const own = hidesIn(tool) ? shown({ root: json, hide }, json, args, path) : args
  if (tool.name !== spawnName || !isObject(own) || typeof own.tool !== 'string' || !Object.hasOwn(own, 'args'))
    return own
  const target = among?.().get(own.tool.trim())
  if (!target || target.name === spawnName) return own
  const inner = eachHidden(target, own.args as Json, among, hide, [...path, 'args'])
  return inner === own.args ? own : { ...own, args: inner }
}

interface Looking {
  readonly root: unknown
  readonly hide: Hide
}

const sameValue = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas', 'dependencies'] as const

/** Looks wherever a schema may speak of the value, at each part of it once: one may refer to itself. */
function shown(looking: Looking, schema: unknown, value: Json, path: Path, seen = new Set<unknown>()): Json {
  if (!isObject(schema) || seen.has(schema)) return value
  if (schema.writeOnly === true) return looking.hide(value, path)
  seen.add(schema)
  // What is meant to be more than a text may be written as one: then it is all of it.
  if (typeof value === 'string' && /^\s*[[{"]/.test(value) && speaksOfHidden(schema)) return looking.hide(value, path)
  let next = value
  for (const word of ['$ref', '$dynamicRef'])
    if (typeof schema[word] === 'string') {
      const target = referred(looking.root, schema[word])
      next = target === undefined ? looking.hide(next, path) : shown(looking, target, next, path, seen)
    }
  for (const word of sameValue) for (const each of within(schema[word])) next = shown(looking, each, next, path, seen)
  if (Array.isArray(next)) return items(looking, schema, next, path)
  return isObject(next) ? properties(looking, schema, next, path) : next
}

function items(looking: Looking, schema: Schema, value: readonly Json[], path: Path): Json {
  const first = Array.isArray(schema.items) ? (schema.items as unknown[]) : listOf(schema.prefixItems)
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  const all = value.map((item, index) =>
    [first[index] ?? rest, schema.contains, schema.unevaluatedItems].reduce<Json>(
      (next, each) => shown(looking, each, next, [...path, index]),
      item,
    ),
  )
  return all.some((item, index) => item !== value[index]) ? all : (value as Json)
}

function properties(looking: Looking, schema: Schema, value: { readonly [key: string]: Json }, path: Path): Json {
  const named = isObject(schema.properties) ? schema.properties : {}
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {})
  const changed = Object.entries(value).flatMap(([key, inner]) => {
    const own = Object.hasOwn(named, key) ? [named[key]] : []
    const some = [...own, ...patterns.filter(([pattern]) => matches(pattern, key)).map(([, each]) => each)]
    const about = some.length > 0 ? some : [schema.additionalProperties, schema.unevaluatedProperties]
    const next = about.reduce<Json>((now, each) => shown(looking, each, now, [...path, key]), inner)
    return next === inner ? [] : [[key, next] as const]
  })
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}

/** In linear time, as a stranger may have written it; one that this cannot read may mean any. */
function matches(pattern: string, key: string): boolean {
  try {
    const linear = linearEngine()
    return linear.compile(linear.translateRegExp(pattern)).test(key)
  } catch {
    return true
  }
}

/** Of the schema itself: others are refused when the tool is defined. Undefined where it is named in a way that is not followed here. */
function referred(root: unknown, ref: string): unknown {
  if (ref === '#') return root
  const names = ref.startsWith('#/') ? ref.slice(2).split('/') : ['']
  return names.reduce<unknown>((here, name) => {
    const key = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
    return (isObject(here) || Array.isArray(here)) && Object.hasOwn(here, key) ? (here as Schema)[key] : undefined
  }, root)
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])
/** One schema, a list of them, or some by name. */
const within = (value: unknown): readonly unknown[] =>
  isObject(value) ? [value, ...Object.values(value)] : listOf(value)
type Schema = { readonly [key: string]: unknown }
const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
