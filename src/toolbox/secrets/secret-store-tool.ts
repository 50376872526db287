// secret_store: the model stores a secret under a name and passes it to tools as `secret:<name>`. It cannot read a
// secret back unless the operator allows it. The call is encrypted at rest, and its value is redacted wherever the
// arguments are shown.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import type { Json } from '../../core/tool-value.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { result, type ToolResult } from '../../tools/result.ts'
import { jsonSchema } from '../../tools/schema.ts'
import { type Tool, tool } from '../../tools/tool.ts'
import { requireArgument, withValueErrors } from '../values/value-tool-errors.ts'

/** The options of toolbox.secrets(). */
export interface SecretToolOptions {
  /** Lets the model read secrets: adds the operation `get`. Default: false. */
  readonly reveal?: boolean
  /** Names of secrets that this tool does not list, read or change. Default: none. */
  readonly reserved?: readonly string[]
}

interface Input {
  readonly operation: 'set' | 'list' | 'delete' | 'has' | 'get'
  readonly name?: string
  readonly value?: string
}

type JsonObject = { [key: string]: Json }

const text = (description: string): JsonObject => ({ type: 'string', description })
const flag = (description: string): JsonObject => ({ type: 'boolean', description })
const referenceOf = (name: string): string => `secret:${name}`

export const secretToolOptions = {
  reveal: option.boolean,
  reserved: option.listOf(option.string),
} satisfies OptionTable<SecretToolOptions>

export function secretStore(options: SecretToolOptions): Tool {
  checkOptions(options, secretToolOptions, 'toolbox.secrets()')
  const { reveal = false, reserved = [] } = options
  const operations = ['set', 'list', 'delete', 'has', ...(reveal ? ['get'] : [])]
  const operation = { type: 'string', enum: operations, description: 'What to do' }
  return tool({
    name: 'secret_store',
    title: 'Keep secrets',
    description: `Keep passwords, tokens and keys under a name: set, list, has, delete. ${
      reveal ? '' : 'A secret is never shown again. '
    }Hand one to a tool that takes secrets as secret:NAME instead of the value.`,
    input: jsonSchema<Input>({
      type: 'object',
      properties: {
        operation,
        name: {
          ...text('Of the secret, for all but list: letters, digits, dots, dashes, underscores'),
          maxLength: 128,
        },
        value: { ...text('The secret itself, for set'), minLength: 1, maxLength: 16_384, writeOnly: true },
      },
      required: ['operation'],
      additionalProperties: false,
    }),
    output: jsonSchema({
      type: 'object',
      properties: {
        operation: { ...operation, description: 'What was done' },
        name: text('Of the secret'),
        reference: text('What to give to a tool instead of the value'),
        found: flag('Of has: whether there is one'),
        deleted: flag('Of delete: whether there was one'),
        secrets: {
          type: 'array',
          items: {
            type: 'object',
            properties: { name: text('Of the secret'), reference: text('What to give to a tool') },
          },
          description: 'Of list: by name, without values',
        },
        ...(reveal ? { value: text('Of get: the secret') } : {}),
      },
      required: ['operation'],
      additionalProperties: false,
    }),
    hints: { idempotent: true },
    sensitive: true,
    narrate: narrate(
      {
        en: {
          started: 'Looking after secrets: {}',
          completed: 'Looked after secrets: {}',
          failed: 'Could not look after secrets: {}',
        },
        de: {
          started: 'Kümmert sich um Geheimnisse: {}',
          completed: 'Hat sich um Geheimnisse gekümmert: {}',
          failed: 'Konnte sich nicht um Geheimnisse kümmern: {}',
        },
      },
      ({ operation: what, name }: Input) => `${what} ${name ?? ''}`,
    ),
    preview: ({ operation: what, name }) => `Secrets: ${what}${name === undefined ? '' : ` '${name}'`}`,
    examples: [
      { operation: 'set', name: 'shop.api-key', value: 'the key as the person gave it' },
      { operation: 'has', name: 'shop.api-key' },
      { operation: 'list' },
    ],
    execute: (input, ctx) => withValueErrors(() => runOperation(input as Input, ctx, new Set(reserved))),
  })
}

async function runOperation(
  input: Input,
  { secrets }: ToolContext,
  reserved: ReadonlySet<string>,
): Promise<JsonObject | ToolResult<JsonObject>> {
  const { operation } = input
  if (operation === 'list') {
    const all = (await secrets.list()).filter(({ name }) => !reserved.has(name))
    return { operation, secrets: all.map(({ name }) => ({ name, reference: referenceOf(name) })) }
  }
  const name = requireArgument(input.name, 'name')
  if (reserved.has(name)) throw new PawlError('secret_reserved')
  switch (operation) {
    case 'set':
      await secrets.set(name, requireArgument(input.value, 'value'))
      return { operation, name, reference: referenceOf(name) }
    case 'delete':
      return { operation, name, deleted: await secrets.delete(name) }
    case 'has':
      return { operation, name, found: await secrets.has(name) }
    case 'get': {
      const value = await secrets.get(name)
      if (value === undefined) throw fail(`There is no secret '${name}'.`, { code: 'secret_unknown' })
      return result({ operation, name, value }, { reveals: true })
    }
  }
}
