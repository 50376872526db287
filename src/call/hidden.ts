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

export const shownArgs = ({ input }: Pick<Tool, 'input'>, args: Json): Json => (hides({ input }) ? shown(input.json, args) : args)

/** Of their recorded form. */
export function shownText(tool: Pick<Tool, 'input'>, { text, args }: { readonly text: string; readonly args: Json }): string {
  const clean = shownArgs(tool, args)
  return clean === args ? text : encode(clean)
}

function shown(schema: unknown, value: Json): Json {
  if (!isObject(schema)) return value
  if (schema.writeOnly === true) return hiddenWord
  if (Array.isArray(value)) {
    const items = value.map((item) => shown(schema.items, item))
    return items.some((item, at) => item !== value[at]) ? items : value
  }
  const { properties } = schema
  if (!isObject(value) || !isObject(properties)) return value
  const changed = Object.entries(value).flatMap(([key, inner]) => {
    const next = Object.hasOwn(properties, key) ? shown(properties[key], inner) : inner
    return next === inner ? [] : [[key, next] as const]
  })
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
