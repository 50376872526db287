// A tool written for the AI SDK as a tool of Pawl: its name, description, schema and execute, run as a durable body. What its execute
// expects of the SDK (messages, context, abort signal) reaches it from the live call; after a restart there is none, and it gets the
// call's id, no messages and the attempt's own signal.

import { type ApprovalFacts, fail, type JsonSchema, PawlError, type Tool, type ToolContext, tool } from '../../index.ts'
import type { ToolTerms } from '../../tools/convert.ts'
import { type AiExecution, type AnyAiTool, type Checked, isMarked } from './sdk-types.ts'

export interface AiToolTerms extends ToolTerms {
  /** Let the model read what the tool throws, as the SDK does. Off: it is internal, and goes to the log alone (VAL-4). */
  readonly showErrors?: boolean
}

type Execute = (input: unknown, options: AiExecution) => unknown

export function fromAiSdk(name: string, of: AnyAiTool, { showErrors = false, ...terms }: AiToolTerms = {}): Tool {
  const { execute, title, description } = of
  if (typeof execute !== 'function')
    throw new PawlError('tool_invalid', `Tool '${name}' has no execute: there is nothing to run.`)
  const { schema, parse } = taken(name, of.inputSchema)
  const about = {
    // The SDK takes tools without one, and ones that make theirs from a context that does not exist yet.
    description: typeof description === 'string' && description.trim() !== '' ? description : (title ?? name),
    ...(title === undefined ? {} : { title }),
    ...approvalOf(of, parse),
    ...terms,
    name,
    input: schema as JsonSchema,
  }
  return tool({
    ...about,
    async execute(input: unknown, ctx: ToolContext) {
      try {
        return await last((execute as Execute).call(of, await parse(input), executionOf(of, ctx)))
      } catch (error) {
        if (showErrors && error instanceof Error) throw fail(error.message, { cause: error })
        throw error
      }
    },
  })
}

/**
 * A gate stays a gate: what the tool wants approved, Pawl asks people about, whatever the SDK does besides. Terms with an `approval` of their
 * own come first: 'never' leaves it to the SDK.
 */
function approvalOf({ needsApproval }: AnyAiTool, parse: Taken['parse']): Pick<ToolTerms, 'approval'> {
  if (needsApproval === undefined || needsApproval === false) return {}
  if (typeof needsApproval !== 'function') return { approval: 'always' }
  const needs = needsApproval as (input: unknown, about: object) => unknown
  const approval = async (input: unknown, { callId }: ApprovalFacts): Promise<'ask' | undefined> =>
    // No opinion is not a yes: the policy and the hints of the tool still have a word.
    (await needs(await parse(input), { toolCallId: callId, messages: [], context: undefined })) === false
      ? undefined
      : 'ask'
  return { approval: approval }
}

/** A generator's yields are previews; its last one is the result. */
async function last(returned: unknown): Promise<unknown> {
  if (typeof returned !== 'object' || returned === null || !(Symbol.asyncIterator in returned)) return returned
  let value: unknown
  for await (const each of returned as AsyncIterable<unknown>) value = each
  return value
}

const live = new WeakMap<AnyAiTool, Map<string, AiExecution[]>>()

type Which = Pick<ToolContext, 'tenant' | 'session' | 'batch' | 'callId'>

const keyOf = ({ tenant, session, batch, callId }: Which): string => JSON.stringify([tenant, session, batch, callId])

/** Keeps what the SDK gave for a call while someone waits for it. */
export async function whileLive<T>(
  of: AnyAiTool,
  call: Which,
  options: AiExecution,
  run: () => Promise<T>,
): Promise<T> {
  let calls = live.get(of)
  if (!calls) live.set(of, (calls = new Map()))
  const key = keyOf(call)
  calls.set(key, [...(calls.get(key) ?? []), options])
  try {
    return await run()
  } finally {
    const others = (calls.get(key) ?? []).filter((each) => each !== options)
    if (others.length > 0) calls.set(key, others)
    else calls.delete(key)
  }
}

function executionOf(of: AnyAiTool, ctx: ToolContext): AiExecution {
  const given = live.get(of)?.get(keyOf(ctx))?.[0]
  const abortSignal = given?.abortSignal ? AbortSignal.any([ctx.signal, given.abortSignal]) : ctx.signal
  return { toolCallId: ctx.callId, messages: [], context: undefined, ...given, abortSignal }
}

interface Taken {
  /** For tool(): it checks, and gives back what it was given. */
  readonly schema: unknown
  /** What the SDK would give to execute for arguments that passed. Applied in the body, because the record holds JSON and this may not be. */
  parse(args: unknown): unknown
}

/** Every kind of schema the SDK takes, as one that tool() takes. */
function taken(name: string, given: unknown): Taken {
  const asIs = (schema: unknown): Taken => ({ schema, parse: (args) => args })
  if (given === undefined || given === null)
    return asIs({ type: 'object', properties: {}, additionalProperties: false })
  if (typeof given !== 'object' && typeof given !== 'function') return asIs(given)
  if ('~standard' in given) return checking(given['~standard'] as Standard)
  const schema: unknown = typeof given === 'function' ? (given as () => unknown)() : given
  if (typeof schema !== 'object' || schema === null || !isMarked(schema)) return asIs(schema)
  const json = schema.jsonSchema as JsonSchema
  if (typeof json.then === 'function') {
    throw new PawlError(
      'tool_invalid',
      `Tool '${name}': its JSON Schema is a promise. Await it first: jsonSchema(await …).`,
    )
  }
  const { validate } = schema
  if (!validate) return asIs(json)
  const shown = (): JsonSchema => structuredClone(json)
  const check = async (value: unknown): Promise<Result> => resultOf(await validate(value))
  return checking({ version: 1, vendor: 'ai-sdk', validate: check, jsonSchema: { input: shown, output: shown } })
}

interface Issue {
  readonly message: string
  readonly path?: readonly PropertyKey[]
}
type Result = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] }

interface Standard {
  readonly version: 1
  readonly vendor: string
  readonly validate: (value: unknown) => Result | Promise<Result>
  readonly jsonSchema?: unknown
}

function checking(standard: Standard): Taken {
  const validate = async (value: unknown): Promise<Result> => {
    const result = await standard.validate(value)
    return result.issues ? result : { value }
  }
  const parse = async (args: unknown): Promise<unknown> => {
    const result = await standard.validate(args)
    if (result.issues)
      throw fail(result.issues.map(({ message }) => message).join('\n'), {
        class: 'invalid_request',
        code: 'invalid_arguments',
      })
    return result.value
  }
  return { schema: { '~standard': { ...standard, validate } }, parse }
}

function resultOf(checked: Checked): Result {
  if (checked.success) return { value: checked.value }
  const { error } = checked
  const told =
    (error as { issues?: unknown }).issues ?? (error.cause as { issues?: unknown } | undefined)?.issues ?? error.cause
  return { issues: Array.isArray(told) ? (told as Issue[]) : [{ message: error.message }] }
}
