// Converts a tool written for the AI SDK to a Pawl tool whose `execute` runs as a durable body. The execution options
// of the SDK (messages, context, abort signal) come from the live call. After a restart there is no live call, and
// `execute` gets the call id, no messages and the signal of the attempt.

import { type ApprovalFacts, fail, type JsonSchema, PawlError, type Tool, type ToolContext, tool } from '../../index.ts'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type ToolTerms, toolTermOptions } from '../../tools/convert-tool-formats.ts'
import { type AiExecution, type AnyAiTool, type ValidationResult, isSdkSchema } from './sdk-types.ts'

/** Pawl options for a tool of the AI SDK. */
export interface AiToolTerms extends ToolTerms {
  /** Shows the model the messages of thrown errors, as the SDK does. Default: false; they go only to the log. */
  readonly showErrors?: boolean
}

type Execute = (input: unknown, options: AiExecution) => unknown

export const aiToolTermOptions: OptionTable<AiToolTerms> = { ...toolTermOptions, showErrors: option.boolean }

/**
 * Makes a Pawl tool from a tool of the AI SDK. `options` adds what the SDK does not have, such as hints and approvals.
 *
 * @example
 * const weather = fromAiSdk('weather', weatherTool, { hints: { readOnly: true } })
 */
export function fromAiSdk(name: string, of: AnyAiTool, options: AiToolTerms = {}): Tool {
  checkOptions(options, aiToolTermOptions, 'fromAiSdk()', 'tool_invalid')
  const { showErrors = false, ...terms } = options
  const { execute, title, description } = of
  if (typeof execute !== 'function') throw new PawlError('tool_invalid', `Tool '${name}' has no execute function.`)
  const { schema, parse } = adaptSchema(name, of.inputSchema)
  const about = {
    // The SDK allows a missing description, or one computed from a context that does not exist yet.
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
        return await lastValue((execute as Execute).call(of, await parse(input), executionOf(of, ctx)))
      } catch (error) {
        if (showErrors && error instanceof Error) throw fail(error.message, { cause: error })
        throw error
      }
    },
  })
}

/**
 * Maps `needsApproval` to Pawl's approval, regardless of what the SDK does. An `approval` in the overrides takes
 * precedence: 'never' leaves the approval to the SDK.
 */
function approvalOf({ needsApproval }: AnyAiTool, parse: AdaptedSchema['parse']): Pick<ToolTerms, 'approval'> {
  if (needsApproval === undefined || needsApproval === false) return {}
  if (typeof needsApproval !== 'function') return { approval: 'always' }
  const needs = needsApproval as (input: unknown, about: object) => unknown
  const approval = async (input: unknown, { callId }: ApprovalFacts): Promise<'ask' | undefined> =>
    // `undefined` is not an approval: the policy and the hints of the tool still decide.
    (await needs(await parse(input), { toolCallId: callId, messages: [], context: undefined })) === false
      ? undefined
      : 'ask'
  return { approval }
}

/** The yields of a generator are previews; the last one is the result. */
async function lastValue(returned: unknown): Promise<unknown> {
  if (typeof returned !== 'object' || returned === null || !(Symbol.asyncIterator in returned)) return returned
  let value: unknown
  for await (const each of returned as AsyncIterable<unknown>) value = each
  return value
}

const liveExecutions = new WeakMap<AnyAiTool, Map<string, AiExecution[]>>()

type CallIdentity = Pick<ToolContext, 'tenant' | 'session' | 'batch' | 'callId'>

const keyOf = ({ tenant, session, batch, callId }: CallIdentity): string =>
  JSON.stringify([tenant, session, batch, callId])

/** Registers the SDK's execution options of a call while `run` is pending. */
export async function withLiveExecution<T>(
  of: AnyAiTool,
  call: CallIdentity,
  options: AiExecution,
  run: () => Promise<T>,
): Promise<T> {
  let calls = liveExecutions.get(of)
  if (!calls) liveExecutions.set(of, (calls = new Map()))
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
  const liveExecution = liveExecutions.get(of)?.get(keyOf(ctx))?.[0]
  const abortSignal = liveExecution?.abortSignal ? AbortSignal.any([ctx.signal, liveExecution.abortSignal]) : ctx.signal
  return { toolCallId: ctx.callId, messages: [], context: undefined, ...liveExecution, abortSignal }
}

interface AdaptedSchema {
  /** For tool(): validates and returns the input unchanged. */
  readonly schema: unknown
  /** Converts valid arguments as the SDK would for `execute`. Runs in the body, because its result may not be JSON. */
  parse(args: unknown): unknown
}

/** Converts every kind of schema that the SDK accepts to one that tool() accepts. */
function adaptSchema(name: string, given: unknown): AdaptedSchema {
  const asIs = (schema: unknown): AdaptedSchema => ({ schema, parse: (args) => args })
  if (given === undefined || given === null)
    return asIs({ type: 'object', properties: {}, additionalProperties: false })
  if (typeof given !== 'object' && typeof given !== 'function') return asIs(given)
  if ('~standard' in given) return adaptStandardSchema(given['~standard'] as Standard)
  const schema: unknown = typeof given === 'function' ? (given as () => unknown)() : given
  if (typeof schema !== 'object' || schema === null || !isSdkSchema(schema)) return asIs(schema)
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
  const check = async (value: unknown): Promise<Result> => toStandardResult(await validate(value))
  return adaptStandardSchema({
    version: 1,
    vendor: 'ai-sdk',
    validate: check,
    jsonSchema: { input: shown, output: shown },
  })
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

function adaptStandardSchema(standard: Standard): AdaptedSchema {
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

function toStandardResult(checked: ValidationResult): Result {
  if (checked.success) return { value: checked.value }
  const { error } = checked
  const issues =
    (error as { issues?: unknown }).issues ?? (error.cause as { issues?: unknown } | undefined)?.issues ?? error.cause
  return { issues: Array.isArray(issues) ? (issues as Issue[]) : [{ message: error.message }] }
}
