// Tool search: with many tools a model sees only names and descriptions, and loads full schemas with the tool_search
// tool. This file decides which schemas are deferred, ranks search results and defines tool_search; turns add it when
// needed.

import { option, type OptionTable } from '../core/check-options.ts'
import type { Json } from '../core/tool-value.ts'
import type { ToolContext } from './context/tool-context.ts'
import { narrate } from './narration/narration-templates.ts'
import type { JsonSchema } from './schema.ts'
import { isBuiltIn, markBuiltIn } from './tool-brand.ts'
import { type Tool, tool } from './tool.ts'

export const toolSearchName = 'tool_search'

/**
 * `from`: schemas are deferred if there are at least this many tools of your own (default 15). Tools that come with Pawl
 * (task tools, the toolbox) do not count. False: schemas are never deferred.
 */
export type ToolSearch = { readonly from?: number } | false

const defaultFrom = 15

export const toolSearchOption = option.either(
  option.oneOf(false),
  option.nested({ from: option.wholeNumber(1) } satisfies OptionTable<Exclude<ToolSearch, false>>),
)

/** The smallest number of tools for which schemas are deferred; null for never. */
export const deferThreshold = (toolSearch: ToolSearch | undefined): number | null =>
  toolSearch === false ? null : (toolSearch?.from ?? defaultFrom)

/** Tools that count towards `from`: all but those that come with Pawl. Tools that were already found still count. */
export const countOwnTools = (tools: readonly Tool[]): number => tools.filter((each) => !isBuiltIn(each)).length

/** The tools whose schema is deferred. */
export function deferredTools(tools: readonly Tool[], from: number | null): readonly Tool[] {
  if (from === null) return []
  const many = countOwnTools(tools) >= from
  return tools.filter(({ defer }) => defer === 'always' || (defer === 'auto' && many))
}

/** Replaces a deferred schema. The model may try any input; it is still validated against the real schema. */
export const anyInput: JsonSchema = { type: 'object', additionalProperties: true }

const nameWeight = 3
const descriptionWeight = 1
const exactNameWeight = 100
const maxResults = 8

/** The best matches, best first. */
export function findTools(tools: readonly Tool[], query: string): readonly Tool[] {
  const terms = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_-]+/gu))]
  const scored = tools.map((each) => ({ each, score: scoreOf(each, terms) })).filter(({ score }) => score > 0)
  const bestScore = scored.reduce((max, { score }) => Math.max(max, score), 0)
  return scored
    .filter(({ score }) => score >= Math.ceil(bestScore / 2))
    .toSorted((a, b) => b.score - a.score || (a.each.name < b.each.name ? -1 : 1))
    .slice(0, maxResults)
    .map(({ each }) => each)
}

function scoreOf({ name, description }: Tool, terms: readonly string[]): number {
  const [lowerName, lowerDescription] = [name.toLowerCase(), description.toLowerCase()]
  return terms.reduce((score, term) => {
    const hits = (lowerName.includes(term) ? nameWeight : 0) + (lowerDescription.includes(term) ? descriptionWeight : 0)
    return score + hits + (lowerName === term ? exactNameWeight : 0)
  }, 0)
}

const loaded = 'Full schemas loaded; these tools are callable with their full parameters on your next step.'
const noMatch = 'No tools matched the query. Try a different keyword.'
const noQuery = 'Give a keyword, or the name of a tool, to load its full schema.'

/** The search result as the model reads it. */
export function searchResult(tools: readonly Tool[], found: readonly Tool[], query: string): Json {
  if (found.length === 0) {
    const message = query.trim() === '' ? noQuery : noMatch
    return { query, tools: [], loaded: 0, message, available_tools: tools.map(({ name }) => name) }
  }
  const shown = found.map(({ name, description, input }) => ({ name, description, parameters: input.json }))
  return { query, tools: shown as unknown as Json, loaded: found.length, message: loaded }
}

/** The context method that only tool_search uses: it searches the tools of the turn and loads the schemas it finds. */
export const toolSearchKey: unique symbol = Symbol('pawl.searching')
export interface SearchContext extends ToolContext {
  [toolSearchKey](query: string): Promise<Json>
}

const searchTool: Tool = tool({
  name: toolSearchName,
  title: 'Look for tools',
  description:
    'Find tools by keywords and load their full parameter schemas. Some tools are listed with their name and description only: look for them here before you call them. An empty query lists all names.',
  input: {
    type: 'object',
    properties: { query: { type: 'string', maxLength: 1_000, description: 'Keywords, or the exact name of a tool' } },
    required: ['query'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What was looked for' },
      tools: {
        type: 'array',
        items: { type: 'object' },
        description: 'What was found, with name, description and parameters',
      },
      loaded: { type: 'integer', minimum: 0, description: 'How many were found' },
      message: { type: 'string', description: 'What to do next' },
      available_tools: { type: 'array', items: { type: 'string' }, description: 'All names, where nothing was found' },
    },
    required: ['query', 'tools', 'loaded', 'message'],
    additionalProperties: true,
  },
  hints: { readOnly: true, idempotent: true },
  examples: [{ query: 'refund' }, { query: 'export orders' }],
  defer: 'never',
  narrate: narrate(
    {
      en: {
        started: 'Looking for tools: {}',
        completed: 'Looked for tools: {}',
        failed: 'Could not look for tools: {}',
      },
      de: {
        started: 'Sucht Werkzeuge: {}',
        completed: 'Werkzeuge gesucht: {}',
        failed: 'Konnte keine Werkzeuge suchen: {}',
      },
    },
    (input: { readonly [key: string]: Json }) => input.query,
  ),
  execute: ({ query }, ctx) => (ctx as SearchContext)[toolSearchKey](query as string),
})

/** Not part of a session's toolset: a turn adds it when schemas are deferred. */
export const toolSearchTool = markBuiltIn([searchTool])[0] as Tool
