// pawl/ai-sdk: durable tools for `generateText`, `streamText` and the agents of `ai` 7.
//
//   const runtime = await createRuntime({ store, tools: [...own, ...pawlTools(existing)] })
//   const session = runtime.session('chat-42')
//   const tools = { ...aiTools(session, { tools: own }), ...wrapTools(session, existing) }
//   await generateText({ model, prompt, tools, stopWhen: […, isLost] })

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type JsonSchema, PawlError, type Tool } from '../../index.ts'
import { type AttachmentReader, listableTools, providerSchema, safeCall } from '../../tools/convert-tool-formats.ts'
import { type AdapterUntil, untilOption } from '../run-calls.ts'
import { isOpenCall, modelOutput, OutcomeError, ModelViews } from './to-sdk-tool-result.ts'
import { type AiToolTerms, fromAiSdk, preliminaryResults, streamsResults, withLiveCall } from './wrap-tools.ts'
import { batchFor, type BatchNamer, collectCall, type CollectOptions, isOpen } from './collect-parallel-calls.ts'
import { type AiExecution, aiSchema, type AiSession, type AiTool, type AnyAiTool } from './sdk-types.ts'

export { OutcomeError } from './to-sdk-tool-result.ts'
export { fromAiSdk } from './wrap-tools.ts'
export {
  type ChatOptions,
  chatResponse,
  type ResumeChatOptions,
  resumeChatResponse,
  toUIMessageStreamResponse,
} from './ui-chat.ts'
export {
  type AiCallOptions,
  type AiCallOptions6,
  type AiLanguageModel,
  aiModel,
  type AiModelOptions,
  type AiStreamPart,
} from './wrap-model.ts'
export type { AiPromptMessage } from './to-sdk-prompt.ts'
export type { AiToolTerms } from './wrap-tools.ts'
export type { BatchNamer } from './collect-parallel-calls.ts'
export type { AdapterUntil, CallRunner } from '../run-calls.ts'
export type { AiExecution, AiMessage, AiModelOutput, AiSchema, AiSession, AiTool, AnyAiTool } from './sdk-types.ts'

/** The options of aiTools(). */
export interface AiToolsOptions {
  /** The tools to expose. Default: the tools of the session. */
  readonly tools?: readonly Tool[]
  /**
   * Identifies calls by this name for the model's answer to the messages, together with their ids. It must be the same
   * after a restart, or calls run twice. Default: a call is identified by its `toolCallId` and its input, so an edit in
   * a message text changes nothing.
   *
   * @example
   * // For models that repeat ids in other conversations; the number of messages tells the steps apart.
   * aiTools(session, { batch: (messages) => `${requestId}:${messages.length}` })
   */
  readonly batch?: BatchNamer
  /**
   * `'waiting'`: `execute` returns as soon as the call only waits for a person or something outside. Its result is then
   * the open call (`status: 'waiting'`), of which the model reads a placeholder. The call continues; the same call again
   * joins it. Default: `'settled'`.
   */
  readonly until?: AdapterUntil
  /** Reads the bytes of images and PDFs. Default: the session's attachments. Without it, files are sent by name. */
  readonly attachments?: AttachmentReader
}

const wrapToolsOptions = { batch: option.func, until: untilOption, attachments: option.object }
const aiToolsOptions = { ...wrapToolsOptions, tools: option.array } satisfies OptionTable<AiToolsOptions>

/**
 * Pawl's tools as a ToolSet. The model reads Pawl's view of each result; a call that does not succeed is a
 * `tool-error`.
 */
export function aiTools(session: AiSession, options: AiToolsOptions = {}): Record<string, AiTool> {
  checkOptions(options, aiToolsOptions, 'aiTools()')
  const views = new ModelViews()
  const attachments = options.attachments ?? session.attachments
  const how = { batch: options.batch, until: options.until }
  const entries = listableTools(options.tools ?? session.tools ?? []).map((each): [string, AiTool] => [
    each.name,
    {
      description: each.description,
      ...(each.title === undefined ? {} : { title: each.title }),
      inputSchema: aiSchema(providerSchema(each.input.json)),
      ...(each.examples.length > 0 ? { inputExamples: each.examples.map((input) => ({ input })) } : {}),
      execute: (input, given) => runCall(session, each.name, input, given, views, how),
      toModelOutput: ({ toolCallId, output }) => modelOutput(views.find(toolCallId, output), attachments),
    },
  ])
  return Object.fromEntries(entries)
}

async function runCall(
  session: AiSession,
  name: string,
  input: unknown,
  given: AiExecution,
  views: ModelViews,
  how: CollectOptions,
): Promise<unknown> {
  const outcome = await collectCall(session, safeCall(given.toolCallId, name, input, 0), given, how)
  if (isOpen(outcome)) return outcome
  if (outcome.status !== 'success') throw new OutcomeError(outcome)
  return views.remember(given.toolCallId, outcome)
}

type ToolsLike = Readonly<Record<string, AnyAiTool>>
/** Pawl options per tool, by name. */
export type Overrides<T> = { readonly [K in keyof T]?: AiToolTerms }

/** Converts SDK tools for `createRuntime({ tools })`. Tools without an `execute` are left out. */
export function pawlTools<T extends ToolsLike>(existing: T, overrides: Overrides<T> = {}): Tool[] {
  const tools = Object.keys(existing).map((name) => [name, option.object])
  checkOptions(overrides, Object.fromEntries(tools) as OptionTable, 'pawlTools()')
  return Object.entries(existing)
    .filter(([, each]) => typeof each.execute === 'function')
    .map(([name, each]) =>
      fromAiSdk(name, each, Object.hasOwn(overrides, name) ? (overrides as Record<string, AiToolTerms>)[name] : {}),
    )
}

/**
 * The same ToolSet, executed by Pawl, which validates the arguments and calls `execute`. The runtime must have the
 * tools: `createRuntime({ tools: pawlTools(existing) })`. Outputs are returned in their recorded form, as JSON.
 */
export function wrapTools<T extends ToolsLike>(
  session: AiSession,
  existing: T,
  options: Omit<AiToolsOptions, 'tools'> = {},
): T {
  checkOptions(options, wrapToolsOptions, 'wrapTools()')
  const views = new ModelViews()
  const attachments = options.attachments ?? session.attachments
  const how = { batch: options.batch, until: options.until }
  const known = session.tools && new Set(session.tools.map(({ name }) => name))
  const entries = Object.entries(existing).map(([name, each]): [string, AnyAiTool] => {
    if (typeof each.execute !== 'function') return [name, each]
    if (known && !known.has(name)) {
      throw new PawlError(
        'config_invalid',
        `The runtime has no tool '${name}'. Pass the same tools to createRuntime({ tools: pawlTools(…) }).`,
      )
    }
    const start = (input: unknown, given: AiExecution, onPreliminary?: (value: unknown) => void): Promise<unknown> => {
      const call = safeCall(given.toolCallId, name, null, 0)
      const { tenant, id } = session
      const batch = batchFor(session, call, given.messages, how.batch)
      const identity = { tenant, session: id, batch, callId: call.id }
      return withLiveCall(each, identity, { options: given, onPreliminary }, () =>
        runCall(session, name, input, given, views, how),
      )
    }
    const own = {
      inputSchema: displayedSchema(name, each),
      execute: (input: unknown, given: AiExecution) =>
        streamsResults(each)
          ? preliminaryResults(
              (onPreliminary) => start(input, given, onPreliminary),
              (copy, recorded) => views.alias(copy, recorded),
            )
          : start(input, given),
    }
    const toModelOutput = (given: { toolCallId: string; output: unknown }): unknown =>
      typeof each.toModelOutput === 'function' && !isOpenCall(given.toolCallId, given.output)
        ? (each.toModelOutput as (given: object) => unknown).call(each, given)
        : modelOutput(views.find(given.toolCallId, given.output), attachments)
    return [name, { ...each, ...own, toModelOutput }]
  })
  return Object.fromEntries(entries) as T
}

/**
 * The schema as the SDK would send it. The SDK forbids additional properties in a Standard Schema; without that,
 * `strict` tools are rejected.
 */
function displayedSchema(name: string, of: AnyAiTool): unknown {
  const json = providerSchema(fromAiSdk(name, of).input.json)
  const { inputSchema } = of
  const standard =
    (typeof inputSchema === 'object' || typeof inputSchema === 'function') &&
    inputSchema !== null &&
    '~standard' in inputSchema
  return aiSchema(standard ? closeObjects(json) : json)
}

function closeObjects(node: JsonSchema): JsonSchema {
  const inner = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(inner)
      : typeof value === 'object' && value !== null
        ? closeObjects(value as JsonSchema)
        : value
  const each = (map: unknown): unknown =>
    Object.fromEntries(Object.entries(map as object).map(([key, value]) => [key, inner(value)]))
  const copy: Record<string, unknown> = { ...node }
  for (const key of ['properties', '$defs', 'definitions']) if (key in copy) copy[key] = each(copy[key])
  for (const key of ['items', 'anyOf', 'oneOf', 'allOf', 'additionalProperties'])
    if (key in copy) copy[key] = inner(copy[key])
  if (node.type === 'object' && (copy.additionalProperties === undefined || copy.additionalProperties === true))
    copy.additionalProperties = false
  return copy as JsonSchema
}

interface StepLike {
  readonly content: readonly { readonly type: string; readonly error?: unknown }[]
}

/**
 * A stop condition: true if the store or the runtime failed during a call. The SDK turns every exception into a
 * `tool-error` and continues, so the model would believe that the call failed. Its real outcome is recorded, and the
 * same request after a restart joins it.
 */
export const isLost = ({ steps }: { readonly steps: readonly StepLike[] }): boolean =>
  steps.at(-1)?.content.some((part) => part.type === 'tool-error' && part.error instanceof PawlError) ?? false
