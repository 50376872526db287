// TOOL SEARCH (SESS-8): where there are many tools a model is told what they are called and what they do, and is shown the schemas of those that it has
// looked for. Here is which schemas are deferred, how tools are found, and the tool with which a model looks; turns offer it where something is deferred.

import { PawlError } from '../core/errors.ts'
import type { Json } from '../core/value.ts'
import type { ToolContext } from './context/context.ts'
import { narrate } from './narration/tool-narration.ts'
import type { JsonSchema } from './schema.ts'
import { checkFields } from './tool-options.ts'
import { type Tool, tool } from './tool.ts'

export const toolSearchName = 'tool_search'

/** From so many tools on their schemas are deferred; false: no schema ever is. */
export type ToolSearch = { readonly from?: number } | false

const defaultFrom = 15

/** Null: never. */
export function searchFrom(given: ToolSearch | undefined): number | null {
  if (given === false) return null
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `${why}.`)
  }
  if (given === undefined) return defaultFrom
  checkFields(given, ['from'], 'toolSearch', wrong)
  const { from = defaultFrom } = given
  if (!Number.isSafeInteger(from) || from < 1)
    wrong(`toolSearch.from is ${JSON.stringify(from)}; it must be a whole number from 1 on`)
  return from
}

/** Those whose schema a model is not shown before it has looked for them. What was found once does not change how many there are. */
export function deferredOf(tools: readonly Tool[], from: number | null): readonly Tool[] {
  if (from === null) return []
  return tools.filter(({ defer }) => defer === 'always' || (defer === 'auto' && tools.length >= from))
}

/** In place of a schema that is deferred: anything may be tried, and what a tool is given is checked as always. */
export const anything: JsonSchema = { type: 'object', additionalProperties: true }

const inName = 3
const inDescription = 1
const isName = 100
const mostFound = 8

/** The best of what fits, in the order of how well it does. */
export function findTools(tools: readonly Tool[], query: string): readonly Tool[] {
  const terms = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_-]+/gu))]
  const scored = tools.map((each) => ({ each, score: scoreOf(each, terms) })).filter(({ score }) => score > 0)
  const most = scored.reduce((max, { score }) => Math.max(max, score), 0)
  return scored
    .filter(({ score }) => score >= Math.ceil(most / 2))
    .toSorted((a, b) => b.score - a.score || (a.each.name < b.each.name ? -1 : 1))
    .slice(0, mostFound)
    .map(({ each }) => each)
}

function scoreOf({ name, description }: Tool, terms: readonly string[]): number {
  const [called, said] = [name.toLowerCase(), description.toLowerCase()]
  return terms.reduce((score, term) => {
    const hits = (called.includes(term) ? inName : 0) + (said.includes(term) ? inDescription : 0)
    return score + hits + (called === term ? isName : 0)
  }, 0)
}

const loaded = 'Full schemas loaded; these tools are callable with their full parameters on your next step.'
const noMatch = 'No tools matched the query. Try a different keyword.'
const noQuery = 'Give a keyword, or the name of a tool, to load its full schema.'

/** What a model reads of it. */
export function foundTools(tools: readonly Tool[], found: readonly Tool[], query: string): Json {
  if (found.length === 0) {
    const message = query.trim() === '' ? noQuery : noMatch
    return { query, tools: [], loaded: 0, message, available_tools: tools.map(({ name }) => name) }
  }
  const shown = found.map(({ name, description, input }) => ({ name, description, parameters: input.json }))
  return { query, tools: shown as unknown as Json, loaded: found.length, message: loaded }
}

/** What only this tool can ask of its ctx: to look through the tools of its turn, and to reveal what it found. */
export const searching: unique symbol = Symbol('pawl.searching')
export interface SearchContext extends ToolContext {
  [searching](query: string): Promise<Json>
}

/** Never among the tools of a session: a turn adds it where something is deferred. */
export const toolSearchTool: Tool = tool({
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
  execute: ({ query }, ctx) => (ctx as SearchContext)[searching](query as string),
})
