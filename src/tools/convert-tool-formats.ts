// Converts tools to the formats of OpenAI, Anthropic and MCP, and their definitions to tool(). The adapters use it.
// Pure: tools are sorted by name and keys keep the schema's order, so the same tools give the same bytes and prompts
// can be cached.

import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { isName } from '../core/ids.ts'
import { noticeHeader } from '../core/runtime-notice.ts'
import { createHash } from 'node:crypto'
import { type Attachment, type AttachmentRef, defined, type Json } from '../core/tool-value.ts'
import type { ToolContext } from './context/tool-context.ts'
import type { Hints } from './tool-hints.ts'
import type { JsonSchema } from './schema.ts'
import type { OutputOf } from './body-types.ts'
import { type Tool, tool, type ToolDefinition, toolOptions } from './tool.ts'

export interface OpenAIFunction {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly strict: boolean
}
/** A tool of the chat API. */
export interface OpenAIChatTool {
  readonly type: 'function'
  readonly function: OpenAIFunction
}
/** A tool of the responses API. */
export interface OpenAIResponsesTool extends OpenAIFunction {
  readonly type: 'function'
}
/** Which API of OpenAI the format is for. */
export type OpenAIApi = 'chat' | 'responses'
export const openaiApi = option.required(option.oneOf('chat', 'responses'))

export type ObjectSchema = JsonSchema & { type: 'object' }

/** A tool in Anthropic's format. */
export interface AnthropicTool {
  name: string
  description: string
  input_schema: ObjectSchema
  input_examples?: { [key: string]: unknown }[]
}

export interface McpTool {
  name: string
  title?: string
  description?: string
  inputSchema: ObjectSchema
  outputSchema?: JsonSchema
  annotations?: {
    title?: string
    readOnlyHint?: boolean
    destructiveHint?: boolean
    idempotentHint?: boolean
    openWorldHint?: boolean
  }
}

/** Options of tool() that the foreign definition does not contain. */
export type ToolTerms = Partial<Omit<ToolDefinition<JsonSchema, unknown>, 'name' | 'input' | 'execute'>>
const { name: _name, input: _input, execute: _execute, ...terms } = toolOptions
export const toolTermOptions: OptionTable<ToolTerms> = terms
export const mcpTermOptions = { ...terms, trust: option.boolean }
type Body<R> = (input: { [key: string]: Json }, ctx: ToolContext) => R
type ConvertedTool<R> = Tool<{ [key: string]: Json }, OutputOf<Awaited<R>>>

/** The tools a model may see, sorted by name. Internal tools are left out. */
export const listableTools = (tools: readonly Tool[]): Tool[] =>
  tools.filter((each) => !each.internal).toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))

/**
 * `strict` converts a schema to strict mode. If it returns undefined, the tool is sent with its full schema and not
 * strict.
 */
export interface ToOpenAI<Api extends OpenAIApi = OpenAIApi> {
  readonly api: Api
  readonly strict?: ((schema: JsonSchema) => JsonSchema | undefined) | undefined
}

export const toOpenAIOptions = { api: openaiApi, strict: option.func } satisfies OptionTable<ToOpenAI>

/**
 * The tools in the format of OpenAI's chat or responses API.
 *
 * @example
 * await openai.responses.create({ model, input, tools: toOpenAI(session.tools, { api: 'responses' }) })
 */
export function toOpenAI(tools: readonly Tool[], options: ToOpenAI<'chat'>): OpenAIChatTool[]
export function toOpenAI(tools: readonly Tool[], options: ToOpenAI<'responses'>): OpenAIResponsesTool[]
export function toOpenAI(tools: readonly Tool[], options: ToOpenAI): (OpenAIChatTool | OpenAIResponsesTool)[]
export function toOpenAI(tools: readonly Tool[], options: ToOpenAI): (OpenAIChatTool | OpenAIResponsesTool)[] {
  checkRequiredOptions(options, toOpenAIOptions, 'toOpenAI()')
  const { api, strict } = options
  return listableTools(tools).map(({ name, description, input }): OpenAIChatTool | OpenAIResponsesTool => {
    const parameters = providerSchema(input.json)
    const strictParameters = strict?.(parameters)
    const definition = {
      name,
      description,
      parameters: strictParameters ?? parameters,
      strict: strictParameters !== undefined,
    }
    return api === 'chat' ? { type: 'function', function: definition } : { type: 'function', ...definition }
  })
}

/**
 * The tools in Anthropic's format.
 *
 * @example
 * await anthropic.messages.create({ model, messages, tools: toAnthropic(session.tools) })
 */
export function toAnthropic(tools: readonly Tool[]): AnthropicTool[] {
  return listableTools(tools).map(({ name, description, input, examples }) => ({
    name,
    description,
    input_schema: providerSchema(input.json),
    ...(examples.length > 0 ? { input_examples: structuredClone(examples) as { [key: string]: unknown }[] } : {}),
  }))
}

/** Schemas are sent to MCP clients unchanged, including `$schema`. */
export function toMcp(tools: readonly Tool[]): McpTool[] {
  return listableTools(tools).map(({ name, title, description, input, output, hints }) => {
    const { readOnly, destructive, idempotent, openWorld } = hints
    const annotations = defined({
      title,
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    })
    return {
      name,
      ...defined({ title }),
      description,
      inputSchema: asObject(structuredClone(input.json)),
      ...(output ? { outputSchema: structuredClone(output.json) } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    }
  })
}

/** A tool of either API. */
export type OpenAITool =
  | {
      readonly type?: string
      readonly function: {
        readonly name: string
        readonly description?: string | null
        readonly parameters?: object | null
      }
    }
  | {
      readonly type?: string
      readonly name: string
      readonly description?: string | null
      readonly parameters?: object | null
    }

/**
 * Makes a Pawl tool from a definition in the format of OpenAI's chat or responses API. `terms` adds what that format
 * lacks,
 * such as hints and timeouts.
 *
 * @example
 * const search = fromOpenAI(definition, ({ query }) => index.search(query), { hints: { readOnly: true } })
 */
export function fromOpenAI<R>(definition: OpenAITool, execute: Body<R>, terms: ToolTerms = {}): ConvertedTool<R> {
  const { name, description, parameters } = 'function' in definition ? definition.function : definition
  checkOptions(terms, toolTermOptions, 'fromOpenAI()', 'tool_invalid')
  return convertedTool(name, description, parameters, execute, terms)
}

/**
 * Makes a Pawl tool from a definition in Anthropic's format. `terms` adds what that format lacks, such as hints and
 * timeouts.
 *
 * @example
 * const search = fromAnthropic({ name: 'search', input_schema: schema }, ({ query }) => index.search(query), { hints: {
 * readOnly: true } })
 */
export function fromAnthropic<R>(
  definition: {
    readonly name: string
    readonly description?: string
    readonly input_schema: object
    readonly input_examples?: readonly unknown[]
  },
  execute: Body<R>,
  terms: ToolTerms = {},
): ConvertedTool<R> {
  const { name, description, input_schema, input_examples } = definition
  checkOptions(terms, toolTermOptions, 'fromAnthropic()', 'tool_invalid')
  return convertedTool(name, description, input_schema, execute, {
    ...defined({ examples: input_examples }),
    ...terms,
  })
}

/** A tool definition as an MCP server lists it. */
export interface McpDefinition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: object
  readonly outputSchema?: object
  readonly annotations?: Readonly<NonNullable<McpTool['annotations']>>
}

/**
 * Hints of a remote server never lower the risk: unless it is trusted, its tools count as destructive and openWorld.
 */
export function fromMcp<R>(
  definition: McpDefinition,
  execute: Body<R>,
  options: ToolTerms & { trust?: boolean } = {},
): ConvertedTool<R> {
  checkOptions(options, mcpTermOptions, 'fromMcp()', 'tool_invalid')
  const { trust = false, ...terms } = options
  const { name, description, inputSchema, outputSchema, annotations = {} } = definition
  const title = definition.title ?? annotations.title
  const readOnly = annotations.readOnlyHint === true
  // Defaults for absent hints, as MCP specifies them.
  const claimed: Hints = {
    readOnly,
    destructive: !readOnly && annotations.destructiveHint !== false,
    idempotent: annotations.idempotentHint === true,
    openWorld: annotations.openWorldHint !== false,
  }
  const hints = trust ? claimed : { destructive: true, openWorld: true }
  const output = outputSchema as JsonSchema | undefined
  return convertedTool(name, description ?? title, inputSchema, execute, {
    ...defined({ title, output }),
    hints,
    ...terms,
  })
}

function convertedTool<R>(
  name: string,
  description: string | null | undefined,
  input: object | null | undefined,
  execute: Body<R>,
  terms: ToolTerms,
): ConvertedTool<R> {
  const schema = (input ?? { type: 'object', properties: {} }) as JsonSchema
  // Other formats allow a missing description; then the name is used.
  const definition = { description: description?.trim() ? description : name, ...terms, name, input: schema, execute }
  return tool(definition as unknown as ToolDefinition<JsonSchema, R> & { execute: Body<R> })
}

interface SafeCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly meta?: { [key: string]: Json }
}

/** Replaces ids and names that cannot be recorded: a batch with one such call would be refused as a whole. */
export function safeCall(id: unknown, name: unknown, input: unknown, index: number): SafeCall {
  const call = { name: isName(name) ? name : '(no usable name)', input }
  if (isName(id)) return { id, ...call }
  if (typeof id !== 'string' || id === '') return { id: `call_${index}`, ...call }
  // Some gateways put the model's reasoning into ids: thousands of characters that must be sent back with the result.
  return { id: `id_${createHash('sha256').update(id).digest('base64url')}`, ...call, meta: { providerId: id } }
}

/** The id that the provider sent. */
export const providerId = ({ callId, meta }: { readonly callId: string; readonly meta?: Json }): string =>
  typeof meta === 'object' && meta !== null && !Array.isArray(meta) && typeof meta.providerId === 'string'
    ? meta.providerId
    : callId

/** The text that stands for a file where its bytes cannot be sent. */
export const attachmentText = ({ id, mediaType, bytes, name }: AttachmentRef): string =>
  `[attachment ${name === undefined ? '' : `${JSON.stringify(name)} `}${id}: ${mediaType}, ${bytes} bytes]`

/** Introduces the files of results in a separate message, for providers that do not accept files in results. */
export const filesNotice = (count: number): string =>
  noticeHeader(`These are the files of the results above, in their order (${count}).`)

/** Reads the bytes of attachments; `session.attachments` is one. */
export interface AttachmentReader {
  /** Reads the bytes. */
  read(attachment: Attachment): Promise<Uint8Array>
}

/** The largest image that providers accept. A larger file is replaced by its attachmentText. */
const maxImageBytes = 5 * 1024 * 1024

/**
 * The bytes of an attachment; undefined if it is too large or gone, so that the rest of the result can still be sent.
 */
export async function attachmentBytes(
  attachment: Attachment,
  from: AttachmentReader | undefined,
): Promise<Uint8Array | undefined> {
  if (!from || attachment.ref.bytes > maxImageBytes) return undefined
  return from.read(attachment).catch(() => undefined)
}

/** Providers require `type: 'object'` at the top of an input schema. */
const asObject = (schema: JsonSchema): ObjectSchema => ({ ...schema, type: 'object' })

const schemaMaps = new Set(['properties', '$defs', 'definitions', 'dependentSchemas', 'patternProperties'])
const dataKeywords = new Set(['enum', 'const', 'default', 'examples'])
/** Beginnings of the patterns that zod adds to a format. A hand-written pattern carries its own meaning and is kept. */
const zodPatterns: Readonly<Record<string, RegExp>> = {
  'date-time': /^\^\(\?:\(\?:\\d\\d\[2468\]/,
  date: /^\^\(\?:\(\?:\\d\\d\[2468\]/,
  duration: /^\^P\(\?:\(\\d\+W\)/,
  email: /^\^\((?:\?:\[A-Za-z0-9_'\+\\-\]\+\\\.\)\*|\?!\\\.\)\(\?!\.\*\\\.\\\.\))/,
  hostname: /^\^\(\?=\.\{1,253\}/,
  ipv4: /^\^\(\?:\(\?:25\[0-5\]/,
  ipv6: /^\^\(?\(\[0-9a-fA-F\]\{1,4\}:\)\{7\}/,
  uuid: /^\^\(\[0-9a-fA-F\]\{8\}-/,
}

/** The schema for a model: without `$schema`, and without the long patterns that zod adds next to a format. */
export const providerSchema = (schema: JsonSchema): ObjectSchema =>
  asObject(mapSchema(schema, readableSchema) as JsonSchema)

/** The schema of an answer. Providers that enforce it require closed objects. */
export const providerOutputSchema = (schema: JsonSchema): JsonSchema => {
  const readable = providerSchema(schema)
  // A closed object in `allOf` would reject the fields of the others.
  return JSON.stringify(readable).includes('"allOf":') ? readable : (mapSchema(readable, closedObject) as JsonSchema)
}

const closedObject = (node: JsonSchema): JsonSchema =>
  node.type === 'object' && node.properties !== undefined && node.additionalProperties === undefined
    ? { ...node, additionalProperties: false }
    : node

function readableSchema(node: JsonSchema): JsonSchema {
  const { $schema: _, ...rest } = node
  if (typeof rest.format !== 'string' || typeof rest.pattern !== 'string') return rest
  if (!Object.hasOwn(zodPatterns, rest.format) || !zodPatterns[rest.format]?.test(rest.pattern)) return rest
  const { pattern: __, ...plain } = rest
  return plain
}

/**
 * Applies `each` to every subschema. Property names and data (defaults, examples) that look like keywords are not
 * touched.
 */
function mapSchema(node: Json, each: (schema: JsonSchema) => JsonSchema): Json {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map((item) => mapSchema(item, each))
  return mapEntries(each(node), (key, value) => {
    if (dataKeywords.has(key) || typeof value !== 'object' || value === null) return value
    return schemaMaps.has(key) && !Array.isArray(value)
      ? mapEntries(value, (_, inner) => mapSchema(inner, each))
      : mapSchema(value, each)
  })
}

/** Object.fromEntries defines own properties, so a `__proto__` key is preserved. */
const mapEntries = (entries: { [key: string]: Json }, change: (key: string, value: Json) => Json): JsonSchema =>
  Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, change(key, value)]))
