// A tool of an MCP server as a Pawl tool, and its entry in the list of a provider.

import { type JsonSchema, type Manifest, type Tool, tool as defineTool, type ToolContext } from '../../index.ts'
import type { Json } from '../../core/tool-value.ts'
import { isRecord } from './any-object.ts'
import { callTool } from './call-tool.ts'
import type { CallGate } from './call-gate.ts'
import type { ServerConnection } from './connection.ts'
import { headerProblem } from './header-parameters.ts'
import { plainText } from './plain-text.ts'

export type RemoteDefinition = Readonly<Record<string, unknown>> & { readonly name: string }

const maxTitleLength = 120
const maxDescriptionLength = 16_000
/** A waiting call is stopped after this many times its total timeout; the timeouts count from when it is sent. */
const waitFactor = 3

/**
 * The server's hints about a tool. `false` is left out: it would lower the risk of a tool that changes something,
 * and only `readOnly` may do that, if the server is trusted.
 */
export function hintsOf(annotations: unknown): NonNullable<Manifest['hints']> {
  if (!isRecord(annotations)) return {}
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
  return {
    ...(readOnlyHint === true ? { readOnly: true } : {}),
    ...(destructiveHint === true ? { destructive: true } : {}),
    ...(idempotentHint === true ? { idempotent: true } : {}),
    ...(openWorldHint === true ? { openWorld: true } : {}),
  }
}

/** The title is shown to people, so it is one line of visible text. */
function titleOf({ title, annotations }: RemoteDefinition): string | undefined {
  const given = title ?? (isRecord(annotations) ? annotations.title : undefined)
  if (typeof given !== 'string' || given.trim() === '') return undefined
  return plainText(given.trim(), maxTitleLength)
}

const descriptionOf = ({ name, description }: RemoteDefinition): string =>
  typeof description === 'string' && description.trim() !== ''
    ? description.slice(0, maxDescriptionLength).toWellFormed()
    : name

export function manifestOf(shown: string, definition: RemoteDefinition): Manifest {
  const title = titleOf(definition)
  return {
    name: shown,
    ...(title === undefined ? {} : { title }),
    description: descriptionOf(definition),
    hints: hintsOf(definition.annotations),
  }
}

/** Throws if the schema cannot be used; then this tool is not available, and the others are. */
export function convertTool(
  shown: string,
  definition: RemoteDefinition,
  connection: ServerConnection,
  gate: CallGate,
): Tool {
  const { settings } = connection
  const { hints = {}, title, description } = manifestOf(shown, definition)
  const { inputSchema = { type: 'object' }, outputSchema } = definition
  if (!isRecord(inputSchema)) throw new TypeError('its input schema is not an object')
  if (outputSchema !== undefined && !isRecord(outputSchema)) throw new TypeError('its output schema is not an object')
  const problem = 'url' in settings.target ? headerProblem(inputSchema) : null
  if (problem !== null) throw new TypeError(problem)
  const remote = {
    name: definition.name,
    harmless: settings.trusted && (hints.readOnly === true || hints.idempotent === true),
    outputSchema: outputSchema !== undefined,
    inputSchema,
    usesHeaders: JSON.stringify(inputSchema).includes('"x-mcp-header"'),
  }
  return defineTool({
    name: shown,
    ...(title === undefined ? {} : { title }),
    description,
    input: inputSchema as JsonSchema,
    ...(outputSchema === undefined ? {} : { output: outputSchema as JsonSchema }),
    hints,
    timeout: { attempt: waitFactor * settings.totalMs },
    execute: (args: Json, ctx: ToolContext) => callTool(connection, gate, remote, args, ctx),
  })
}
