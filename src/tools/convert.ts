// TOOL-8: tools in the shapes of others, and back. Out: what a provider or an MCP client is shown. In: a definition someone else wrote
// becomes a tool(). Pure; names sorted and keys in the schema's own order, so that the same tools give the same bytes and prompts cache.

import { isName } from '../core/ids.ts'
import { noticeMark } from '../core/notice-text.ts'
import { createHash } from 'node:crypto'
import type { Attachment, AttachmentRef, Json } from '../core/value.ts'
import type { ToolContext } from './context/context.ts'
import type { Hints } from './hints.ts'
import type { JsonSchema } from './schema.ts'
import { type OutputOf, type Tool, tool, type ToolDefinition } from './tool.ts'

export interface OpenAIFunction {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly strict: boolean
}
export interface OpenAIChatTool {
  readonly type: 'function'
  readonly function: OpenAIFunction
}
export interface OpenAIResponsesTool extends OpenAIFunction {
  readonly type: 'function'
}
export type OpenAIApi = 'chat' | 'responses'

export type ObjectSchema = JsonSchema & { type: 'object' }

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

/** What a tool says besides the shape it comes in. */
export type ToolTerms = Partial<Omit<ToolDefinition<JsonSchema, unknown>, 'name' | 'input' | 'execute'>>
type Body<R> = (input: { [key: string]: Json }, ctx: ToolContext) => R
type Made<R> = Tool<{ [key: string]: Json }, OutputOf<Awaited<R>>>

/** What a model may be shown, by name. Internal tools are for the host alone (TOOL-3). */
export const listed = (tools: readonly Tool[]): Tool[] =>
  tools.filter((each) => !each.internal).toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))

/** `strict` gives a schema's form in strict mode; a tool whose schema has none goes out whole and not strict. */
export interface ToOpenAI<Api extends OpenAIApi = OpenAIApi> {
  readonly api: Api
  readonly strict?: ((schema: JsonSchema) => JsonSchema | undefined) | undefined
}

export function toOpenAI(tools: readonly Tool[], how: ToOpenAI<'chat'>): OpenAIChatTool[]
export function toOpenAI(tools: readonly Tool[], how: ToOpenAI<'responses'>): OpenAIResponsesTool[]
export function toOpenAI(tools: readonly Tool[], how: ToOpenAI): (OpenAIChatTool | OpenAIResponsesTool)[]
export function toOpenAI(tools: readonly Tool[], { api, strict }: ToOpenAI): (OpenAIChatTool | OpenAIResponsesTool)[] {
  return listed(tools).map(({ name, description, input }): OpenAIChatTool | OpenAIResponsesTool => {
    const parameters = providerSchema(input.json)
    const exact = strict?.(parameters)
    const about = { name, description, parameters: exact ?? parameters, strict: exact !== undefined }
    return api === 'chat' ? { type: 'function', function: about } : { type: 'function', ...about }
  })
}

export function toAnthropic(tools: readonly Tool[]): AnthropicTool[] {
  return listed(tools).map(({ name, description, input, examples }) => ({
    name,
    description,
    input_schema: providerSchema(input.json),
    ...(examples.length > 0 ? { input_examples: structuredClone(examples) as { [key: string]: unknown }[] } : {}),
  }))
}

/** For MCP the schemas go out as they are: a client reads them with their `$schema`. */
export function toMcp(tools: readonly Tool[]): McpTool[] {
  return listed(tools).map(({ name, title, description, input, output, hints }) => {
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

export function fromOpenAI<R>(definition: OpenAITool, execute: Body<R>, terms: ToolTerms = {}): Made<R> {
  const { name, description, parameters } = 'function' in definition ? definition.function : definition
  return made(name, description, parameters, execute, terms)
}

export function fromAnthropic<R>(
  definition: {
    readonly name: string
    readonly description?: string
    readonly input_schema: object
    readonly input_examples?: readonly unknown[]
  },
  execute: Body<R>,
  terms: ToolTerms = {},
): Made<R> {
  const { name, description, input_schema, input_examples } = definition
  return made(name, description, input_schema, execute, { ...defined({ examples: input_examples }), ...terms })
}

/** What an MCP server lists. */
export interface McpDefinition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: object
  readonly outputSchema?: object
  readonly annotations?: Readonly<NonNullable<McpTool['annotations']>>
}

/** TOOL-2: a remote server's hints never lower a risk: unless the operator trusts it, its tools may destroy and reach out. */
export function fromMcp<R>(
  definition: McpDefinition,
  execute: Body<R>,
  { trust = false, ...terms }: ToolTerms & { trust?: boolean } = {},
): Made<R> {
  const { name, description, inputSchema, outputSchema, annotations = {} } = definition
  const title = definition.title ?? annotations.title
  const readOnly = annotations.readOnlyHint === true
  // What MCP says an absent hint means.
  const claimed: Hints = {
    readOnly,
    destructive: !readOnly && annotations.destructiveHint !== false,
    idempotent: annotations.idempotentHint === true,
    openWorld: annotations.openWorldHint !== false,
  }
  const hints = trust ? claimed : { destructive: true, openWorld: true }
  const output = outputSchema as JsonSchema | undefined
  return made(name, description ?? title, inputSchema, execute, { ...defined({ title, output }), hints, ...terms })
}

function made<R>(
  name: string,
  description: string | null | undefined,
  input: object | null | undefined,
  execute: Body<R>,
  terms: ToolTerms,
): Made<R> {
  const schema = (input ?? { type: 'object', properties: {} }) as JsonSchema
  // A definition without a description is legal elsewhere; the name is then all the model has.
  const definition = { description: description?.trim() ? description : name, ...terms, name, input: schema, execute }
  return tool(definition as unknown as ToolDefinition<JsonSchema, R>)
}

interface SafeAsk {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly meta?: { [key: string]: Json }
}

/** CALL-2: a batch refuses as a whole an id or a name it cannot record, and one odd call must not cost the others their results. */
export function safeAsk(id: unknown, name: unknown, input: unknown, index: number): SafeAsk {
  const asked = { name: isName(name) ? name : '(no usable name)', input }
  if (isName(id)) return { id, ...asked }
  if (typeof id !== 'string' || id === '') return { id: `call_${index}`, ...asked }
  // Some gateways pack a model's reasoning into ids: thousands of characters that have to come back with the result.
  return { id: `id_${createHash('sha256').update(id).digest('base64url')}`, ...asked, meta: { providerId: id } }
}

/** The id as the provider knows it. */
export const providerId = ({ callId, meta }: { readonly callId: string; readonly meta?: Json }): string =>
  typeof meta === 'object' && meta !== null && !Array.isArray(meta) && typeof meta.providerId === 'string'
    ? meta.providerId
    : callId

/** VAL-5: how a file is named where its bytes cannot go. */
export const attachmentText = ({ id, mediaType, bytes, name }: AttachmentRef): string =>
  `[attachment ${name === undefined ? '' : `${JSON.stringify(name)} `}${id}: ${mediaType}, ${bytes} bytes]`

/** Before files of results that go in a message of their own, where a provider takes none in results. */
export const filesNotice = (count: number): string =>
  noticeMark(`These are the files of the results above, in their order (${count}).`)

export interface AttachmentReader {
  read(attachment: Attachment): Promise<Uint8Array>
}

/** What providers take for one image; a larger file is named instead. */
const mostBytes = 5 * 1024 * 1024

/** The bytes if they can be had: a file that is too large or gone is not a reason to lose the rest of the result. */
export async function attachmentBytes(
  attachment: Attachment,
  from: AttachmentReader | undefined,
): Promise<Uint8Array | undefined> {
  if (!from || attachment.ref.bytes > mostBytes) return undefined
  return from.read(attachment).catch(() => undefined)
}

/** Without what is left undefined: absent and undefined differ on the wire. */
const defined = <T extends object>(of: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

/** Providers take only objects as arguments, and want it said. */
const asObject = (schema: JsonSchema): ObjectSchema => ({ ...schema, type: 'object' })

const schemaMaps = new Set(['properties', '$defs', 'definitions', 'dependentSchemas', 'patternProperties'])
const dataKeywords = new Set(['enum', 'const', 'default', 'examples'])
/** How zod's patterns beside a format begin. One that a person wrote says something of its own, and stays. */
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

/** The schema as a model should read it: no `$schema`, and no 250 characters of pattern beside a format that says the same. */
export const providerSchema = (schema: JsonSchema): ObjectSchema => asObject(mapSchema(schema, readable) as JsonSchema)

function readable(node: JsonSchema): JsonSchema {
  const { $schema: _, ...rest } = node
  if (typeof rest.format !== 'string' || typeof rest.pattern !== 'string') return rest
  if (!Object.hasOwn(zodPatterns, rest.format) || !zodPatterns[rest.format]?.test(rest.pattern)) return rest
  const { pattern: __, ...plain } = rest
  return plain
}

/** Rebuilds a schema, each subschema by `each`; what only looks like a keyword (a property's name, a default) is left alone. */
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

/** fromEntries defines keys, so `__proto__` stays one. */
const mapEntries = (of: { [key: string]: Json }, change: (key: string, value: Json) => Json): JsonSchema =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(key, value)]))
