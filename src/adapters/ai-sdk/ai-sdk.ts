// pawl/ai-sdk: Pawl under `generateText`, `streamText` and the agents of `ai` 7.
//
//   const runtime = await createRuntime({ store, tools: [...own, ...pawlTools(existing)] })
//   const session = runtime.session('chat-42')
//   await generateText({ model, prompt, tools: { ...aiTools(session, { tools: own }), ...wrapTools(session, existing) }, stopWhen: […, isLost] })

import { type JsonSchema, PawlError, type Tool } from '../../index.ts'
import { type AttachmentReader, listed, providerSchema, safeAsk } from '../../tools/convert.ts'
import { modelOutput, OutcomeError, Views } from './tool-result.ts'
import { type AiToolTerms, fromAiSdk, whileLive } from './wrap-tools.ts'
import { type BatchNamer, batchOf, gather } from './collect-batch.ts'
import { type AiExecution, aiSchema, type AiSession, type AiTool, type AnyAiTool } from './sdk-types.ts'

export { OutcomeError } from './tool-result.ts'
export { fromAiSdk } from './wrap-tools.ts'
export {
  type AiCallOptions,
  type AiLanguageModel,
  aiModel,
  type AiModelOptions,
  type AiStreamPart,
} from './ai-model.ts'
export type { AiPromptMessage } from './prompt.ts'
export type { AiToolTerms } from './wrap-tools.ts'
export type { BatchNamer } from './collect-batch.ts'
export type { AiExecution, AiMessage, AiModelOutput, AiSchema, AiSession, AiTool, AnyAiTool } from './sdk-types.ts'

export interface AiToolsOptions {
  /** Which tools; the session's if not said. */
  readonly tools?: readonly Tool[]
  /** Names the model's answer to these messages. Must be the same after a restart, or calls run twice; see batchOf for the default. */
  readonly batch?: BatchNamer
  /** Where the bytes of images and PDFs come from; the session's if not said. Without them, files go by name. */
  readonly attachments?: AttachmentReader
}

/** Pawl's tools as a ToolSet. The model reads of each call what Pawl says of it; a call that does not succeed is a `tool-error`. */
export function aiTools(session: AiSession, options: AiToolsOptions = {}): Record<string, AiTool> {
  const views = new Views()
  const attachments = options.attachments ?? session.attachments
  const namer = options.batch ?? batchOf
  const entries = listed(options.tools ?? session.tools ?? []).map((each): [string, AiTool] => [
    each.name,
    {
      description: each.description,
      ...(each.title === undefined ? {} : { title: each.title }),
      inputSchema: aiSchema(providerSchema(each.input.json)),
      ...(each.examples.length > 0 ? { inputExamples: each.examples.map((input) => ({ input })) } : {}),
      execute: (input, given) => ask(session, each.name, input, given, views, namer(given.messages)),
      toModelOutput: ({ toolCallId, output }) => modelOutput(views.find(toolCallId, output), attachments),
    },
  ])
  return Object.fromEntries(entries)
}

async function ask(
  session: AiSession,
  name: string,
  input: unknown,
  given: AiExecution,
  views: Views,
  batch: string,
): Promise<unknown> {
  const outcome = await gather(session, safeAsk(given.toolCallId, name, input, 0), batch, given)
  if (outcome.status !== 'success') throw new OutcomeError(outcome)
  return views.keep(given.toolCallId, outcome)
}

type ToolsLike = Readonly<Record<string, AnyAiTool>>
export type Overrides<T> = { readonly [K in keyof T]?: AiToolTerms }

/** Tools written for the SDK, for `createRuntime({ tools })`. Those without an execute are not run here and left out. */
export function pawlTools<T extends ToolsLike>(existing: T, overrides: Overrides<T> = {}): Tool[] {
  return Object.entries(existing)
    .filter(([, each]) => typeof each.execute === 'function')
    .map(([name, each]) =>
      fromAiSdk(name, each, Object.hasOwn(overrides, name) ? (overrides as Record<string, AiToolTerms>)[name] : {}),
    )
}

/**
 * The same ToolSet, run by Pawl: everything about the tools stays as it is but who checks their arguments and calls their execute. The
 * runtime has to know them: `createRuntime({ tools: pawlTools(existing) })`. Outputs come in their recorded form, as JSON.
 */
export function wrapTools<T extends ToolsLike>(
  session: AiSession,
  existing: T,
  options: Omit<AiToolsOptions, 'tools'> = {},
): T {
  const views = new Views()
  const attachments = options.attachments ?? session.attachments
  const known = session.tools && new Set(session.tools.map(({ name }) => name))
  const entries = Object.entries(existing).map(([name, each]): [string, AnyAiTool] => {
    if (typeof each.execute !== 'function') return [name, each]
    if (known && !known.has(name)) {
      throw new PawlError(
        'config_invalid',
        `The runtime has no tool '${name}': give createRuntime({ tools: pawlTools(…) }) the same tools.`,
      )
    }
    const own = {
      inputSchema: shownSchema(name, each),
      execute: (input: unknown, given: AiExecution) => {
        const batch = (options.batch ?? batchOf)(given.messages)
        const call = {
          tenant: session.tenant,
          session: session.id,
          batch,
          callId: safeAsk(given.toolCallId, name, null, 0).id,
        }
        return whileLive(each, call, given, () => ask(session, name, input, given, views, batch))
      },
    }
    const toModelOutput = ({ toolCallId, output }: { toolCallId: string; output: unknown }) =>
      modelOutput(views.find(toolCallId, output), attachments)
    return [name, { ...each, ...own, toModelOutput: each.toModelOutput ?? toModelOutput }]
  })
  return Object.fromEntries(entries) as T
}

/** What the SDK would show of it. Of a Standard Schema it closes the objects, without which a tool marked `strict` is refused. */
function shownSchema(name: string, of: AnyAiTool): unknown {
  const json = providerSchema(fromAiSdk(name, of).input.json)
  const { inputSchema } = of
  const standard =
    (typeof inputSchema === 'object' || typeof inputSchema === 'function') &&
    inputSchema !== null &&
    '~standard' in inputSchema
  return aiSchema(standard ? closed(json) : json)
}

function closed(node: JsonSchema): JsonSchema {
  const inner = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(inner)
      : typeof value === 'object' && value !== null
        ? closed(value as JsonSchema)
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
 * A stop condition: the store or the runtime was lost under a call. The SDK makes a `tool-error` of every throw and asks the model on,
 * which then believes that the call failed; what really happened is on record, and asking again after a restart joins it.
 */
export const isLost = ({ steps }: { readonly steps: readonly StepLike[] }): boolean =>
  steps.at(-1)?.content.some((part) => part.type === 'tool-error' && part.error instanceof PawlError) ?? false
