// kv_store: JSON values by key, stored with the session. The application sees the same values as `session.values`.

import type { Json } from '../../core/tool-value.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { jsonSchema } from '../../tools/schema.ts'
import { tool } from '../../tools/tool.ts'
import { requireArgument, withValueErrors, invalidArguments } from './value-tool-errors.ts'

const operations = ['set', 'get', 'delete', 'list'] as const

interface Input {
  readonly operation: (typeof operations)[number]
  readonly key?: string
  readonly value?: Json
  readonly if_revision?: number
  readonly prefix?: string
  readonly after?: string
  readonly limit?: number
}

const integer = (description: string, minimum = 0): { [key: string]: Json } => ({
  type: 'integer',
  minimum,
  description,
})
const text = (description: string): { [key: string]: Json } => ({ type: 'string', description })
const flag = (description: string): { [key: string]: Json } => ({ type: 'boolean', description })

export const kvStore = tool({
  name: 'kv_store',
  title: 'Keep values for later',
  description:
    'Keep JSON values by key for later in this conversation: set, get, delete or list them. They stay when the conversation is summed up. Not for passwords or tokens.',
  input: jsonSchema<Input>({
    type: 'object',
    properties: {
      operation: { type: 'string', enum: [...operations], description: 'What to do' },
      key: { ...text('Of the value, for set, get and delete: customer/name'), maxLength: 255 },
      value: { description: 'Any JSON value, for set' },
      if_revision: integer('For set and delete: only if the value still has this revision; 0: only if there is none'),
      prefix: { ...text('For list: only keys that begin with it'), maxLength: 255 },
      after: { ...text('For list: the last key that you saw, to go on after it'), maxLength: 255 },
      limit: { ...integer('For list: how many at most; 100 if left out', 1), maximum: 1000 },
    },
    required: ['operation'],
    additionalProperties: false,
  }),
  output: jsonSchema({
    type: 'object',
    properties: {
      operation: { type: 'string', enum: [...operations], description: 'What was done' },
      key: text('Of the value'),
      found: flag('Of get: whether there is one'),
      value: { description: 'Of get: the value; null if there is none' },
      revision: integer('Of set and get: changes with every write'),
      deleted: flag('Of delete: whether there was one'),
      keys: { type: 'array', items: { type: 'string' }, description: 'Of list: in order' },
      more: flag('Of list: there are others after the last key'),
    },
    required: ['operation'],
    additionalProperties: false,
  }),
  hints: { idempotent: true },
  narrate: narrate(
    {
      en: {
        started: 'Looking after kept values: {}',
        completed: 'Looked after kept values: {}',
        failed: 'Could not look after kept values: {}',
      },
      de: {
        started: 'Kümmert sich um gemerkte Werte: {}',
        completed: 'Hat sich um gemerkte Werte gekümmert: {}',
        failed: 'Konnte sich nicht um gemerkte Werte kümmern: {}',
      },
    },
    ({ operation, key, prefix }: Input) => `${operation} ${key ?? prefix ?? ''}`,
  ),
  examples: [
    { operation: 'set', key: 'customer/name', value: 'Ada' },
    { operation: 'get', key: 'customer/name' },
    { operation: 'list', prefix: 'customer/' },
  ],
  execute: (input, ctx) => withValueErrors(() => runOperation(input as Input, ctx)),
})

async function runOperation(input: Input, { values }: ToolContext): Promise<{ [key: string]: Json }> {
  const { operation, if_revision: expected } = input
  switch (operation) {
    case 'set': {
      const key = requireArgument(input.key, 'key')
      if (input.value === undefined) throw invalidArguments('Missing required parameter: value')
      const options = expected === undefined ? {} : { ifRevision: expected === 0 ? null : expected }
      const { revision } = await values.set(key, input.value, options)
      return { operation, key, revision }
    }
    case 'get': {
      const key = requireArgument(input.key, 'key')
      const found = await values.get(key)
      return found
        ? { operation, key, found: true, value: found.value, revision: found.revision }
        : { operation, key, found: false, value: null }
    }
    case 'delete': {
      const key = requireArgument(input.key, 'key')
      if (expected === 0) throw invalidArguments('if_revision 0 is for set: what is not there cannot be deleted')
      return {
        operation,
        key,
        deleted: await values.delete(key, expected === undefined ? {} : { ifRevision: expected }),
      }
    }
    case 'list': {
      const { prefix = '', after, limit = 100 } = input
      if (after !== undefined && !after.startsWith(prefix)) throw invalidArguments('after must begin with prefix')
      const { entries, more } = await values.list({
        limit,
        ...(prefix === '' ? {} : { prefix }),
        ...(after === undefined || after === '' ? {} : { after }),
      })
      return { operation, keys: entries.map(({ key }) => key), more }
    }
  }
}
