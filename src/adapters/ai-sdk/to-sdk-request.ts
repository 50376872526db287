// Converts a request of Pawl to the options of a language model of the AI SDK, for wrap-model.ts.

import { defined } from '../../core/tool-value.ts'
import type { Json, JsonSchema, ModelCall, ModelRequest, ProviderTool } from '../../index.ts'
import { providerOutputSchema, providerSchema } from '../../tools/convert-tool-formats.ts'
import { type AiPromptMessage, type PromptOptions, promptOf } from './to-sdk-prompt.ts'

/** The request of the AI SDK to a model, as far as it is used. */
export interface AiCallOptions {
  /** The conversation. */
  prompt: AiPromptMessage[]
  /** The tools the model may call. */
  tools?: (
    | {
        type: 'function'
        name: string
        description: string
        inputSchema: Record<string, unknown>
        inputExamples?: { input: never }[]
      }
    | { type: 'provider'; id: `${string}.${string}`; name: string; args: Record<string, unknown> }
  )[]
  /** Whether it may or must call tools. */
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string }
  /** The form of the answer. */
  responseFormat?: { type: 'json'; schema: Record<string, unknown> }
  /** Maximum length of the answer. */
  maxOutputTokens?: number
  /** Randomness. */
  temperature?: number
  /** Nucleus sampling. */
  topP?: number
  /** Makes answers repeatable, where the provider can. */
  seed?: number
  /** Texts at which the model stops. */
  stopSequences?: string[]
  /** How much it thinks. */
  reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high'
  /** Options of the provider. */
  providerOptions?: Record<string, Record<string, never>>
  /** Aborts the request. */
  abortSignal?: AbortSignal
}

export async function callOptions(
  { request, signal }: ModelCall,
  { provider, supportsStructuredOutputs }: { readonly provider: string; readonly supportsStructuredOutputs?: boolean },
  terms: PromptOptions,
): Promise<AiCallOptions> {
  const { tools, settings, output } = request
  const tellsSchema = output !== null && supportsStructuredOutputs === false
  const { maxOutputTokens, temperature, topP, seed, stop, reasoning, providerTools = [] } = settings
  const given = { maxOutputTokens, temperature, topP, seed, reasoning, stopSequences: stop && [...stop] }
  return {
    prompt: await promptOf(tellsSchema ? withSchema(request, output) : request, terms),
    ...(output === null ? {} : { responseFormat: { type: 'json' as const, schema: providerOutputSchema(output) } }),
    ...defined(given),
    ...(tools.length + providerTools.length === 0
      ? removedTools(request, provider)
      : { tools: [...tools.map(toolOf), ...providerTools.map(providerToolOf)], toolChoice: toolChoiceOf(request) }),
    ...providerOptions(request, provider),
    abortSignal: signal,
  }
}

const withSchema = (request: ModelRequest, output: JsonSchema): ModelRequest => ({
  ...request,
  instructions:
    `${request.instructions ?? ''}\n\nAnswer only with JSON that matches this JSON Schema:\n${JSON.stringify(output)}`.trim(),
})

const toolChoiceOf = ({ toolChoice }: ModelRequest): NonNullable<AiCallOptions['toolChoice']> =>
  typeof toolChoice === 'object' ? { type: 'tool', toolName: toolChoice.tool } : { type: toolChoice }

const providerToolOf = ({ id, name, args = {} }: ProviderTool): NonNullable<AiCallOptions['tools']>[number] => ({
  type: 'provider',
  id: id as `${string}.${string}`,
  name,
  args,
})

const toolOf = ({
  name,
  description,
  parameters,
  examples,
}: ModelRequest['tools'][number]): NonNullable<AiCallOptions['tools']>[number] => ({
  type: 'function',
  name,
  description,
  inputSchema: providerSchema(parameters),
  ...(examples.length === 0 ? {} : { inputExamples: examples.map((input) => ({ input: input as never })) }),
})

/**
 * Some providers reject a conversation with tool calls unless tools are defined. If the session has no tools any more,
 * the called ones are declared by name and forbidden by the tool choice.
 */
function removedTools({ messages }: ModelRequest, provider: string): Pick<AiCallOptions, 'tools' | 'toolChoice'> {
  const names = messages.flatMap((message) => (message.role === 'tool' ? message.results.map(({ name }) => name) : []))
  if (names.length === 0 || !/anthropic|bedrock/.test(provider)) return {}
  const removed = { description: 'It is not there any more.', parameters: { type: 'object' }, examples: [] }
  return { tools: [...new Set(names)].map((name) => toolOf({ name, ...removed })), toolChoice: { type: 'none' } }
}

/** The provider option that disables parallel calls, under the provider's own name. */
function disableParallelCalls(provider: string): Record<string, Record<string, Json>> {
  const own = (provider.split('.')[0] ?? '').trim()
  if (/anthropic/.test(provider)) return { anthropic: { disableParallelToolUse: true } }
  if (/^(openai|azure)$/.test(own)) return { openai: { parallelToolCalls: false } }
  if (/^(groq|mistral)$/.test(own)) return { [own]: { parallelToolCalls: false } }
  // Packages for the chat completions protocol pass unknown options on; others ignore them.
  return own === ''
    ? {}
    : { [own.replaceAll(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())]: { parallel_tool_calls: false } }
}

function providerOptions(
  { parallel, tools, settings }: ModelRequest,
  provider: string,
): Pick<AiCallOptions, 'providerOptions'> {
  const own = parallel || tools.length === 0 ? {} : disableParallelCalls(provider)
  for (const [name, options] of Object.entries(settings.provider ?? {})) own[name] = { ...own[name], ...options }
  return Object.keys(own).length === 0 ? {} : { providerOptions: own as Record<string, Record<string, never>> }
}
