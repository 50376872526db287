// How the tools of the box describe what they take and give: plain JSON Schema, closed, with a sentence for every field.

import type { Json } from '../core/value.ts'
import { jsonSchema, type TypedSchema } from '../tools/schema.ts'

export type Field = { [key: string]: Json }

export const text = (description: string, more: Field = {}): Field => ({ type: 'string', description, ...more })
export const whole = (description: string, more: Field = {}): Field => ({ type: 'integer', description, ...more })
export const number = (description: string, more: Field = {}): Field => ({ type: 'number', description, ...more })
export const flag = (description: string, more: Field = {}): Field => ({ type: 'boolean', description, ...more })
export const oneOf = (choices: readonly string[], description: string, more: Field = {}): Field => ({
  type: 'string',
  enum: [...choices],
  description,
  ...more,
})
export const list = (items: Field, description: string, more: Field = {}): Field => ({
  type: 'array',
  items,
  description,
  ...more,
})

/** All fields are required but those named as optional; others are refused, as they are most often misspelt ones. */
export const object = <T>(
  properties: { readonly [name: string]: Field },
  optional: readonly string[] = [],
): TypedSchema<T> & Field =>
  jsonSchema<T>({
    type: 'object',
    properties: { ...properties },
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  })
