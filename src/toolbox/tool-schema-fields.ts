// Builders for the JSON Schemas of the default tools: closed objects, and a description for every field.

import type { Json } from '../core/tool-value.ts'
import { jsonSchema, type TypedSchema } from '../tools/schema.ts'

export type Field = { [key: string]: Json }

export const text = (description: string, more: Field = {}): Field => ({ type: 'string', description, ...more })
export const integer = (description: string, more: Field = {}): Field => ({ type: 'integer', description, ...more })
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

/** Fields are required unless listed in `optional`. Unknown fields are rejected: most of them are misspelt names. */
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
