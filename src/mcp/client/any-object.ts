// A result schema that accepts every object. The schemas of the SDK refuse a whole list or result because of one
// malformed part, and take long for large ones; our readers skip what they cannot use.

import type { StandardSchemaV1 } from '@modelcontextprotocol/client'

export const anyObject: StandardSchemaV1<unknown, Readonly<Record<string, unknown>>> = {
  '~standard': {
    version: 1,
    vendor: 'pawl',
    validate: (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? { value: value as Record<string, unknown> }
        : { issues: [{ message: 'it is not an object' }] },
  },
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
