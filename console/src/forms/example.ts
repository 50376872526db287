// Arguments that fit the schema of a tool, for the command of an empty screen. A schema may come from a hostile server.

import { isRecord } from './schema.ts'

const maxDepth = 4
const maxLength = 300

/** JSON in ASCII, so that no invisible character gets into a command that a person copies. `{}` if it is long. */
export function exampleText(schema: unknown): string {
  const text = JSON.stringify(exampleOf(schema, 0)).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return text.length > maxLength ? '{}' : text
}

/** The first value that the schema names, or a short one of its type. Of an object, only the required fields. */
function exampleOf(schema: unknown, depth: number): unknown {
  if (!isRecord(schema) || depth > maxDepth) return {}
  const { type, enum: choices, minimum, exclusiveMinimum } = schema
  if (Array.isArray(choices) && choices.length > 0) return choices[0]
  if (schema.const !== undefined) return schema.const
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return 'A1'
    case 'integer':
    case 'number':
      return typeof minimum === 'number' ? minimum : typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : 1
    case 'boolean':
      return true
    case 'array':
      return []
    case 'null':
      return null
    default:
      return exampleObject(schema, depth)
  }
}

function exampleObject({ required, properties }: Readonly<Record<string, unknown>>, depth: number): unknown {
  const fields = isRecord(properties) ? properties : {}
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  return Object.fromEntries(names.map((name) => [name, exampleOf(fields[name], depth + 1)]))
}
