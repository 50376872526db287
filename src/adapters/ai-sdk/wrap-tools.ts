// Converts a tool written for the AI SDK to a Pawl tool whose `execute` runs as a durable body. The execution options
// of the SDK (messages, context, abort signal) come from the live call. After a restart there is no live call, and
// `execute` gets the call id, no messages and the signal of the attempt.

import {
  type ApprovalFacts,
  fail,
  type Json,
  type JsonSchema,
  PawlError,
  type Tool,
  type ToolContext,
  tool,
} from '../../index.ts'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { decode } from '../../core/tool-value.ts'
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
        const returned = (execute as Execute).call(of, await parse(input), executionOf(of, ctx))
        return isAsyncIterable(returned) ? await lastValue(of, returned, ctx) : await returned
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

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

/**
 * The yields of a generator are preliminary results; the last one is the result. Each is reported as progress, and
 * passed to the SDK calls of this process that wait for the result.
 */
async function lastValue(of: AnyAiTool, returned: AsyncIterable<unknown>, ctx: ToolContext): Promise<unknown> {
  streamingTools.add(of)
  let value: unknown
  let current = 0
  for await (value of returned) {
    const text = jsonText(value)
    const preliminary = text === undefined ? undefined : decode(text)
    const shown = text === undefined ? {} : { label: labelOf(value, text), preliminary: preliminary as Json }
    ctx.progress({ current: ++current, ...shown })
    if (text === undefined) continue
    // Each reader gets a copy: a generator may yield the same object again after changing it.
    for (const { onPreliminary } of liveCallsOf(of, ctx)) onPreliminary?.(JSON.parse(text))
  }
  return value
}

function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined // a BigInt or a cycle: not a preliminary result that the record could hold
  }
}

const labelOf = (value: unknown, text: string): string => (typeof value === 'string' ? value : text)

/** Tools whose `execute` was seen to return an async iterable, besides async generator functions. */
const streamingTools = new WeakSet<AnyAiTool>()

/**
 * Whether the SDK should get preliminary results. `execute` must return the async iterable at once, before its body
 * runs, so a plain function that returns one is known only after its first call.
 */
export const streamsResults = (of: AnyAiTool): boolean =>
  Object.prototype.toString.call(of.execute) === '[object AsyncGeneratorFunction]' || streamingTools.has(of)

/**
 * Yields the preliminary results of a call as they arrive, then its recorded result. `same` is called with a preliminary
 * result that equals the recorded one, which is then not yielded again.
 */
export async function* preliminaryResults(
  run: (onPreliminary: (value: unknown) => void) => Promise<unknown>,
  same: (preliminary: unknown, recorded: unknown) => void,
): AsyncGenerator<unknown, void, void> {
  const arrived: unknown[] = []
  let isDone = false
  let wake = (): void => {}
  const result = run((value) => {
    arrived.push(value)
    wake()
  })
  const done = (): void => {
    isDone = true
    wake()
  }
  result.then(done, done)
  let last: unknown
  for (;;) {
    while (arrived.length > 0) yield (last = arrived.shift())
    if (isDone) break
    await new Promise<void>((resolve) => (wake = resolve))
  }
  const recorded = await result
  if (last !== undefined && jsonText(last) === jsonText(recorded)) same(last, recorded)
  else yield recorded
}

/** An SDK call that waits for a result. */
interface LiveCall {
  readonly options: AiExecution
  readonly onPreliminary: ((value: unknown) => void) | undefined
}

const liveCalls = new WeakMap<AnyAiTool, Map<string, LiveCall[]>>()

type CallIdentity = Pick<ToolContext, 'tenant' | 'session' | 'batch' | 'callId'>

const keyOf = ({ tenant, session, batch, callId }: CallIdentity): string =>
  JSON.stringify([tenant, session, batch, callId])

const liveCallsOf = (of: AnyAiTool, call: CallIdentity): readonly LiveCall[] =>
  liveCalls.get(of)?.get(keyOf(call)) ?? []

/** Registers the SDK call while `run` is pending. */
export async function withLiveCall<T>(
  of: AnyAiTool,
  call: CallIdentity,
  live: LiveCall,
  run: () => Promise<T>,
): Promise<T> {
  let calls = liveCalls.get(of)
  if (!calls) liveCalls.set(of, (calls = new Map()))
  const key = keyOf(call)
  calls.set(key, [...(calls.get(key) ?? []), live])
  try {
    return await run()
  } finally {
    const others = (calls.get(key) ?? []).filter((each) => each !== live)
    if (others.length > 0) calls.set(key, others)
    else calls.delete(key)
  }
}

function executionOf(of: AnyAiTool, ctx: ToolContext): AiExecution {
  const live = liveCallsOf(of, ctx)[0]?.options
  const abortSignal = live?.abortSignal ? AbortSignal.any([ctx.signal, live.abortSignal]) : ctx.signal
  return { toolCallId: ctx.callId, messages: [], context: undefined, ...live, abortSignal }
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
